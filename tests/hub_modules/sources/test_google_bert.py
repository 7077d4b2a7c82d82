import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file

from hub_modules.sources import google_bert, huggingface
from tf_adapt.errors import ArtifactError


@pytest.fixture
def folder(tiny_bert, tmp_path):
    google_bert.write(tiny_bert, tmp_path / "bert")
    return tmp_path / "bert"


def save(prefix, arrays: dict) -> None:
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=[tf.constant(array) for array in arrays.values()],
    )


def original_name(name: str) -> str:
    """HuggingFace's name → google-research/bert's, as every port of the two agrees."""
    renamed = name.replace("encoder.layer.", "encoder/layer_").replace(".", "/")
    if renamed.endswith("LayerNorm/weight"):
        renamed = renamed.removesuffix("weight") + "gamma"
    elif renamed.endswith("LayerNorm/bias"):
        renamed = renamed.removesuffix("bias") + "beta"
    elif renamed.endswith("_embeddings/weight"):
        renamed = renamed.removesuffix("/weight")
    elif renamed.endswith("/weight"):
        renamed = renamed.removesuffix("weight") + "kernel"
    return f"bert/{renamed}"


def test_written_and_read_back(folder, tiny_bert, assert_same_source):
    assert_same_source(google_bert.read(folder, lower_case=True), tiny_bert)


def test_real_weights_stored_as_the_original_stores_them(shared, tmp_path):
    """A checkpoint written here name by name, from a real model, with what training leaves."""
    model = shared / "models" / "minilm_l6_h384"
    arrays = {"global_step": np.int64(7)}
    for name, array in load_file(model / "model.safetensors").items():
        if name != "embeddings.position_ids":
            kernel = name.endswith("weight") and array.ndim == 2 and "embeddings" not in name
            array = array.astype(np.float32)
            arrays[original_name(name)] = array.T if kernel else array
            arrays[original_name(name) + "/adam_m"] = np.zeros(1, np.float32)
    arrays["cls/predictions/output_bias"] = np.zeros(5, np.float32)
    save(tmp_path / "bert_model.ckpt", arrays)
    shutil.copy(model / "vocab.txt", tmp_path / "vocab.txt")
    settings = json.loads((model / "config.json").read_text("utf-8"))
    (tmp_path / "bert_config.json").write_text(json.dumps(settings), encoding="utf-8")

    source, expected = google_bert.read(tmp_path, lower_case=True), huggingface.read(model)
    assert source.config == expected.config | {"activation": "gelu_tanh"}
    assert source.vocabulary == expected.vocabulary
    assert {"global_step", "cls/predictions/output_bias"} < set(source.left_out)
    assert source.weights.keys() == expected.weights.keys()
    for name, array in expected.weights.items():
        np.testing.assert_array_equal(source.weights[name], array, err_msg=name)


def test_casing_must_be_told(folder):
    assert google_bert.read(folder, lower_case=False).lower_case is False
    with pytest.raises(ArtifactError, match="--lower-case or --cased"):
        google_bert.read(folder)


def test_another_checkpoint_name_is_found_but_not_chosen(folder, tiny_bert, assert_same_source):
    for file in folder.glob("bert_model.ckpt.*"):
        file.rename(folder / file.name.replace("bert_model.ckpt", "model.ckpt-100"))
    assert_same_source(google_bert.read(folder, lower_case=True), tiny_bert)
    for file in list(folder.glob("model.ckpt-100.*")):
        shutil.copy(file, folder / file.name.replace("100", "200"))
    message = "exactly one .*, got model.ckpt-100.index, model.ckpt-200.index"
    with pytest.raises(ArtifactError, match=message):
        google_bert.read(folder, lower_case=True)


def test_exact_gelu_cannot_be_written(tiny_bert, tmp_path):
    tiny_bert.config["activation"] = "gelu_exact"
    with pytest.raises(ArtifactError, match="activation: expected one of .*, got 'gelu_exact'"):
        google_bert.write(tiny_bert, tmp_path / "bert")


def test_variables_that_do_not_fit(folder, tiny_bert):
    for edit, message in [
        (lambda arrays: arrays.pop("bert/pooler/dense/bias"), "1 are missing: bert/pooler/dense/b"),
        (lambda arrays: arrays.update(extra=np.zeros(2)), "1 weights are unknown: extra"),
        (
            lambda arrays: arrays.update({"bert/pooler/dense/bias": np.zeros(7, np.float32)}),
            r"bert/pooler/dense/bias: expected shape \(6,\), got \(7,\)",
        ),
        (
            lambda arrays: arrays.update({"bert/pooler/dense/bias": np.zeros(6, np.int32)}),
            "bert/pooler/dense/bias: expected floating-point numbers, got int32",
        ),
    ]:
        shutil.rmtree(folder)
        google_bert.write(tiny_bert, folder)
        reader = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
        arrays = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
        edit(arrays)
        save(folder / "bert_model.ckpt", arrays)
        with pytest.raises(ArtifactError, match=message):
            google_bert.read(folder, lower_case=True)
