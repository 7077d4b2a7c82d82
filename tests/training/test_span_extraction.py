"""Runs of span extraction: epochs, thresholds, files, exports, comparisons."""

import json
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from questions import write_squad

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.datasets import load_dataset
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.serving.exports import answer_graph
from tf_adapt.tasks.answer_scores import answer_scores
from tf_adapt.training.ensembles import ensembling
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.run_fisher import fisher_of_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.resolving.data_report import inspect_data
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_squad(tmp_path_factory.mktemp("squad"), unanswerable=0.3)


def config_of(folder, handle, **changes):
    content = {
        "data": {"dataset": "squad", "data_dir": str(folder), "spans": {"stride": 6, "n_best": 3}},
        "encoder": {"handle": str(handle)},
        "adaptation": "fine_tuning",
        "training": {
            "epochs": 2,
            "batch_size": 4,
            "learning_rate": 1e-3,
            "max_length": 18,
            "choose_thresholds": True,
        },
    }
    for path, value in changes.items():
        section, _, key = path.rpartition("__")
        (content[section] if section else content)[key] = value
    return config_from(content, "test")


@pytest.fixture(scope="module")
def run(folder, shallow_bert, tmp_path_factory):
    place = tmp_path_factory.mktemp("runs") / "run"
    train(config_of(folder, shallow_bert), place)
    return place


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    """It reads three windows at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer_graph, "WINDOWS_AT_ONCE", 3)
        return export_run(run, tmp_path_factory.mktemp("export"))


def metrics_of(run) -> dict:
    return json.loads((run / "metrics.json").read_text("utf-8"))


def test_scores_are_those_of_the_written_answers(run, folder):
    gold = [one.label.texts for one in load_dataset("squad", "dev", data_dir=folder)]
    found = metrics_of(run)
    said = read_predictions(run, "dev", "span_extraction")
    assert len(said) == len(gold) == 8
    scores = answer_scores(said, gold)
    assert {name: found["dev"][name] for name in scores} == pytest.approx(scores)
    assert (found["metric"], found["head"]) == ("f1", "span_extractor")
    history = (run / "history.csv").read_text("utf-8")
    assert "dev_f1" in history and "dev_exact_match" in history


def test_threshold_and_loss_of_a_loaded_run(run, folder):
    model = load_run(run)
    task, dev = model.task, load_dataset("squad", "dev", data_dir=folder)
    assert task.spans.no_answer_threshold is not None
    assert (task.spans.stride, task.spans.n_best) == (6, 3)
    said = [one.label for one in ta.predict(model, dev, max_length=18)]
    assert said == read_predictions(run, "dev", "span_extraction")
    model.compile(loss=task.loss)
    batches = ta.batches(dev, task, model.encoder, batch_size=100, max_length=18)
    found = evaluate_file(run, folder / "dev-v2.0.json")
    assert found["loss"] == pytest.approx(model.evaluate(batches, verbose=0), rel=1e-5)
    assert found["f1"] == pytest.approx(metrics_of(run)["dev"]["f1"])


def test_run_and_export_give_the_same_answers(run, exported, folder, tmp_path):
    source = folder / "dev-v2.0.json"
    assert predict_file(run, source, tmp_path / "run.jsonl", with_input=True) == 8
    assert predict_file(exported, source, tmp_path / "export.jsonl") == 8
    reached = metrics_of(run)["dev"]
    expected = {name: reached[name] for name in ("f1", "exact_match")}
    assert evaluate_file(exported, source) == pytest.approx(expected)
    files = ("run.jsonl", "export.jsonl")
    ours, theirs = (
        [json.loads(line) for line in (tmp_path / name).read_text("utf-8").splitlines()]
        for name in files
    )
    for one, other in zip(ours, theirs, strict=True):
        assert (one["prediction"], one["start"], one["end"]) == (
            other["prediction"],
            other["start"],
            other["end"],
        )
        assert one["score"] == pytest.approx(other["score"], abs=2e-5)
        assert one["answers"][0]["text"] == one["prediction"] and len(one["answers"]) <= 3
        for answer in one["answers"]:
            if answer["start"] >= 0:
                assert one["text_b"][answer["start"] : answer["end"]] == answer["text"]
            else:
                assert (answer["text"], answer["end"]) == ("", -1)


def test_served_answers_have_offsets_in_characters(exported):
    serve = tf.saved_model.load(str(exported)).signatures["serving_default"]
    contexts = ["Zoë 😀, the man sings", "", "rain"]
    found = serve(question=tf.constant(["who ?"] * 3), context=tf.constant(contexts))
    found = {name: values.numpy() for name, values in found.items()}
    for row, context in enumerate(contexts):
        start, end, text = (found[name][row] for name in ("start", "end", "answer"))
        assert text.decode() == ("" if start < 0 else context[start:end])
    assert (found["start"][1], found["end"][1]) == (-1, -1)
    for wrong, message in (
        ({"question": ["a b c d e f g h i j k"], "context": ["a"]}, "a question is longer than"),
        ({"question": ["a"], "context": ["d" * 9]}, "a single word is longer than"),
        ({"question": ["a"], "context": ["a " * 9000]}, "a context is longer than the 256 windows"),
        ({"question": ["a", "b"], "context": ["a"]}, "context: expected"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            serve(**{name: tf.constant(texts) for name, texts in wrong.items()})


def test_windows_are_read_some_at_a_time(run, exported):
    """Of many, of one, and of none."""
    serve = tf.saved_model.load(str(exported)).signatures["serving_default"]
    model = load_run(run)
    for contexts in (["the man sings in the rain " * 9, "rain"], ["a"], []):
        asked = [("who ?", context) for context in contexts]
        said = ta.predict(model, asked, max_length=18) if contexts else []
        expected = [one.answers[0] for one in said]
        found = serve(
            question=tf.fill([len(contexts)], "who ?"), context=tf.constant(contexts, tf.string)
        )
        assert [text.decode() for text in found["answer"].numpy()] == [e.text for e in expected]
        np.testing.assert_array_equal(found["start"], [one.start for one in expected])
        np.testing.assert_allclose(found["score"], [one.score for one in expected], atol=2e-5)


def test_an_answer_of_version_1_is_never_none(tiny_elmo, tmp_path):
    answered = write_squad(tmp_path, unanswerable=0.0)
    config = config_of(answered, tiny_elmo, training__choose_thresholds=False)
    model = build_parts(config).model
    assert model.task.spans.no_answer_threshold is None
    dev = load_dataset("squad", "dev", data_dir=answered)
    assert "" not in [one.label for one in ta.predict(model, dev, max_length=18)]
    with pytest.raises(ConfigError, match="choose_thresholds: expected false, for every question"):
        build_parts(config_of(answered, tiny_elmo))


def test_own_files_and_what_is_said_of_them(folder, shallow_bert):
    data = {
        "format": "squad",
        "kind": "span_extraction",
        "train": str(folder / "train-v2.0.json"),
        "dev": str(folder / "dev-v2.0.json"),
        "spans": {"stride": 6, "no_answer_threshold": 1.5},
    }
    found = inspect_data(config_of(folder, shallow_bert, data=data))
    assert found["train"]["labels"].keys() == {"with an answer", "without an answer"}
    assert found["dev"]["examples"] == 8


def test_two_files_of_a_split(folder, tmp_path, shallow_bert):
    for name in ("train-v1.1.json", "train-v2.0.json", "dev-v2.0.json"):
        (tmp_path / name).write_bytes((folder / name.replace("1.1", "2.0")).read_bytes())
    message = r"expected one file train-\*.json .*got train-v1.1.json, train-v2.0.json; keep one"
    with pytest.raises(DataError, match=message):
        load_dataset("squad", "train", data_dir=tmp_path)


def test_what_has_no_form_for_answers(run, tmp_path, monkeypatch):
    member = SimpleNamespace(task=SimpleNamespace(kind="span_extraction"), folder="run")
    monkeypatch.setattr(ensembling, "candidates", lambda runs: [member, member])
    with pytest.raises(
        ConfigError, match="run: expected a run of another kind than span_extraction"
    ):
        ensembling.ensemble([run, run], tmp_path / "ensemble")
    with pytest.raises(ConfigError, match="fisher: expected a task with labels, got span_extrac"):
        fisher_of_run(run, tmp_path / "fisher.npz")


def test_learns_where_the_answer_is(shallow_bert):
    records = [
        (f"what {word} ?", f"the {word} is a man", {"text": [word], "answer_start": [4]})
        for word in ("rain", "dog")
    ] * 4
    task = ta.Task("span_extraction")
    encoder = ta.HubEncoder(shallow_bert, trainable=True)
    model = ta.build_model(task, encoder, head_dropout=0.0)
    model.compile(keras.optimizers.Adam(3e-3), loss=task.loss, metrics=task.metrics)
    # Without an end: each epoch of a data set that ends begins its pipeline anew.
    batches = ta.batches(records, task, encoder, batch_size=8).repeat()
    losses = model.fit(batches, epochs=25, steps_per_epoch=1, verbose=0).history["loss"]
    assert np.isfinite(losses).all() and losses[-1] < losses[0] / 3
    assert [one.label for one in ta.predict(model, records[:2])] == ["rain", "dog"]
