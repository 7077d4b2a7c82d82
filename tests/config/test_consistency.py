"""What is wrong with a section `auxiliary.consistency`, and what it says by default."""

import pytest

from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import config_from, dump_config, load_config
from tf_adapt.errors import ConfigError


def made(section=None, dataset="sample_classification", **more):
    content = {
        "data": {"dataset": dataset, "source": "sample"},
        "encoder": {"handle": "bert_small"},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3}
        | more.pop("training", {}),
        "auxiliary": {
            "consistency": {"unlabelled": "more.tsv", "perturbation": "words"} | (section or {})
        },
    }
    return config_from(content | more, "test")


def test_a_name_is_short_for_a_section():
    found = made({"perturbation": "mask"}).auxiliary.consistency
    assert found == made({"perturbation": {"name": "mask"}}).auxiliary.consistency
    assert (found.weight, found.confidence, found.temperature) == (1.0, None, None)
    assert found.signal_annealing is None and found.perturbation.rate is None


def test_paths_become_absolute_and_a_config_is_read_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = resolve_paths(made({"perturbation": {"file": "paraphrases.tsv"}}))
    found = config.auxiliary.consistency
    assert found.unlabelled == str(tmp_path / "more.tsv")
    assert found.perturbation.file == str(tmp_path / "paraphrases.tsv")
    (tmp_path / "config.yaml").write_text(dump_config(config), "utf-8")
    assert load_config(tmp_path / "config.yaml") == config


TAGS, SETS = ({"dataset": f"sample_{kind}"} for kind in ("tagging", "multilabel_classification"))
BFLOAT = {"training": {"mixed_precision": "bfloat16"}}
STILL = {"adaptation": "feature_extraction", "head_dropout": 0.0}
TEXT = {"format": "text", "kind": "language_model", "train": "x.txt"}


REFUSED = [
    ({"perturbation": "blur"}, {}, "perturbation.name: expected dropout, mask, .*got 'blur'"),
    ({"perturbation": 3}, {}, "perturbation: expected one of dropout, .* or with a file, got 3"),
    ({"perturbation": {}}, {}, "either a name or a file of paraphrases, got neither"),
    ({"perturbation": {"name": "mask", "file": "x"}}, {}, "a file of paraphrases, got both"),
    ({"perturbation": {"file": "a\0b"}}, {}, "perturbation.file: expected the path of a file"),
    ({"perturbation": {"name": "dropout", "rate": 0.1}}, {}, "rate: .* got 0.1 with dropout"),
    ({"perturbation": {"name": "words", "epsilon": 0.1}}, {}, "epsilon: .* got 0.1 with words"),
    ({"weight": -1.0}, {}, "weight: expected a number of at least 0, got -1.0"),
    ({"weight": 0.0, "final_weight": 0.1, "anneal_steps": 3}, {}, "expected null with weight: 0"),
    ({"anneal_steps": 3}, {}, "expected both or neither of final_weight and anneal_steps"),
    ({"confidence": 1.0}, {}, "confidence: expected a number between 0 and 1, or null, got 1"),
    ({"temperature": 0.0}, {}, "temperature: expected a number above 0, or null, got 0"),
    ({"signal_annealing": "slow"}, {}, "signal_annealing: expected linear, exp, log, or null"),
    ({}, {"dataset": "sample_pair_regression"}, "consistency: expected null for pair_regression"),
    ({"signal_annealing": "exp"}, SETS, "annealing: expected null for multilabel_classification"),
    (
        {},
        TAGS | {"head": "linear_tagger"},
        "mask, noise, adversarial, views for tagging, .*got 'words'",
    ),
    ({"perturbation": "dropout"}, TAGS | {"head": "crf"}, "head: expected one without a CRF toget"),
    ({}, {"head": "concat_pooling"}, "head: expected one without batch normalisation together"),
    ({}, {"data": TEXT, "objective": "language_model"}, "expected null for a language model"),
    ({}, {"teacher": {"run": "x"}}, "teacher: expected null together with auxiliary.consis"),
    ({}, {"weak": {"votes": "x"}}, "weak: expected null together with auxiliary.consistency"),
    ({}, {"slices": {"a": {"longer_than": 3}}, "slice_heads": True}, "slice_heads: expected false"),
    ({}, {"training": {"jit_compile": True}}, "jit_compile: expected false together with aux"),
    ({}, {"training": {"strategy": "multi_worker"}}, "strategy: expected null together with"),
    ({"perturbation": "adversarial"}, BFLOAT, "mixed_precision: expected null with perturbation"),
    ({"perturbation": "views"}, {}, "expected another one for classification: views are of the"),
    ({"perturbation": "views"}, TAGS | STILL | {"head": "linear_tagger"}, "nothing but the views"),
    ({"perturbation": "dropout"}, STILL, "expected another one with adaptation: feature_extr"),
]


def test_what_is_refused():
    for section, more, message in REFUSED:
        with pytest.raises(ConfigError, match=message):
            made(section, **more)


def test_several_tasks_have_none():
    data = {"dataset": "sample_classification", "source": "sample"}
    tasks = {"a": {"data": data}, "b": {"data": data}}
    with pytest.raises(ConfigError, match="auxiliary.consistency: expected null together with tas"):
        made(data=None, tasks=tasks, target="a")
