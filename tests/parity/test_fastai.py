"""AWD-LSTM against fast.ai's: states, tied output, loss and its gradients, and words of a text.

The recording is a model of random weights; `recorded/fastai/record.py` made it.
"""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner

import tf_adapt as ta
from hub_modules.load import load_module, module_text_settings
from hub_modules.preprocess import LstmPreprocessor
from hub_modules.sources import fastai
from tf_adapt.commands.main import cli

RECORDED = Path(__file__).parent / "recorded" / "fastai"


@pytest.fixture(scope="module")
def recording() -> dict:
    with np.load(RECORDED / "expected.npz", allow_pickle=False) as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def converted(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("converted") / "lstm"
    arguments = ["module", "convert", "--from", "fastai", str(RECORDED / "model")]
    result = CliRunner().invoke(cli, [*arguments, "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def encoder(converted):
    return ta.HubEncoder(converted)


def test_the_command_writes_a_module(converted):
    source, module = fastai.read(RECORDED / "model"), load_module(converted)
    assert (module.family, module.execution, module.max_length) == ("lstm", "native", None)
    for name, weight in module.encoder.weights_by_name().items():
        np.testing.assert_array_equal(weight, source.weights[name])
    found = module_text_settings(converted)
    assert found == {"vocabulary": source.vocabulary, "lower_case": True}
    result = CliRunner().invoke(cli, ["module", "inspect", str(converted)])
    assert result.exit_code == 0 and "lstm_2" in result.output, result.output


def our_ids(ids):
    """fast.ai's ids, 0 unknown and 1 padding, in our order."""
    return np.where(ids < 2, 1 - ids, ids).astype("int32")


def test_states_and_output(encoder, recording, compare):
    inputs = {"word_ids": our_ids(recording["ids"])}
    encoded = encoder(inputs)
    compare("fast.ai AWD-LSTM, top state", encoded["layers"][-1], recording["states"], 1e-6)
    objective = ta.language_model_objective(encoder)
    table = encoder.native.embeddings.word_embeddings
    logits = objective.output_layer(encoded["layers"][-1], tf.convert_to_tensor(table)).numpy()
    logits[..., :2] = logits[..., 1::-1]
    compare("fast.ai AWD-LSTM, tied output", logits, recording["logits"], 1e-5)


def test_the_loss_and_its_gradients(encoder, recording, compare):
    inputs = {"word_ids": our_ids(recording["ids"])}
    objective = ta.language_model_objective(encoder)
    weights = encoder.native.weights_by_name()
    names = ("lstm_1/recurrent_kernel", "embeddings/word_embeddings")
    with tf.GradientTape() as tape:
        losses = objective(inputs, encoder=encoder, training=False)
        loss = tf.reduce_mean(losses)
    assert float(loss) == pytest.approx(float(recording["loss"]), abs=1e-5)
    recurrent, table = tape.gradient(loss, [weights[name].value for name in names])
    compare(
        "fast.ai AWD-LSTM, gradient of a recurrent kernel",
        recurrent,
        recording["gradient_recurrent"].T,
        1e-6,
    )
    table = tf.convert_to_tensor(table).numpy()
    table[:2] = table[1::-1]
    compare(
        "fast.ai AWD-LSTM, gradient of the tied table", table, recording["gradient_table"], 1e-6
    )


def test_texts_as_words(recording):
    """spaCy's English words with fast.ai's rules; it marks a capital after a quote in its first
    version alone, and one with an accent too."""
    found, expected = [], []
    for text, tokens in zip(recording["texts"], recording["tokens"], strict=True):
        tokens = tokens.decode().split(" ")
        words = ["xxpad", "xxunk", *dict.fromkeys(["xxmaj", "xxup", *tokens])]
        ids = LstmPreprocessor(words)([text.decode()])["word_ids"].numpy()[0]
        found.append([words[number] for number in ids])
        expected.append(tokens)
    equal = [one == two for one, two in zip(found, expected, strict=True)]
    assert [number for number, same in enumerate(equal) if not same] == [7, 9]
    for one, two in zip(found, expected, strict=True):
        assert [w for w in one if w != "xxmaj"] == [w for w in two if w != "xxmaj"]
