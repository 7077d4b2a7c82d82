"""A run with a teacher: what it is told, what is kept of it, and what cannot be a teacher."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from language_models import without_dropout

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.prepared import LABELLED, TEACHER
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.runs import checkpoints
from tf_adapt.runs.teacher_answers import ANSWERS, read_answers
from tf_adapt.serving.model_card import run_card
from tf_adapt.training import epochs as training_epochs
from tf_adapt.training import teacher as teaching
from tf_adapt.training.build import build_parts
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.load_run import load_run
from tf_adapt.training.teacher import taught
from tf_adapt.training.train import train
from tf_adapt.training.unlabelled import read_unlabelled

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

TEXTS = ["which city lies on the river", "how many men sing", "who is the man"]


@pytest.fixture(scope="module")
def make_config(tiny_bert):
    def make(teacher=None, dataset="sample_classification", handle=None, training=None, **more):
        content = {
            "data": {"dataset": dataset, "source": "sample", "train_examples": 24},
            "encoder": {"handle": str(handle or tiny_bert)},
            "adaptation": "fine_tuning",
            "training": {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2} | (training or {}),
        }
        if teacher is not None:
            content["teacher"] = teacher if isinstance(teacher, dict) else {"run": str(teacher)}
        return config_from(content | more, "test")

    return make


@pytest.fixture(scope="module")
def finished(make_config, tmp_path_factory):
    """Dataset → a finished run of one epoch."""
    made = {}

    def finish(dataset="sample_classification", **more):
        key = (dataset, *more.items())
        if key not in made:
            made[key] = tmp_path_factory.mktemp("teachers") / "run"
            train(make_config(dataset=dataset, training={"epochs": 1}, **more), made[key])
        return made[key]

    return finish


@pytest.fixture
def unlabelled(tmp_path):
    path = tmp_path / "more.tsv"
    path.write_text("text\n" + "".join(f"{text}\n" for text in TEXTS), "utf-8")
    return path


def log_softmax(scores):
    shifted = scores - scores.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def best_arrays(run):
    return checkpoints.load_best(run / "checkpoint").arrays["model"]


def test_a_student_is_told_what_its_teacher_predicts(
    make_config, finished, unlabelled, tiny_elmo, tmp_path
):
    """Another encoder, texts without labels, and both models side by side."""
    teacher, run = finished(), tmp_path / "run"
    section = {"run": str(teacher), "unlabelled": str(unlabelled), "weight": 0.7}
    config = make_config(section, handle=tiny_elmo, training={"epochs": 1})
    metrics = train(config, run)
    answers = read_answers(run)
    predictions = ta.predict(load_run(teacher), TEXTS)
    expected = np.log([one.scores for one in predictions])
    np.testing.assert_allclose(log_softmax(answers.arrays["unlabelled"]), expected, atol=1e-4)
    assert answers.arrays["train"].shape == (24, 4)

    found, own = metrics["taught"], json.loads((teacher / "metrics.json").read_text())
    assert (found["unlabelled"], found["weight"], found["temperature"]) == (3, 0.7, 2.0)
    assert found["teacher"]["dev"]["accuracy"] == pytest.approx(own["dev"]["accuracy"])
    assert found["student"]["dev"] == metrics["dev"]
    for side, folder in (("teacher", teacher), ("student", run)):
        model = load_run(folder)
        size = sum(int(np.prod(weight.shape)) for weight in model.weights)
        assert found[side]["parameters"] == size
        assert found[side]["megabytes"] == pytest.approx(4 * size / 1e6, abs=1e-3)
        assert found[side]["serving_per_1000"] > 0
    assert f"- learned from the answers of {teacher}" in run_card(run)
    # 27 examples in batches of 8.
    assert dry_run(config)["steps_per_epoch"] == 4


def test_an_identical_student_is_not_moved_by_its_teacher_alone(
    make_config, tiny_bert, tmp_path_factory, tmp_path
):
    """Started with the teacher's weights, weight 1, no dropout: the loss and its gradient are 0."""
    module = tmp_path_factory.mktemp("calm") / "bert"
    shutil.copytree(tiny_bert, module)
    without_dropout(module)
    calm = {"handle": module, "head_dropout": 0.0, "optimizer": {"name": "sgd"}}
    teacher = tmp_path / "teacher"
    train(make_config(training={"epochs": 1}, **calm), teacher)
    section = {"run": str(teacher), "weight": 1.0}
    still = {"epochs": 1, "weight_decay": 0.0, "learning_rate": 1.0, "warmup": 0.0}
    config = make_config(section, start={"run": str(teacher)}, training=still, **calm)
    train(config, tmp_path / "run")
    row = (tmp_path / "run" / "history.csv").read_text().splitlines()
    loss = float(dict(zip(row[0].split(","), row[1].split(","), strict=True))["loss"])
    assert abs(loss) < 1e-6  # of rounding
    before, after = best_arrays(teacher), best_arrays(tmp_path / "run")
    for name, array in before.items():
        np.testing.assert_allclose(after[name], array, atol=1e-6)
    # With labels the same student moves.
    section["weight"] = 0.5
    train(make_config(section, start={"run": str(teacher)}, training=still, **calm), tmp_path / "b")
    moved = best_arrays(tmp_path / "b")
    assert max(np.abs(moved[name] - before[name]).max() for name in before) > 1e-3


def test_words_of_split_sentences_have_their_own_answers(make_config, finished, tmp_path):
    teacher = finished("sample_tagging", head="linear_tagger")
    path = tmp_path / "more.txt"
    path.write_text("Paris\nsleeps\n\n" + "again\n" * 9 + "\n", "utf-8")
    short = {"max_length": 12, "truncate": True, "batch_size": 4}
    section = {"run": str(teacher), "unlabelled": str(path)}
    config = make_config(section, "sample_tagging", training=short, head="linear_tagger")
    parts, answers = taught(config, build_parts(config), tmp_path / "run")
    prepared = parts.data["train"]
    sentences = parts.splits.examples["train"]
    words = sum(len(one.words) for one in sentences)
    assert len(prepared.lengths) > len(sentences) + 2  # some are split
    assert len(answers.arrays["train"]) == words and len(answers.arrays["unlabelled"]) == 11
    flat = np.concatenate([answers.arrays["train"], answers.arrays["unlabelled"]])
    rows = prepared.segments[0].row_splits.numpy()
    order = [len(rows) - 2, 0, 3, 1]
    inputs, targets = prepared.batch(np.array(order))
    found, labelled = inputs["a"][TEACHER].numpy(), inputs["a"][LABELLED].numpy()
    for place, example in enumerate(order):
        own = flat[rows[example] : rows[example + 1]]
        np.testing.assert_array_equal(found[place, : len(own)], own)
        assert (targets.numpy()[place] >= 0).sum() == len(own)
        assert labelled[place] == (rows[example] < words)
    np.testing.assert_array_equal(labelled, [0, 1, 1, 1])


def test_rows_of_few_shapes_leave_the_answers_as_they_are(make_config, finished, tmp_path):
    config = make_config(finished())
    parts = build_parts(config)
    # As with training.jit_compile, which a process of deterministic operations refuses.
    parts.data["train"] = replace(parts.data["train"], length_step=8)
    parts, answers = taught(config, parts, tmp_path / "run")
    inputs, _ = parts.data["train"].batch(np.array([5, 0]))
    assert inputs["a"]["input_word_ids"].shape[1] % 8 == 0
    np.testing.assert_array_equal(inputs["a"][TEACHER], answers.arrays["train"][[5, 0]])


def test_a_resumed_run_asks_nobody(make_config, finished, unlabelled, tmp_path, monkeypatch):
    teacher, run = tmp_path / "teacher", tmp_path / "run"
    shutil.copytree(finished(), teacher)
    config = make_config({"run": str(teacher), "unlabelled": str(unlabelled)})
    train(config, tmp_path / "whole")
    save = training_epochs.save_state

    def interrupted(*args):
        save(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(training_epochs, "save_state", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(config, run)
    monkeypatch.undo()
    monkeypatch.setattr(teaching, "answers_of", None)
    shutil.rmtree(teacher)
    train(config, run)
    one, two = best_arrays(run), best_arrays(tmp_path / "whole")
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])
    for name in ("history.csv", "predictions/dev.tsv"):
        assert (run / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_runs_with_one_cache_ask_once(make_config, finished, tmp_path, monkeypatch):
    """Other seeds and encoders; other texts are asked anew, and a run keeps its own copy."""
    asked, answers_of = [], teaching.answers_of

    def counted(folder, *args):
        asked.append(folder)
        return answers_of(folder, *args)

    monkeypatch.setattr(teaching, "answers_of", counted)
    teacher, cache = finished(), {"features": {"cache": str(tmp_path / "cache")}}
    found = []
    for number, more in enumerate(({}, {"training": {"seed": 1}}, {"adaptation": "bitfit"})):
        config = make_config(teacher, **cache | more)
        found.append(taught(config, build_parts(config), tmp_path / str(number))[1])
    assert asked == [teacher]
    for other in found[1:]:
        assert (other.teacher, other.texts) == (found[0].teacher, found[0].texts)
        assert other.facts == found[0].facts
        np.testing.assert_array_equal(other.arrays["train"], found[0].arrays["train"])
    fewer = {"dataset": "sample_classification", "source": "sample", "train_examples": 8}
    for changed in ({"data": fewer}, {"training": {"truncate": True}}):
        config = make_config(teacher, **cache | changed)
        taught(config, build_parts(config), tmp_path / "other")
    assert len(asked) == 3
    # Damaged in the cache: computed again.
    for path in (tmp_path / "cache").glob(f"*/teacher/{ANSWERS}"):
        path.write_bytes(path.read_bytes()[:-9])
    config = make_config(teacher, **cache)
    again = taught(config, build_parts(config), tmp_path / "new")[1]
    assert len(asked) == 4
    np.testing.assert_array_equal(again.arrays["train"], found[0].arrays["train"])


def test_damaged_answers_are_computed_again(make_config, finished, tmp_path, caplog):
    teacher, run = tmp_path / "teacher", tmp_path / "run"
    shutil.copytree(finished(), teacher)
    config = make_config(teacher, training={"epochs": 1})
    train(config, run)
    (run / "metrics.json").unlink()
    before = (run / "teacher" / ANSWERS).read_bytes()
    (run / "teacher" / ANSWERS).write_bytes(before[:-9])
    train(config, run)
    assert "damaged answers of a teacher" in caplog.text
    assert (run / "teacher" / ANSWERS).read_bytes() == before
    (run / "metrics.json").unlink()
    (run / "teacher" / ANSWERS).write_bytes(before[:-9])
    shutil.rmtree(teacher)
    with pytest.raises(ConfigError, match="teacher.run: expected the folder of a finished run"):
        train(config, run)


@pytest.mark.parametrize(
    ("dataset", "more"),
    [
        ("sample_pair_classification", {"adaptation": "feature_extraction", "head": "linear"}),
        ("sample_pair_regression", {}),
        ("sample_multilabel_classification", {"training": {"mixed_precision": "bfloat16"}}),
        ("sample_tagging", {"head": "linear_tagger", "adaptation": "gradual_unfreezing"}),
    ],
)
def test_every_kind_of_task_has_students(make_config, finished, tmp_path, dataset, more):
    head = {"head": "linear_tagger"} if dataset == "sample_tagging" else {}
    metrics = train(make_config(finished(dataset, **head), dataset, **more), tmp_path / "run")
    assert np.isfinite(metrics["dev"]["loss"])
    assert metrics["taught"]["teacher"]["dev"].keys() == metrics["dev"].keys()


def test_what_cannot_be_a_teacher(make_config, finished, tmp_path):
    run = finished()
    with pytest.raises(ConfigError, match="teacher.run: .*with the kind of the data, pair_cla"):
        dry_run(make_config(run, "sample_pair_classification"))
    with pytest.raises(ConfigError, match="teacher.run: expected the folder of a finished run"):
        dry_run(make_config(tmp_path / "nowhere"))
    for key, value in (("temperature", 0), ("temperature", -1.0), ("weight", 0.0), ("weight", 1.1)):
        with pytest.raises(ConfigError, match=f"teacher.{key}: expected a number above 0"):
            make_config({"run": str(run), key: value})
    with pytest.raises(ConfigError, match="head: expected one without a CRF together with teach"):
        make_config(run, "sample_tagging", head="crf")
    with pytest.raises(ConfigError, match="jit_compile: expected false together with teacher.un"):
        section = {"run": str(run), "unlabelled": "x.tsv"}
        make_config(section, training={"jit_compile": True})
    text = {"format": "text", "kind": "language_model", "train": "x.txt"}
    with pytest.raises(ConfigError, match="teacher: expected null for a language model"):
        make_config(run, data=text, objective="language_model")


def test_other_labels_and_a_teacher_with_a_crf(make_config, finished, tmp_path):
    data = tmp_path / "own.tsv"
    data.write_text("text\tlabel\n" + "what is it\ttime\nwho is it\tperson\n" * 6, "utf-8")
    own = {
        "format": "tsv",
        "kind": "classification",
        "train": str(data),
        "dev": str(data),
        "columns": {"text": "text", "label": "label"},
    }
    with pytest.raises(ConfigError, match="the labels of the data, person, time, got .*number"):
        dry_run(make_config(finished(), data=own))
    teacher = finished("sample_tagging", head="crf")
    config = make_config(teacher, "sample_tagging", head="linear_tagger")
    with pytest.raises(ConfigError, match="teacher.run: expected a teacher whose head scores each"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("dataset", "content", "message"),
    [
        ("sample_classification", "text\tlabel\nwho\tperson\n", "texts without labels .*got some"),
        ("sample_classification", "sentence\nwho\n", "more.tsv:1: .*'text'"),
        ("sample_pair_classification", "text_a\na man sings\n", "more.tsv:1: .*'text_b'"),
        ("sample_classification", "text\n\n", "more.tsv"),
        ("sample_tagging", "Paris B-LOC\nsleeps O\n", "texts without labels .*the tags"),
        # A wrong label does not hide the others.
        ("sample_classification", "text\tlabel\nwho\tperson\nis\t7\n", r"tsv:2: .*got some"),
        ("sample_classification", "text\tlabel\nwho\t7\nis\tperson\n", r"tsv:3: .*got some"),
        ("sample_pair_regression", "text_a\ttext_b\tscore\na\tb\t?\nc\td\t1\n", r"tsv:3: "),
        ("sample_tagging", "Paris B-LOC\nis B-?\n\nIt O\nis O\n", r"tsv:4: .*the tags"),
    ],
)
def test_texts_of_another_form(make_config, finished, tmp_path, dataset, content, message):
    head = {"head": "linear_tagger"} if dataset == "sample_tagging" else {}
    path = tmp_path / "more.tsv"
    path.write_text(content, "utf-8")
    teacher = {"run": str(finished(dataset, **head)), "unlabelled": str(path)}
    with pytest.raises(DataError, match=message):
        dry_run(make_config(teacher, dataset, **head))


def test_texts_without_labels_are_those_of_the_file(make_config, tmp_path):
    """Whatever else is in it: other columns, no header, empty lines, line breaks in quotes."""
    for form, kind, content, expected in (
        ("csv", "classification", 'id,text\n1,"a\nb"\n2,d\n', ["a\nb", "d"]),
        ("jsonl", "classification", '{"text": "a", "label": null}\n{"text": "b"}\n', ["a", "b"]),
        ("conll", "tagging", "-DOCSTART-\n\na\nb\n\n\nd\n", [("a", "b"), ("d",)]),
    ):
        path = tmp_path / f"more.{form}"
        path.write_text(content, "utf-8")
        columns = {} if kind == "tagging" else {"columns": {"text": "text", "label": "label"}}
        data = {"format": form, "kind": kind, "train": str(path), "dev": str(path)} | columns
        config = make_config({"run": "x", "unlabelled": str(path)}, data=data)
        task = ta.Task(kind, labels=["O", "B-X"])
        found = read_unlabelled(str(path), "teacher.unlabelled", config.data, task)
        assert [one.words if kind == "tagging" else one.text_a for one in found] == expected


def test_two_devices_equal_one(tiny_bert, tmp_path):
    module = tmp_path / "bert"
    shutil.copytree(tiny_bert, module)
    without_dropout(module)
    child = Path(__file__).parents[1] / "children" / "teacher_on_two_devices.py"
    command = [sys.executable, str(child), str(module)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    for kind, found in json.loads(done.stdout).items():
        one, two = found["one"], found["two"]
        assert two["loss"] == pytest.approx(one["loss"], rel=1e-5), kind
        np.testing.assert_allclose(two["weights"], one["weights"], atol=2e-6, err_msg=kind)
