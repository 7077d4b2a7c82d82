"""Several tasks in one SavedModel: each answers as its own export, equal weights are there once."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.serving.exports.shared_export import ServedTask, export_shared
from tf_adapt.serving.reading.opened import check_export

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

TEXTS = ["A warm , funny film .", "dull", "caf\u00e9 \U0001f600 and more of it"]
PAIRS = [("a b", "c"), ("dull", "d\u00fcll . ."), ("one", "two three")]
SENTENCES = [["Ann", "Lee", "met", "rain"], ["rain"], ["caf\u00e9", "O'Neill-Smith", "x"]]
KINDS = {
    "polarity": (ta.Task("classification", labels=["bad", "good"]), "linear", TEXTS),
    "same": (ta.Task("pair_classification", labels=["no", "yes"]), "linear", PAIRS),
    "names": (ta.Task("tagging", labels=["O", "B-PER", "I-PER"]), "linear_tagger", SENTENCES),
}


def changed(weights, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for weight in weights:
        weight.assign(weight.numpy() + generator.normal(0, 0.1, weight.shape))


def model_of(handle, name: str, seed: int, adapters: str | None = None, **options) -> keras.Model:
    """A model with a random head and, if it has some, random adapters."""
    task, head, _ = KINDS[name]
    encoder = ta.HubEncoder(handle, trainable=bool(adapters), **options)
    model = ta.build_model(task, encoder, head, ta.adapters(adapters) if adapters else None)
    changed(model.head.trainable_variables, seed)
    if adapters:
        changed(dict(encoder.layer_groups)["adapters"], seed)
    return model


def of(models: dict) -> dict:
    return {name: ServedTask(model) for name, model in models.items()}


def stored(folder) -> int:
    """Numbers in the variables of a SavedModel; the states of dropouts are among them."""
    shapes = tf.train.list_variables(str(folder / "variables" / "variables"))
    return sum(int(np.prod(shape)) for _, shape in shapes)


def request(data: list) -> dict:
    if isinstance(data[0], str):
        return {"text": tf.constant(data)}
    if isinstance(data[0], tuple):
        columns = zip(*data, strict=True)
        return dict(zip(("text_a", "text_b"), map(tf.constant, columns), strict=True))
    return {"tokens": tf.ragged.constant(data).to_tensor("")}


def answers(loaded, signature: str, data: list) -> dict:
    return {
        name: one.numpy() for name, one in loaded.signatures[signature](**request(data)).items()
    }


def assert_answers_of_the_models(loaded, models: dict) -> None:
    for name, model in models.items():
        data = KINDS[name][2]
        found, predicted = answers(loaded, name, data), ta.predict(model, data)
        if name == "names":
            for words, tags, one in zip(data, found["tags"], predicted, strict=True):
                assert tuple(tag.decode() for tag in tags[: len(words)]) == one.label
        else:
            assert [label.decode() for label in found["label"]] == [one.label for one in predicted]
            scores = [one.scores for one in predicted]
            np.testing.assert_allclose(found["scores"], scores, atol=1e-5)


@pytest.mark.parametrize("adapters", [pytest.param(None, marks=pytest.mark.large), "bottleneck"])
def test_each_task_answers_as_its_model_and_the_encoder_is_there_once(
    shallow_bert, tmp_path, adapters
):
    models = {
        name: model_of(shallow_bert, name, seed, adapters) for seed, name in enumerate(KINDS, 1)
    }
    folder = export_shared(of(models), tmp_path / "s")
    loaded = tf.saved_model.load(str(folder))
    assert_answers_of_the_models(loaded, models)
    kept = {id(one): one for task in loaded.tasks.values() for one in task.variables}
    kept |= {id(one): one for task in loaded.tasks.values() for one in task.given}
    # Beside them are the states of dropouts.
    count = sum(int(np.prod(one.shape)) for one in kept.values() if one.dtype == tf.float32)
    first = next(iter(models.values()))
    encoder, own = first.encoder.count_params(), 0
    if adapters:
        own = sum(int(np.prod(w.shape)) for w in dict(first.encoder.layer_groups)["adapters"])
    heads = sum(model.head.count_params() for model in models.values())
    assert count == encoder - own + len(models) * own + heads
    assert stored(folder) < 1.1 * count


def test_models_that_differ_in_upper_layers_share_the_lower_ones(tiny_bert, tmp_path):
    models = {
        name: model_of(tiny_bert, name, seed) for seed, name in enumerate(("polarity", "same"), 1)
    }
    for seed, model in enumerate(models.values(), 1):
        changed(dict(model.encoder.layer_groups)["layer_1"], seed)
    folder = export_shared(of(models), tmp_path / "s")
    loaded = tf.saved_model.load(str(folder))
    assert_answers_of_the_models(loaded, models)
    second = loaded.tasks["same"]
    groups = dict(models["same"].encoder.layer_groups)
    shared = [weight for name, weights in groups.items() if name != "layer_1" for weight in weights]
    assert len(second.given) == len(shared)


def test_a_program_is_shared_as_a_whole(tiny_program, tmp_path):
    models = {
        name: model_of(tiny_program, name, seed, execution="saved_model")
        for seed, name in enumerate(("polarity", "same"), 1)
    }
    folder = export_shared(of(models), tmp_path / "s")
    assert_answers_of_the_models(tf.saved_model.load(str(folder)), models)
    assert stored(folder) < 1.2 * models["same"].count_params()
    changed(models["same"].encoder.weights[-1:], 3)
    with pytest.raises(ConfigError, match="task same: expected the very weights of the first"):
        export_shared(of(models), tmp_path / "t")


@pytest.fixture(scope="module")
def polarity(shallow_bert):
    return model_of(shallow_bert, "polarity", 1)


def test_limits_and_files_of_each_task_are_its_own(polarity, tmp_path):
    tasks = {
        "short": ServedTask(polarity, 4, truncate=True, data={"format": "tsv"}),
        "long": ServedTask(polarity),
    }
    folder = export_shared(tasks, tmp_path / "s")
    long = ["dull " * 30 + "film"]
    loaded, few = tf.saved_model.load(str(folder)), ["dull dull"]
    cut, uncut = (answers(loaded, name, long)["scores"] for name in tasks)
    np.testing.assert_allclose(cut, answers(loaded, "short", few)["scores"], atol=1e-6)
    assert not np.allclose(uncut, answers(loaded, "long", few)["scores"])
    described = json.loads((folder / "tasks.json").read_text())["tasks"]
    assert described["short"]["data"] == {"format": "tsv"} and described["long"]["data"] is None
    assert '`model.signatures["short"]' in (folder / "README.md").read_text().replace(
        "print(model", "`model"
    )
    # One changed label would come out as another word.
    content = (folder / "tasks.json").read_text()
    (folder / "tasks.json").write_text(content.replace('"tsv"', '"csv"'))
    with pytest.raises(ArtifactError, match="tasks.json"):
        check_export(folder)


def test_what_cannot_be_shared_is_refused(shallow_bert, tiny_elmo, tmp_path, polarity):
    def message(**tasks):
        with pytest.raises(ConfigError) as raised:
            export_shared(of(tasks), tmp_path / "x")
        assert not (tmp_path / "x").exists()
        return str(raised.value)

    assert "expected at least two tasks, got 1" in message(one=polarity)
    assert "task 'a b': expected letters" in message(**{"a b": polarity, "c": polarity})
    expected = "task 'serving_default': expected letters, digits and the characters _ . - for"
    assert expected in message(serving_default=polarity, b=polarity)
    elmo = ta.build_model(KINDS["polarity"][0], ta.HubEncoder(tiny_elmo), "linear")
    expected = f"of the module of a ({shallow_bert}), got one of {tiny_elmo}"
    assert f"task b: expected an encoder {expected}" in message(a=polarity, b=elmo)
    tuned = model_of(shallow_bert, "polarity", 2)
    changed(tuned.encoder.weights, 5)
    assert "task a: expected an encoder with weights in common" in message(a=polarity, b=tuned)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = model_of(shallow_bert, "polarity", 3)
    finally:
        keras.config.set_dtype_policy("float32")
    assert "task b: expected a model in float32, got one that computes in bfloat16" in (
        message(a=polarity, b=half)
    )


def test_an_existing_folder_is_left_alone(tmp_path, polarity):
    (tmp_path / "x").mkdir()
    with pytest.raises(ArtifactError):
        export_shared({"a": ServedTask(polarity), "b": ServedTask(polarity)}, tmp_path / "x")
    assert list((tmp_path / "x").iterdir()) == []
