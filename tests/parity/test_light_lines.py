"""A light export answers 10,000 real lines as the SavedModel of the same model."""

import numpy as np
import pytest
import tensorflow as tf
from openvino_engine import needs_openvino

import tf_adapt as ta
from tf_adapt.data.formats import read_mrpc, read_sst2
from tf_adapt.light.light_model import LightModel
from tf_adapt.serving.exports.shared_export import ServedTask
from tf_adapt.serving.light_exports.export import export_light

LINES, BATCH = 10_000, 64


@pytest.mark.large
@needs_openvino
def test_labels_are_equal_and_scores_near(shared, tmp_path):
    data = shared / "data"
    pairs = read_mrpc(data / "mrpc" / "train.tsv")
    films = read_sst2(data / "sst2" / "train.tsv")
    texts = [record.text_a for record in films]
    texts += [text for record in pairs for text in (record.text_a, record.text_b)]
    lines = sorted(texts[:LINES], key=len)
    assert len(lines) == LINES
    task = ta.Task("classification", labels=["a", "b", "c"])
    encoder = ta.HubEncoder(shared / "models" / "minilm_l6_h384", trainable=True)
    model = ta.build_model(task, encoder, "linear")
    # Scores over the whole range.
    model.head.dense.kernel.assign(10 * model.head.dense.kernel)
    served = tf.saved_model.load(ta.export(model, tmp_path / "saved")).signatures["serving_default"]
    folder = export_light({"serving_default": ServedTask(model)}, tmp_path / "light", "")
    light = LightModel(folder)
    for start in range(0, LINES, BATCH):
        batch = lines[start : start + BATCH]
        expected, found = served(text=tf.constant(batch)), light.answer({"text": batch})
        assert found["label"] == [label.decode() for label in expected["label"].numpy()]
        np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-5)
