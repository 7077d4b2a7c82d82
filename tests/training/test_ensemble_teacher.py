"""An ensemble as teacher: what it answers, what it costs, what is refused."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from made_runs import make_run

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.runs import ensemble_folder
from tf_adapt.runs.teachers import identity_of
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.finished.trained_run import evaluate_file
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.resolving.resolve import lesson_of
from tf_adapt.training.teachers.teacher import taught

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

DEV = SAMPLE_FOLDER / "classification" / "dev.tsv"


@pytest.fixture(scope="module")
def runs(shallow_bert, tiny_elmo, tmp_path_factory) -> list[Path]:
    """Of another encoder, limit and seed each."""
    folder = tmp_path_factory.mktemp("members")
    return [
        make_run(folder / "bert", shallow_bert, "classification", 0),
        make_run(folder / "elmo", tiny_elmo, "classification", 1, head="linear"),
        make_run(folder / "again", shallow_bert, "classification", 2),
    ]


@pytest.fixture(scope="module")
def votes(runs, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ensembles") / "votes"
    ta.ensemble(runs, folder, combine="votes")
    return folder


def make_config(handle, teacher, dataset="classification", **more):
    content = {
        "data": {"dataset": f"sample_{dataset}", "source": "sample", "train_examples": 16},
        "encoder": {"handle": str(handle)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-2},
        "teacher": teacher if isinstance(teacher, dict) else {"run": str(teacher)},
    }
    return config_from(content | more, "test")


def test_its_answers_are_its_probabilities(shallow_bert, votes, runs, tmp_path):
    config = make_config(shallow_bert, votes)
    parts, answers = taught(lesson_of(config), build_parts(config), tmp_path / "run")
    train = parts.splits.examples["train"]
    said = ta.load_ensemble(votes).predict(train)
    logits = answers.arrays["train"].astype("float64")
    assert np.isfinite(logits).all()
    found = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    np.testing.assert_allclose(found, [one.scores for one in said], atol=1e-6)
    assert (found < 1e-6).any()  # labels without a vote
    reached = evaluate_file(votes, DEV)
    assert answers.facts["dev"] == pytest.approx(
        {name: value for name, value in reached.items() if not isinstance(value, dict)}
    )
    sizes = [sum(int(np.prod(w.shape)) for w in ta.load_run(run).weights) for run in runs]
    assert answers.facts["parameters"] == sum(sizes)
    assert answers.facts["megabytes"] == pytest.approx(4 * sum(sizes) / 1e6, abs=2e-3)
    assert answers.facts["serving_per_1000"] > 0


def test_logits_of_every_kind():
    shares = np.array([[1.0, 0.0], [0.25, 0.75]], "float32")
    logits = KINDS["classification"].teacher_logits({"probabilities": shares})
    np.testing.assert_allclose(np.exp(logits), shares, atol=1e-6)
    logits = KINDS["multilabel_classification"].teacher_logits({"probabilities": shares})
    assert np.isfinite(logits).all()
    np.testing.assert_allclose(1 / (1 + np.exp(-logits.astype("float64"))), shares, atol=1e-6)
    scores = np.array([1.5, -2.0], "float32")
    found = KINDS["regression"].teacher_logits({"score": scores})
    np.testing.assert_array_equal(found, scores)


def test_it_is_its_members_and_their_weights(votes, tmp_path):
    """And how they are combined."""
    found, known = ensemble_folder.read(votes), {identity_of(votes).hash}
    first, *others = found.members
    fewer = [first.model_copy(update={"weight": 0.0}), *others]
    for name, changed in (
        ("copy", {}), ("mean", {"combine": "probabilities"}), ("fewer", {"members": fewer})
    ):  # fmt: skip
        folder = Path(shutil.copytree(votes, tmp_path / name))
        ensemble_folder.write(folder, found.model_copy(update=changed))
        assert (identity_of(folder).hash in known) == (name == "copy")
        known.add(identity_of(folder).hash)


def test_what_is_refused(shallow_bert, tiny_elmo, runs, votes, tmp_path):
    with pytest.raises(ConfigError, match="teacher.run: expected a teacher with the kind of the"):
        dry_run(make_config(shallow_bert, votes, "pair_classification"))
    assert dry_run(make_config(shallow_bert, votes))["plan"]
    taggers = [
        make_run(tmp_path / "crf", tiny_elmo, "tagging", 0, head="crf"),
        make_run(tmp_path / "linear", shallow_bert, "tagging", 1, head="linear_tagger"),
    ]
    student = {"dataset": "tagging", "head": "linear_tagger"}
    ta.ensemble(taggers, tmp_path / "mean")
    config = make_config(shallow_bert, tmp_path / "mean", **student)
    with pytest.raises(ConfigError, match="got .*mean with the mean of CRFs.*one of votes"):
        taught(lesson_of(config), build_parts(config), tmp_path / "run")
    voting = Path(shutil.copytree(tmp_path / "mean", tmp_path / "votes"))
    ensemble_folder.write(
        voting, ensemble_folder.read(voting).model_copy(update={"combine": "votes"})
    )
    config = make_config(shallow_bert, voting, **student)
    parts, answers = taught(lesson_of(config), build_parts(config), tmp_path / "run")
    words = sum(len(one.words) for one in parts.splits.examples["train"])
    assert len(answers.arrays["train"]) == words

    moved = shutil.copytree(votes, tmp_path / "moved" / "votes")
    config = make_config(shallow_bert, moved)
    with pytest.raises(ArtifactError, match="expected its member in .*got no run there"):
        taught(lesson_of(config), build_parts(config), tmp_path / "run")


def test_a_text_that_a_member_refuses_is_cut_for_a_student_that_cuts(shallow_bert, tmp_path):
    short = {"training": {"max_length": 120}}
    runs = [make_run(tmp_path / str(n), shallow_bert, "classification", n, **short) for n in (0, 1)]
    ta.ensemble(runs, tmp_path / "both")
    path = tmp_path / "long.tsv"
    path.write_text("text\n" + "who " * 150 + "\n", "utf-8")
    teacher = {"run": str(tmp_path / "both"), "unlabelled": str(path)}
    for truncate in (False, True):
        training = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-2, "truncate": truncate}
        config = make_config(shallow_bert, teacher, training=training)
        parts = build_parts(config)
        if truncate:
            _, answers = taught(lesson_of(config), parts, tmp_path / "run")
            assert answers.arrays["unlabelled"].shape == (1, 4)
        else:
            with pytest.raises(DataError, match="long.tsv:2: .*read by the member"):
                taught(lesson_of(config), parts, tmp_path / "run")
