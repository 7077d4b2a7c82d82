"""A run with a teacher: what it is told, what is kept of it, and what cannot be a teacher.

(Cut off and resumed: test_resuming.py; two devices: test_losses_on_two_devices.py.)
"""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from language_models import log_softmax
from made_runs import make_run

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.packing.prepared import LABELLED, TEACHER
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.runs.teacher_answers import ANSWERS, read_answers
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.run_cards import run_card
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.resolving.resolve import lesson_of
from tf_adapt.training.resolving.warm_start import starting_run
from tf_adapt.training.teachers import teacher as teaching
from tf_adapt.training.teachers.teacher import taught
from tf_adapt.training.teachers.unlabelled import read_unlabelled
from tf_adapt.training.train import train

# Nearly every one builds a model or more.
pytestmark = pytest.mark.slow

TEXTS = ["which city lies on the river", "how many men sing", "who is the man"]
# What a student and a teacher without a CRF need for each kind of task.
HEADS = {"tagging": {"head": "linear_tagger"}}


@pytest.fixture(scope="module")
def make_config(shallow_bert):
    def make(teacher=None, kind="classification", handle=None, training=None, **more):
        content = {
            "data": {"dataset": f"sample_{kind}", "source": "sample", "train_examples": 24},
            "encoder": {"handle": str(handle or shallow_bert)},
            "adaptation": "fine_tuning",
            "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-2} | (training or {}),
        }
        if teacher is not None:
            content["teacher"] = teacher if isinstance(teacher, dict) else {"run": str(teacher)}
        return config_from(content | HEADS.get(kind, {}) | more, "test")

    return make


@pytest.fixture(scope="module")
def teacher_of(shallow_bert, tmp_path_factory):
    """Kind of task → a finished run."""
    made = {}

    def teacher(kind="classification", **changed):
        key = (kind, *changed.items())
        if key not in made:
            folder = tmp_path_factory.mktemp("teachers") / "run"
            made[key] = make_run(folder, shallow_bert, kind, **(changed or HEADS.get(kind, {})))
        return made[key]

    return teacher


@pytest.fixture
def unlabelled(tmp_path):
    path = tmp_path / "more.tsv"
    path.write_text("text\n" + "".join(f"{text}\n" for text in TEXTS), "utf-8")
    return path


def test_a_student_is_told_what_its_teacher_predicts(
    make_config, finished_run, unlabelled, tiny_elmo, tmp_path
):
    """Another encoder, texts without labels, and both models side by side."""
    teacher, run = finished_run(), tmp_path / "run"
    section = {"run": str(teacher), "unlabelled": str(unlabelled), "weight": 0.7}
    config = make_config(section, handle=tiny_elmo, head="linear")
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


@pytest.mark.parametrize("kind", ["pair_regression", "multilabel_classification", "tagging"])
def test_an_identical_student_is_not_moved_by_its_teacher_alone(
    make_config, teacher_of, tmp_path, kind
):
    """Started with the teacher's weights, on any batch: each text has its own answer."""
    run = teacher_of(kind)
    config = make_config({"run": str(run), "weight": 1.0}, kind, start={"run": str(run)})
    parts, _ = taught(
        lesson_of(config), build_parts(config, starting_run(config)), tmp_path / "run"
    )
    model, (inputs, targets) = parts.model, parts.data["train"].batch(np.array([5, 0, 17]))
    outputs = model(inputs, training=False)
    assert float(model.compute_loss(inputs, targets, outputs)) == pytest.approx(0, abs=1e-6)
    # With labels the same student moves.
    model.teaching = replace(model.teaching, weight=0.5)
    assert float(model.compute_loss(inputs, targets, outputs)) > 1e-3


def test_words_of_split_sentences_have_their_own_answers(make_config, teacher_of, tmp_path):
    teacher = teacher_of("tagging")
    path = tmp_path / "more.txt"
    path.write_text("Paris\nsleeps\n\n" + "again\n" * 9 + "\n", "utf-8")
    short = {"max_length": 12, "truncate": True, "batch_size": 4}
    section = {"run": str(teacher), "unlabelled": str(path)}
    config = make_config(section, "tagging", training=short)
    parts, answers = taught(lesson_of(config), build_parts(config), tmp_path / "run")
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


def test_rows_of_few_shapes_leave_the_answers_as_they_are(make_config, teacher_of, tmp_path):
    config = make_config(teacher_of())
    parts = build_parts(config)
    # As with training.jit_compile, which a process of deterministic operations refuses.
    parts.data["train"] = replace(parts.data["train"], length_step=8)
    parts, answers = taught(lesson_of(config), parts, tmp_path / "run")
    inputs, _ = parts.data["train"].batch(np.array([5, 0]))
    assert inputs["a"]["input_word_ids"].shape[1] % 8 == 0
    np.testing.assert_array_equal(inputs["a"][TEACHER], answers.arrays["train"][[5, 0]])


def test_runs_with_one_cache_ask_once(make_config, teacher_of, tmp_path, monkeypatch):
    """Other seeds and encoders; other texts are asked anew, and a run keeps its own copy."""
    asked, answers_of = [], teaching.answers_of

    def counted(folder, *args):
        asked.append(folder)
        return answers_of(folder, *args)

    def answered(name, **changed):
        config = make_config(teacher, features={"cache": str(tmp_path / "cache")}, **changed)
        return taught(lesson_of(config), build_parts(config), tmp_path / name)[1]

    monkeypatch.setattr(teaching, "answers_of", counted)
    teacher = teacher_of()
    first = answered("first")
    other = answered("second", training={"seed": 1}, adaptation="bitfit")
    assert asked == [teacher]
    assert (other.teacher, other.texts, other.facts) == (first.teacher, first.texts, first.facts)
    np.testing.assert_array_equal(other.arrays["train"], first.arrays["train"])
    answered("fewer", data={"dataset": "sample_classification", "source": "sample"})
    answered("cut", training={"truncate": True})
    assert len(asked) == 3
    # Damaged in the cache: computed again.
    for path in (tmp_path / "cache").glob(f"*/teacher/{ANSWERS}"):
        path.write_bytes(path.read_bytes()[:-9])
    np.testing.assert_array_equal(answered("new").arrays["train"], first.arrays["train"])
    assert len(asked) == 4


def test_damaged_answers_are_computed_again(make_config, teacher_of, tmp_path, caplog):
    teacher, run = tmp_path / "teacher", tmp_path / "run"
    shutil.copytree(teacher_of(), teacher)
    config = make_config(teacher)
    parts = build_parts(config)
    taught(lesson_of(config), parts, run)[1].keep(run)
    before = (run / "teacher" / ANSWERS).read_bytes()
    (run / "teacher" / ANSWERS).write_bytes(before[:-9])
    taught(lesson_of(config), parts, run)[1].keep(run)
    assert "damaged answers of a teacher" in caplog.text
    assert (run / "teacher" / ANSWERS).read_bytes() == before
    (run / "teacher" / ANSWERS).write_bytes(before[:-9])
    shutil.rmtree(teacher)
    with pytest.raises(ConfigError, match="teacher.run: expected the folder of a finished run"):
        taught(lesson_of(config), parts, run)


def test_what_cannot_be_a_teacher(make_config, teacher_of, unlabelled, tmp_path):
    run = teacher_of()
    with pytest.raises(ConfigError, match="teacher.run: .*with the kind of the data, pair_cla"):
        dry_run(make_config(run, "pair_classification"))
    with pytest.raises(ConfigError, match="teacher.run: expected the folder of a finished run"):
        dry_run(make_config(tmp_path / "nowhere"))
    for key, value in (("temperature", 0), ("temperature", -1.0), ("weight", 0.0), ("weight", 1.1)):
        with pytest.raises(ConfigError, match=f"teacher.{key}: expected a number above 0"):
            make_config({"run": str(run), key: value})
    with pytest.raises(ConfigError, match="head: expected one without a CRF together with teach"):
        make_config(run, "tagging", head="crf")
    with pytest.raises(ConfigError, match="jit_compile: expected false together with teacher.un"):
        section = {"run": str(run), "unlabelled": "x.tsv"}
        make_config(section, training={"jit_compile": True})
    text = {"format": "text", "kind": "language_model", "train": "x.txt"}
    with pytest.raises(ConfigError, match="teacher: expected null for a language model"):
        make_config(run, data=text, objective="language_model")
    unlabelled.write_text("text\tlabel\nwho\tperson\n", "utf-8")
    with pytest.raises(DataError, match=r"\(teacher.unlabelled\), got some with labels"):
        dry_run(make_config({"run": str(run), "unlabelled": str(unlabelled)}))


def test_other_labels_and_a_teacher_with_a_crf(make_config, teacher_of, tmp_path):
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
        dry_run(make_config(teacher_of(), data=own))
    teacher = teacher_of("tagging", head="crf")
    config = make_config(teacher, "tagging")
    with pytest.raises(ConfigError, match="teacher.run: expected a teacher whose head scores each"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("classification", "text\tlabel\nwho\tperson\n", "texts without labels .*got some"),
        ("classification", "sentence\nwho\n", "more.tsv:1: .*'text'"),
        ("pair_classification", "text_a\na man sings\n", "more.tsv:1: .*'text_b'"),
        ("classification", "text\n\n", "more.tsv"),
        ("classification", "", "more.tsv"),
        ("classification", None, "more.tsv"),
        ("tagging", "Paris B-LOC\nsleeps O\n", "texts without labels .*the tags"),
        # A wrong label does not hide the others.
        ("classification", "text\tlabel\nwho\tperson\nis\t7\n", r"tsv:2: .*got some"),
        ("classification", "text\tlabel\nwho\t7\nis\tperson\n", r"tsv:3: .*got some"),
        ("pair_regression", "text_a\ttext_b\tscore\na\tb\t?\nc\td\t1\n", r"tsv:3: "),
        ("tagging", "Paris B-LOC\nis B-?\n\nIt O\nis O\n", r"tsv:4: .*the tags"),
    ],
)
def test_texts_of_another_form(make_config, tmp_path, kind, content, message):
    path = tmp_path / "more.tsv"
    if content is not None:
        path.write_text(content, "utf-8")
    data = make_config({"run": "x", "unlabelled": str(path)}, kind).data
    labels = None if kind == "pair_regression" else ["O", "B-LOC"]
    with pytest.raises(DataError, match=message):
        read_unlabelled(str(path), "teacher.unlabelled", data, ta.Task(kind, labels=labels))


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
