import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from hub_modules.native.bert import BertEncoder
from hub_modules.sources import keras_nlp
from hub_modules.sources.layouts.names import to_foreign
from tf_adapt.errors import ArtifactError

RECORDED = Path(__file__).parents[2] / "parity" / "recorded" / "keras_hub" / "preset"


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(RECORDED, tmp_path / "preset")
    return tmp_path / "preset"


def edit_config(path, **changes) -> None:
    settings = json.loads(path.read_text("utf-8"))
    settings["config"] |= changes
    path.write_text(json.dumps(settings), encoding="utf-8")


def test_recorded_preset(folder):
    source = keras_nlp.read(folder)
    assert source.config == {
        "vocabulary_size": 20,
        "width": 8,
        "num_layers": 2,
        "num_heads": 2,
        "intermediate_width": 12,
        "max_positions": 10,
        "type_vocabulary_size": 2,
        "activation": "gelu_tanh",
        "layer_norm_epsilon": 1e-12,
        "dropout": 0.1,
        "attention_dropout": 0.1,
    }
    assert source.vocabulary[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert source.lower_case is True


def test_recorded_weights_come_back_bit_for_bit(folder):
    source = keras_nlp.read(folder)
    rows = keras_nlp.table_rows(keras_nlp.FILE_TABLE, source.config)
    arrays = to_foreign(rows, source.weights)
    assert len(arrays) == 39
    with h5py.File(folder / "model.weights.h5", "r") as file:
        for name, array in arrays.items():
            name = name.replace("transformer_encoder_0", "transformer_encoder")
            for part in ("self_attention_layer", "self_attention_layer_norm", "feedforward_"):
                name = name.replace(f"/{part}", f"/_{part}", 1) if f"/_{part}" not in name else name
            np.testing.assert_array_equal(file[name][()], array, err_msg=name)


def test_the_tables_cover_every_weight_of_the_encoder(tiny_bert):
    for table in [keras_nlp.OBJECT_TABLE, keras_nlp.FILE_TABLE]:
        encoder = BertEncoder(**tiny_bert.config)
        encoder.build()
        expected = {name: tuple(weight.shape) for name, weight in encoder.weights_by_name().items()}
        rows = keras_nlp.table_rows(table, tiny_bert.config)
        assert {row.ours: row.shape for row in rows} == expected


def test_casing(folder):
    with pytest.raises(ArtifactError, match="records lower-casing = True, but False"):
        keras_nlp.read(folder, lower_case=False)
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    del tokenizer["config"]["lowercase"]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    assert keras_nlp.read(folder, lower_case=False).lower_case is False


def test_preset_without_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ArtifactError, match="expected the preset's tokenizer.*save_to_preset"):
        keras_nlp.read(folder)


def test_settings_that_do_not_fit(folder):
    for changes, message in [
        ({"hidden_dim": 10}, r"expected shape \(.*10.*\), got"),
        ({"num_layers": 1}, "16 weights are unknown: layers/transformer_encoder_1/feedforward"),
        ({"num_layers": 3}, "16 are missing: layers/transformer_encoder_2/feedforward"),
        ({"num_heads": 3}, "multiple of the number of heads"),
        ({"dropout": -0.1}, "dropout: expected a number from 0 to below 1, got -0.1"),
    ]:
        shutil.rmtree(folder)
        shutil.copytree(RECORDED, folder)
        edit_config(folder / "config.json", **changes)
        with pytest.raises(ArtifactError, match=message):
            keras_nlp.read(folder)


def test_another_backbone(folder):
    path = folder / "config.json"
    settings = json.loads(path.read_text("utf-8")) | {"class_name": "RobertaBackbone"}
    path.write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(ArtifactError, match="expected BertBackbone, got RobertaBackbone"):
        keras_nlp.read(folder)
    with pytest.raises(ArtifactError, match="expected a BertBackbone .*, got a dict"):
        keras_nlp.read({})
