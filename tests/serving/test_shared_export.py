"""Several tasks in one SavedModel: each answers as its own export, equal weights are there once."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.serving.served_predictions import check_export
from tf_adapt.serving.shared_export import ServedTask, export_shared

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


def model_of(name: str, seed: int, adapters: str | None = None, **options) -> keras.Model:
    """A model with a random head and, if it has some, random adapters."""
    task, head, _ = KINDS[name]
    encoder = ta.HubEncoder("bert_small", trainable=bool(adapters), adapters=adapters, **options)
    model = ta.build_model(task, encoder, head, "adapters" if adapters else None)
    changed(model.head.trainable_variables, seed)
    if adapters:
        changed(dict(encoder.layer_groups)["adapters"], seed)
    return model


def of(models: dict) -> dict:
    return {name: ServedTask(model) for name, model in models.items()}


def size(folder) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def request(data: list) -> dict:
    if isinstance(data[0], str):
        return {"text": tf.constant(data)}
    if isinstance(data[0], tuple):
        columns = zip(*data, strict=True)
        return dict(zip(("text_a", "text_b"), map(tf.constant, columns), strict=True))
    return {"tokens": tf.ragged.constant(data).to_tensor("")}


def answers(folder, signature: str, data: list) -> dict:
    found = tf.saved_model.load(str(folder)).signatures[signature](**request(data))
    return {name: value.numpy() for name, value in found.items()}


def assert_same_answers(shared, models: dict, folder) -> None:
    for name, model in models.items():
        own = answers(ta.export(model, folder / name), "serving_default", KINDS[name][2])
        ours = answers(shared, name, KINDS[name][2])
        assert own.keys() == ours.keys()
        for key, values in own.items():
            if values.dtype == object:
                assert (values == ours[key]).all()
            else:
                np.testing.assert_allclose(ours[key], values, atol=1e-5)


@pytest.mark.parametrize("adapters", [None, "bottleneck"])
def test_each_task_answers_as_its_own_export_and_the_encoder_is_there_once(tmp_path, adapters):
    models = {name: model_of(name, seed, adapters) for seed, name in enumerate(KINDS, 1)}
    folder = export_shared(
        {name: ServedTask(model) for name, model in models.items()}, tmp_path / "s"
    )
    assert_same_answers(folder, models, tmp_path)
    loaded = tf.saved_model.load(str(folder))
    stored = {id(one): one for task in loaded.tasks.values() for one in task.variables}
    stored |= {id(one): one for task in loaded.tasks.values() for one in task.given}
    # Beside them are the states of dropouts.
    count = sum(int(np.prod(one.shape)) for one in stored.values() if one.dtype == tf.float32)
    first = next(iter(models.values()))
    encoder, own = first.encoder.count_params(), 0
    if adapters:
        own = sum(int(np.prod(w.shape)) for w in dict(first.encoder.layer_groups)["adapters"])
    heads = sum(model.head.count_params() for model in models.values())
    assert count == encoder - own + len(models) * own + heads
    assert size(folder / "variables") < 1.1 * 4 * count
    separate = sum(size(tmp_path / name) for name in models)
    assert size(folder) < 0.6 * separate


def test_models_that_differ_in_upper_layers_share_the_lower_ones(tmp_path):
    models = {name: model_of(name, seed) for seed, name in enumerate(("polarity", "same"), 1)}
    for seed, model in enumerate(models.values(), 1):
        changed(dict(model.encoder.layer_groups)["layer_2"], seed)
    folder = export_shared(
        {name: ServedTask(model) for name, model in models.items()}, tmp_path / "s"
    )
    assert_same_answers(folder, models, tmp_path)
    second = tf.saved_model.load(str(folder)).tasks["same"]
    groups = dict(models["same"].encoder.layer_groups)
    shared = [weight for name, weights in groups.items() if name != "layer_2" for weight in weights]
    assert len(second.given) == len(shared)


def test_a_program_is_shared_as_a_whole(tmp_path):
    models = {
        name: model_of(name, seed, execution="saved_model")
        for seed, name in enumerate(("polarity", "same"), 1)
    }
    folder = export_shared(
        {name: ServedTask(model) for name, model in models.items()}, tmp_path / "s"
    )
    assert_same_answers(folder, models, tmp_path)
    assert size(folder / "variables") < 1.2 * size(tmp_path / "same" / "variables")
    changed(models["same"].encoder.weights[-1:], 3)
    with pytest.raises(ConfigError, match="task same: expected the very weights of the first"):
        export_shared(of(models), tmp_path / "t")


def test_limits_and_files_of_each_task_are_its_own(tmp_path):
    tasks = {
        "short": ServedTask(model_of("polarity", 1), 4, truncate=True, data={"format": "tsv"}),
        "long": ServedTask(model_of("polarity", 2)),
    }
    folder = export_shared(tasks, tmp_path / "s")
    long = ["dull " * 30 + "film"]
    cut = answers(folder, "short", long)["scores"]
    np.testing.assert_allclose(cut, answers(folder, "short", ["dull dull"])["scores"], atol=1e-6)
    assert not np.allclose(
        answers(folder, "long", long)["scores"], answers(folder, "long", ["dull dull"])["scores"]
    )
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


@pytest.fixture(scope="module")
def polarity():
    return model_of("polarity", 1)


def test_what_cannot_be_shared_is_refused(tmp_path, polarity):
    def message(**tasks):
        with pytest.raises(ConfigError) as raised:
            export_shared(of(tasks), tmp_path / "x")
        assert not (tmp_path / "x").exists()
        return str(raised.value)

    assert "expected at least two tasks, got 1" in message(one=polarity)
    assert "task 'a b': expected letters" in message(**{"a b": polarity, "c": polarity})
    elmo = ta.build_model(KINDS["polarity"][0], ta.HubEncoder("elmo_small"), "linear")
    assert "task b: expected an encoder of the module of a (bert_small), got one of elmo_small" in (
        message(a=polarity, b=elmo)
    )
    tuned = model_of("polarity", 2)
    changed(tuned.encoder.weights, 5)
    assert "task a: expected an encoder with weights in common" in message(a=polarity, b=tuned)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = model_of("polarity", 3)
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
