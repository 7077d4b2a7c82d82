"""Encoders of keras-hub's layers, from a handle to a served model."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from huggingface_folders import keras_hub_is_new, write_folder
from small_data import RECORDS, TASKS

import tf_adapt as ta
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import config_from
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.data.formats import Answers, Record
from tf_adapt.encoder.feature_cache import with_features
from tf_adapt.errors import ConfigError
from tf_adapt.layers.texts import text_states
from tf_adapt.tasks.span_search import SpanSearch
from tf_adapt.training.finished.inspect import inspect_module

if not keras_hub_is_new():
    pytest.skip("needs keras-hub 0.32", allow_module_level=True)

PAIRS = {
    "text_a": ["Two dogs run", "They will be late"] * 4,
    "text_b": ["A dog is running", "Don't stop"] * 4,
    "label": ["yes", "no"] * 4,
}
SERVE = """
import sys, tensorflow as tf, tensorflow_text
columns = {name: tf.constant(["Two dogs run"]) for name in ("text_a", "text_b")}
served = tf.saved_model.load(sys.argv[1]).signatures["serving_default"](**columns)
print(served["scores"].numpy()[0].tolist())
assert not {"keras_hub", "tf_adapt", "hub_modules"} & set(sys.modules)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`folder(family)`: a HuggingFace folder of random weights."""
    place = tmp_path_factory.mktemp("folders")
    made = {}

    def make(family: str) -> str:
        if family not in made:
            made[family] = write_folder(family, place / family, max_position_embeddings=80)
        return f"keras:{made[family]}"

    return make


@pytest.mark.slow
def test_a_pair_from_raw_text_to_a_served_model(folder, tmp_path):
    keras.utils.set_random_seed(0)
    encoder = ta.HubEncoder(folder("roberta"))
    task = ta.Task("pair_classification", labels=["no", "yes"])
    model = ta.build_model(task, encoder, adaptation="fine_tuning")
    optimizer = ta.DiscriminativeOptimizer(keras.optimizers.AdamW(0.01), encoder, decay=0.5)
    model.compile(optimizer, loss=task.loss, metrics=task.metrics, run_eagerly=True)
    before = {name: weight.numpy() for name, weight in encoder.native.weights_by_name().items()}
    data = ta.batches(PAIRS, task, encoder, batch_size=4)
    stages = ta.Unfreezing(encoder, ta.gradual_unfreezing())
    model.fit(data, epochs=2, verbose=0, callbacks=[stages])
    moved = {
        name
        for name, weight in encoder.native.weights_by_name().items()
        if not np.array_equal(weight.numpy(), before[name])
    }
    groups = {name: {id(w) for w in weights} for name, weights in encoder.layer_groups}
    named = encoder.native.weights_by_name()
    assert {id(named[name]) for name in moved} & groups["layer_2"]
    assert not {id(named[name]) for name in moved} & groups["embeddings"]

    one = [("Two dogs run", "Two dogs run")]
    expected = ta.predict(model, one)[0].scores
    ta.export(model, tmp_path / "served")
    served = subprocess.run(
        [sys.executable, "-c", SERVE, tmp_path / "served"], capture_output=True, text=True
    )
    assert served.returncode == 0, served.stderr
    np.testing.assert_allclose(json.loads(served.stdout), expected, atol=1e-6)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(ta.predict(again, one)[0].scores, expected, atol=1e-6)


def test_the_texts_of_robertas_row_are_without_its_separators(folder):
    encoder = ta.HubEncoder(folder("roberta"), trainable=False)
    preprocessor = encoder.preprocessor
    texts = ["Two dogs run", "the"], ["A dog", "They will be late"]
    inputs = preprocessor(texts)
    ids = tf.cast(inputs["input_word_ids"], tf.float32)[:, :, None]
    mask = tf.cast(inputs["input_mask"], tf.bool)
    for (states, real), given in zip(
        text_states([ids], [{"mask": mask}], inputs), texts, strict=True
    ):
        found = tf.ragged.boolean_mask(tf.cast(states[:, :, 0], tf.int32), real).to_list()
        assert found == preprocessor.tokenize(tf.constant(given)).to_list()


@pytest.mark.slow
def test_questions_on_a_row_with_two_separators(folder):
    keras.utils.set_random_seed(0)
    encoder = ta.HubEncoder(folder("xlm_roberta"))
    task = ta.Task("span_extraction", spans=SpanSearch(stride=6))
    context = "Two dogs run. They will be late, a dog is running"
    records = [("Who?", context, ["They"], [14]), ("What?", "A dog", ["dog"], [2])]
    records = [Record(q, c, Answers(tuple(a), tuple(s))) for q, c, a, s in records]
    data = ta.batches(records, task, encoder, batch_size=20, max_length=24, shuffle=False)
    inputs = {name: tensor.numpy() for name, tensor in next(iter(data))[0]["a"].items()}
    assert len(inputs["first_piece"]) > 2  # windows
    for row in range(len(inputs["first_piece"])):
        given = records[row == len(inputs["first_piece"]) - 1].text_b
        for place, first in enumerate(inputs["first_piece"][row]):
            if first >= 0:
                word = given[inputs["first_char"][row, place] : inputs["end_char"][row, place]]
                pieces = encoder.preprocessor.tokenize_words(tf.ragged.constant([[word]]))
                found = inputs["input_word_ids"][row, first : inputs["last_piece"][row, place] + 1]
                assert found.tolist() == pieces.flat_values.numpy().tolist()
    model = ta.build_model(task, encoder)
    for record, found in zip(records, ta.predict(model, records, max_length=24), strict=True):
        best = found.answers[0]
        assert record.text_b[best.start : best.end] == best.text == found.label


@pytest.mark.slow
def test_tagging_and_kept_features(folder):
    encoder = ta.HubEncoder(folder("deberta_v3"), trainable=False)
    task, records = TASKS["tagging"], RECORDS["tagging"]
    prepared = prepare(records, task, encoder)
    model = ta.build_model(task, encoder, head="linear_tagger", adaptation="feature_extraction")
    kept = with_features(prepared, encoder)
    assert kept.features is not None
    plain, fast = (
        next(iter(batches_from(one, len(records), shuffle=False))) for one in (prepared, kept)
    )
    expected, got = (model(batch[0], training=False) for batch in (plain, fast))
    for one, other in zip(tf.nest.flatten(expected), tf.nest.flatten(got), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_half_precision(folder):
    whole = ta.HubEncoder(folder("electra"), trainable=False)
    half = ta.HubEncoder(folder("electra"), trainable=False, dtype="mixed_bfloat16")
    texts = ["the old bridge", "late"]
    encoded = half(texts)
    assert {layer.dtype.name for layer in encoded["layers"]} == {"bfloat16"}
    expected = np.asarray(whole(texts)["layers"][-1])
    got = np.asarray(tf.cast(encoded["layers"][-1], tf.float32))
    assert np.abs(got - expected).max() < 0.2


def test_inspect(folder):
    found = inspect_module(folder("albert"))
    assert (found["family"], found["recognised"], found["layers"]) == ("keras", True, 4)
    assert list(found["groups"]) == ["embeddings", "layer_0", "pooler"]


def test_handles_in_a_config(folder, tmp_path, monkeypatch):
    handle = folder("roberta")
    monkeypatch.chdir(handle.removeprefix("keras:"))
    content = {
        "data": {"dataset": "sample_classification", "source": "sample"},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 0.001},
    }
    near = config_from(content | {"encoder": {"handle": "keras:."}}, "test")
    assert resolve_paths(near).encoder.handle == handle
    name = config_from(content | {"encoder": {"handle": "keras:roberta_base_en"}}, "test")
    assert resolve_paths(name).encoder.handle == "keras:roberta_base_en"
    with pytest.raises(ConfigError, match="encoder.handle.*hf://org/some-model"):
        config_from(content | {"encoder": {"handle": "org/some-model"}}, "test")


def test_an_option_of_other_families_is_refused(folder):
    with pytest.raises(ConfigError, match="leave it out"):
        ta.HubEncoder(folder("roberta"), gradient_checkpointing=True)
