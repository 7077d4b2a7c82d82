"""What a run with unlabelled texts is made of: weight 0, and files that are refused.

(Training: test_resuming.py; forms of files: test_teacher.py; two devices:
test_losses_on_two_devices.py.)
"""

from types import SimpleNamespace

import pytest

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.resolving.resolve import _anneal_signal

# Nearly every one builds a model.
pytestmark = pytest.mark.slow


@pytest.fixture
def unlabelled(tmp_path):
    path = tmp_path / "more.tsv"
    path.write_text("text\nwhich city lies on the river\nwho is it\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def make_config(tiny_bert):
    def make(unlabelled=None, dataset="sample_classification", handle=None, more=None, **section):
        content = {
            "data": {"dataset": dataset, "source": "sample", "train_examples": 20},
            "encoder": {"handle": str(handle or tiny_bert)},
            "adaptation": "fine_tuning",
            "training": {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2},
        }
        if unlabelled is not None:
            section = {"unlabelled": str(unlabelled), "perturbation": "words"} | section
            content["auxiliary"] = {"consistency": section}
        return config_from(content | (more or {}), "test")

    return make


def test_weight_0_is_no_consistency(make_config, unlabelled):
    parts = build_parts(make_config(unlabelled, weight=0))
    assert parts.unlabelled is None and list(parts.model.auxiliaries) == []
    parts = build_parts(make_config(unlabelled))
    assert parts.unlabelled is not None and len(parts.model.auxiliaries) == 1


def test_signal_annealing_counts_updates(make_config, unlabelled):
    training = {"epochs": 3, "batch_size": 8, "learning_rate": 1e-2, "accumulate_steps": 2}
    config = make_config(unlabelled, more={"training": training}, signal_annealing="linear")
    model = SimpleNamespace(task=ta.Task("classification", labels=["no", "yes"]))
    _anneal_signal(config, model, batches=5)
    assert model.signal_annealing.steps == 9


def test_files_that_are_refused(make_config, unlabelled, tmp_path):
    unlabelled.write_text("text\tlabel\nwho\tperson\n", "utf-8")
    message = r"without labels \(auxiliary.consistency.unlabelled\), got some with labels"
    with pytest.raises(DataError, match=message):
        dry_run(make_config(unlabelled, perturbation="dropout"))
    with pytest.raises(DataError, match="nowhere.tsv"):
        dry_run(make_config(tmp_path / "nowhere.tsv", perturbation="dropout"))


def test_what_the_encoder_refuses_and_no_paraphrases(make_config, unlabelled, tiny_elmo, tmp_path):
    config = make_config(unlabelled, handle=tiny_elmo, perturbation="mask")
    with pytest.raises(ConfigError, match="a mask piece for perturbation mask, .*family elmo"):
        dry_run(config)
    config = make_config(unlabelled, perturbation={"file": str(tmp_path / "nowhere.tsv")})
    with pytest.raises(DataError, match=r"nowhere.tsv"):
        dry_run(config)
