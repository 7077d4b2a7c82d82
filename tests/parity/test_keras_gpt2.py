"""GPT-2 against keras-hub's GPT2Backbone: a recorded preset of random weights.

`recorded/keras_hub_gpt2/record.py` made it.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hub_modules.native.causal import CausalEncoder
from hub_modules.preprocess import CausalPreprocessor
from hub_modules.sources import keras_gpt2, keras_nlp
from hub_modules.sources.files.hdf5 import open_strictly
from hub_modules.sources.keras_preset import plain_name
from hub_modules.sources.layouts.names import to_foreign
from tf_adapt.errors import ArtifactError

RECORDED = Path(__file__).parent / "recorded" / "keras_hub_gpt2"


def test_recorded_preset(compare):
    source = keras_nlp.read(RECORDED / "preset")
    assert source.family == "causal"
    encoder = CausalEncoder(**source.config)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    with np.load(RECORDED / "expected.npz", allow_pickle=False) as recording:
        arrays = dict(recording)
    mask = arrays["padding_mask"]
    encoded = encoder({"input_word_ids": arrays["token_ids"], "input_mask": mask})
    top = np.asarray(encoded["layers"][-1])
    compare("keras-hub GPT-2 preset", top[mask == 1], arrays["states"][mask == 1], 1e-5)
    preprocessor = CausalPreprocessor(source.vocabulary, source.merges)
    found = preprocessor.tokenize(arrays["texts"])
    assert found.values.numpy().tolist() == arrays["text_ids"].tolist()
    assert found.row_lengths().numpy().tolist() == arrays["text_lengths"].tolist()


def test_the_table_covers_every_weight_both_ways():
    source = keras_nlp.read(RECORDED / "preset")
    encoder = CausalEncoder(**source.config)
    encoder.build()
    names = {name: tuple(weight.shape) for name, weight in encoder.weights_by_name().items()}
    rows = keras_gpt2.table_rows(source.config)
    assert {row.ours: row.shape for row in rows} == names
    arrays = to_foreign(rows, source.weights)
    with open_strictly(RECORDED / "preset" / "model.weights.h5") as stored:
        for name, array in stored.items():
            if "seed_generator" not in name:
                np.testing.assert_array_equal(
                    arrays.pop(plain_name(name, "transformer_decoder")), array[()], err_msg=name
                )
    assert not arrays


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config.json", {"num_layers": 3}, "16 are missing: layers/transformer_decoder_2"),
        ("config.json", {"num_heads": 3}, "multiple of the number of heads"),
        ("config.json", {"hidden_dim": 16}, "expected shape"),
        ("tokenizer.json", {"add_prefix_space": True}, "add_prefix_space: expected false, got"),
    ],
)
def test_settings_that_do_not_fit(tmp_path, file, changes, message):
    shutil.copytree(RECORDED / "preset", tmp_path / "preset")
    path = tmp_path / "preset" / file
    settings = json.loads(path.read_text("utf-8"))
    settings["config"] |= changes
    path.write_text(json.dumps(settings), "utf-8")
    with pytest.raises(ArtifactError, match=message):
        keras_nlp.read(tmp_path / "preset")


def test_another_tokenizer_and_a_casing_are_refused(tmp_path):
    with pytest.raises(ArtifactError, match="leave --lower-case or --cased out"):
        keras_nlp.read(RECORDED / "preset", lower_case=False)
    shutil.copytree(RECORDED / "preset", tmp_path / "preset")
    (tmp_path / "preset" / "tokenizer.json").write_text('{"class_name": "BertTokenizer"}')
    with pytest.raises(ArtifactError, match="class_name: expected GPT2Tokenizer, got Bert"):
        keras_nlp.read(tmp_path / "preset")
