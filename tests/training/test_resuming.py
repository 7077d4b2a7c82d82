"""A run that has more than its data, cut off in the middle of an epoch, ends with the same bits.

What it began from may be gone by then. (Kills: `tests/faults/test_interruption.py`.)
"""

import csv
import shutil

import numpy as np
import pytest
import tensorflow as tf
from cut_runs import assert_same_results, keep_at

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import run_folder
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.state import _variables
from tf_adapt.training.teachers import teacher as teaching
from tf_adapt.training.train import train

pytestmark = pytest.mark.slow

TEXTS = ["who is the man", "how many men sing", "which city lies by the river"]
SLICES = {"who": {"words": ["who"]}, "long": {"longer_than": 8}}


@pytest.fixture
def unlabelled(tmp_path):
    path = tmp_path / "more.tsv"
    path.write_text("text\n" + "".join(f"{text}\n" for text in TEXTS), "utf-8")
    return path


@pytest.fixture
def make_config(shallow_bert):
    def make(**more):
        content = {
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 24},
            "encoder": {"handle": str(shallow_bert)},
            "head": "linear",
            "adaptation": "fine_tuning",
            "training": {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2},
        }
        return config_from(content | more, "test")

    return make


def test_a_start_a_penalty_and_heads_of_slices(make_config, finished_run, tmp_path, monkeypatch):
    """Begun with its data on disk, and ended with them in memory."""
    start, whole, run = (tmp_path / name for name in ("start", "whole", "run"))
    shutil.copytree(finished_run(), start)
    more = {"start": {"run": str(start), "head": False}, "slice_heads": True}
    more["penalties"] = {"l2_sp": {"alpha": 0.1}}
    config = make_config(slices=SLICES, **more)
    on_disk = config.data.model_dump() | {"memory_mb": 0}
    with monkeypatch.context() as patch:
        keep_at(patch, 4, run)
        metrics = train(make_config(slices=SLICES, data=on_disk, **more), whole)
    assert run_folder.finished_metrics(whole)["slice_heads"] == metrics["slice_heads"]
    assert (whole / run_folder.START / "metrics.json").is_file()
    shutil.rmtree(start)
    other = SLICES | {"long": {"longer_than": 9}}
    with pytest.raises(ConfigError, match=r"slices.long.longer_than \(was 8, now 9\)"):
        train(make_config(slices=other, **more), run)
    with pytest.raises(ArtifactError, match="this differs: slices of train"):
        train(make_config(slices=dict(reversed(SLICES.items())), **more), run)
    assert train(config, run)["start"]["run"] == str(start)
    assert_same_results(run, whole)
    # Neither is the copy needed to predict.
    shutil.rmtree(run / run_folder.START)
    ta.predict(load_run(run), TEXTS)
    with pytest.raises(ConfigError, match="start.run: expected the folder of a finished run"):
        train(config, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_teacher_is_not_asked_again(make_config, finished_run, unlabelled, tmp_path, monkeypatch):
    """On a frozen encoder, in half precision, with texts without labels."""
    teacher, whole, run = (tmp_path / name for name in ("teacher", "whole", "run"))
    shutil.copytree(finished_run(), teacher)
    section = {"run": str(teacher), "unlabelled": str(unlabelled)}
    training = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2, "mixed_precision": "bfloat16"}
    config = make_config(teacher=section, adaptation="feature_extraction", training=training)
    with monkeypatch.context() as patch:
        keep_at(patch, 5, run)
        train(config, whole)
    monkeypatch.setattr(teaching, "answers_of", None)
    shutil.rmtree(teacher)
    train(config, run)
    assert_same_results(run, whole)


def test_consistency_goes_on_with_the_next_texts(make_config, unlabelled, tmp_path, monkeypatch):
    section = {"unlabelled": str(unlabelled), "perturbation": "words", "signal_annealing": "log"}
    section |= {"confidence": 0.251, "temperature": 0.8, "final_weight": 0.5, "anneal_steps": 4}
    # Three batches an epoch: it is cut off between those of an update.
    training = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2, "accumulate_steps": 2}
    config, whole, run = (
        make_config(auxiliary={"consistency": section}, training=training),
        *(tmp_path / name for name in ("whole", "run")),
    )
    with monkeypatch.context() as patch:
        keep_at(patch, 4, run)
        train(config, whole)
    content = unlabelled.read_text("utf-8")
    unlabelled.write_text("text\nwho is it\n", "utf-8")
    with pytest.raises(ArtifactError, match="auxiliary.consistency.unlabelled"):
        train(config, run)
    unlabelled.write_text(content, "utf-8")
    train(config, run)
    assert_same_results(run, whole)
    with (whole / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert all(float(row["consistency_loss"]) > 0 for row in rows)
    assert all(0 < float(row["confident"]) <= 1 for row in rows)
    assert not {"dev_consistency_loss", "dev_confident"} & set(rows[0])


@pytest.mark.parametrize("perturbation", ["mask", "adversarial"])
def test_what_consistency_draws_is_saved(make_config, unlabelled, perturbation):
    section = {"unlabelled": str(unlabelled), "perturbation": perturbation}
    model = build_parts(make_config(auxiliary={"consistency": section})).model
    (objective,) = model._consistencies()
    assert any(one is objective.seeds.state for one in _variables(model)["random"])


def test_contrastive_tuning(make_config, tmp_path, monkeypatch):
    """Killed among the pairs of its second epoch; served as it predicts."""
    adaptation = {"name": "contrastive", "iterations": 2}
    config = make_config(adaptation=adaptation, penalties={"l2_sp": {"alpha": 0.1}})
    whole, run = tmp_path / "whole", tmp_path / "run"
    with monkeypatch.context() as patch:
        keep_at(patch, 17, run)  # of 12 steps an epoch: 24 texts, 4 pairs each, 8 a batch
        metrics = train(config, whole)
    assert metrics["reads"] == "the mean of the states of the top layer"
    assert metrics["head"] == "linear" and metrics["epochs"] == 2
    assert train(config, run)["dev"] == metrics["dev"]
    assert_same_results(run, whole)
    model = load_run(run)
    ta.export(model, tmp_path / "export" / "1")
    served = tf.saved_model.load(str(tmp_path / "export" / "1")).signatures["serving_default"]
    scores = served(text=tf.constant(TEXTS))["scores"]
    expected = [answer.scores for answer in ta.predict(model, TEXTS)]
    np.testing.assert_allclose(scores, expected, atol=1e-5)
