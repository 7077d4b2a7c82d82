"""ELMo against a TF1-format module of TF Hub, written by tensorflow-hub, and its own program."""

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.load import load_module
from hub_modules.sources import tf1_elmo


@pytest.fixture
def recorded(reference):
    with np.load(reference / "tf1_hub_elmo" / "expected.npz", allow_pickle=False) as file:
        return {name: file[name] for name in file}


def test_every_layer_and_the_mix_at_true_words(reference, recorded, compare):
    module = load_module(reference / "tf1_hub_elmo" / "module", trust=True)
    assert (module.family, module.execution) == ("elmo", "native")
    texts = [
        " ".join(row[:length])
        for row, length in zip(recorded["tokens"], recorded["sequence_len"], strict=True)
    ]
    outputs = module.encoder(module.preprocessor(texts))
    real = np.arange(recorded["tokens"].shape[1]) < recorded["sequence_len"][:, None]
    np.testing.assert_array_equal(outputs["mask"], real)
    layers = [np.asarray(layer)[real] for layer in outputs["layers"]]
    words = recorded["word_emb"][real]
    expected = [np.concatenate([words, words], axis=-1)]
    expected += [recorded[f"lstm_outputs{index}"][real] for index in range(1, len(layers))]
    for name, got, right in zip(("word_emb", "LSTM 1", "LSTM 2"), layers, expected, strict=True):
        compare(f"TF1 Hub ELMo, {name}", got, right, 2e-5)
    shares = np.exp(module.mix.weights) / np.sum(np.exp(module.mix.weights))
    mixed = module.mix.scale * sum(
        share * layer for share, layer in zip(shares, layers, strict=True)
    )
    compare("TF1 Hub ELMo, its own mix", mixed, recorded["elmo"][real], 2e-5)


def test_every_variable_of_the_module_is_read(reference):
    source = tf1_elmo.read(reference / "tf1_hub_elmo" / "module")
    assert source.left_out == ()
    rows = tf1_elmo.table_rows(source.config)
    variables = reference / "tf1_hub_elmo" / "module" / "variables" / "variables"
    stored = {name for name, _ in tf.train.list_variables(str(variables))}
    assert stored - {row.foreign for row in rows} == {"aggregation/weights", "aggregation/scaling"}
