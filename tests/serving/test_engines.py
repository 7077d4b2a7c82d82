"""Exports and runs with an engine of their own: the numbers of TensorFlow, and what is refused."""

import json
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner
from openvino_engine import needs_openvino, own_cache

import tf_adapt as ta
from tf_adapt.commands.main import cli
from tf_adapt.errors import ConfigError
from tf_adapt.serving.exports.export_parts import signature_in
from tf_adapt.serving.exports.shared_export import ServedTask, export_shared
from tf_adapt.serving.server.loaded import load_export

TASKS = {
    "films": (ta.Task("classification", labels=["bad", "good"]), "linear"),
    "alike": (ta.Task("pair_regression", label_range=(0, 5)), "linear"),
    "names": (ta.Task("tagging", labels=["O", "B-PER", "I-PER"]), "crf"),
}

# Exports of several kinds of task, and OpenVINO.
pytestmark = pytest.mark.slow

SERVED = "serving_default"
COLUMNS = {
    "text": ["Ann lives here .", "what is it"],
    "text_a": ["Ann", "x y z"],
    "text_b": ["b a", "c"],
    "tokens": [["Ann", "lives", "here"], ["what", "", ""]],
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    return own_cache(tmp_path / "cache", monkeypatch)


@pytest.fixture(scope="module")
def shared(shallow_bert, tmp_path_factory) -> Path:
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    models = {name: ta.build_model(task, encoder, head) for name, (task, head) in TASKS.items()}
    tasks = {name: ServedTask(model) for name, model in models.items()}
    return export_shared(tasks, tmp_path_factory.mktemp("exports") / "all")


@needs_openvino
def test_an_export(shared, finished_export):
    for folder in (finished_export(), shared):
        expected, found = (load_export(folder, False, one) for one in ("tensorflow", "openvino"))
        for signature, one in expected.signatures.items():
            columns = {key: COLUMNS[key] for key in one.inputs}
            outputs = one.call(columns)
            for key, values in found.signatures[signature].call(columns).items():
                if key in ("label", "tags"):
                    assert values == outputs[key]
                else:
                    np.testing.assert_allclose(values, outputs[key], atol=1e-5)


@pytest.mark.large
@needs_openvino
def test_an_export_in_half_precision(shallow_bert, tmp_path):
    """Its products are in bfloat16 in both engines, with other orders of their sums."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        task, head = TASKS["films"]
        model = ta.build_model(task, ta.HubEncoder(shallow_bert, trainable=False), head)
    finally:
        keras.config.set_dtype_policy("float32")
    ta.export(model, tmp_path / "1")
    texts = {"text": COLUMNS["text"]}
    one, other = (
        np.array(
            load_export(tmp_path / "1", False, engine).signatures[SERVED].call(texts)["scores"]
        )
        for engine in ("tensorflow", "openvino")
    )
    np.testing.assert_allclose(one, other, atol=0.02)
    np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-3)


@needs_openvino
def test_a_model_in_openvino_is_exported_as_tensorflow_computes_it(shallow_bert, tmp_path):
    task, head = TASKS["films"]
    encoder = ta.HubEncoder(shallow_bert, trainable=False, engine="openvino")
    model = ta.build_model(task, encoder, head)
    ta.export(model, tmp_path / "1")
    served = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    found = served(text=tf.constant(COLUMNS["text"]))["scores"].numpy()
    scores = [one.scores for one in ta.predict(model, COLUMNS["text"])]
    np.testing.assert_allclose(found, scores, atol=1e-5)
    assert encoder.engine == "openvino"


@needs_openvino
def test_the_command_predicts_with_an_export(finished_export, tmp_path):
    (tmp_path / "texts.csv").write_text("text\nAnn lives here .\nwhat is it\n")
    found = {}
    for engine in ("tensorflow", "openvino"):
        output = tmp_path / f"{engine}.jsonl"
        arguments = ["predict", finished_export(), "--input", tmp_path / "texts.csv"]
        arguments += ["--output", output, "--engine", engine]
        result = CliRunner().invoke(cli, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        found[engine] = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(found["openvino"]) == 2
    for one, other in zip(*found.values(), strict=True):
        assert one["prediction"] == other["prediction"]


def test_an_export_without_the_encoder_as_a_function():
    with pytest.raises(ConfigError, match="expected an export of one model with a transformer"):
        signature_in("openvino", SimpleNamespace(), "serving_default", "export x", "")


def test_an_unknown_engine():
    result = CliRunner().invoke(cli, ["serve", "export", "--engine", "onnx"])
    assert result.exit_code == 2 and "'onnx' is not one of 'tensorflow', 'openvino'" in (
        result.stderr
    )
