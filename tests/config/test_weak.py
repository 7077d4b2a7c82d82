"""The section `weak` of a config: what is refused, and with which words."""

import os

import pytest

from hub_modules.storage.strict_yaml import parse_yaml
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import config_from, dump_config
from tf_adapt.errors import ConfigError
from tf_adapt.training.resolving.run_config import changed_keys

OWN = {
    "format": "tsv",
    "kind": "classification",
    "train": "train.tsv",
    "dev": "dev.tsv",
    "columns": {"text_a": "text", "label": "label"},
}


def make(weak=None, data=None, **changes):
    content = {
        "data": OWN if data is None else data,
        "encoder": {"handle": "bert_small"},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3},
        "weak": {"votes": "votes.tsv"} if weak is None else weak,
    } | changes
    return config_from(content, "test")


def sample(kind):
    return {"dataset": f"sample_{kind}", "source": "sample"}


def test_what_is_written_is_read_again():
    config = make()
    assert config.weak.aggregate == "dawid_skene"
    content, _ = parse_yaml(dump_config(config), "again")
    assert config_from(content, "again") == config
    assert resolve_paths(config).weak.votes == os.path.abspath("votes.tsv")
    assert make(data=sample("pair_classification")).weak.votes == "votes.tsv"


def test_another_aggregate_is_another_run():
    other = make({"votes": "votes.tsv", "aggregate": "majority"})
    assert list(changed_keys(make(), other)) == ["weak.aggregate"]


REFUSED = [
    ({"weak": {}}, r"weak.votes: expected the path of a file, but the key is missing"),
    ({"weak": {"votes": "v", "aggregate": "mean"}}, r"weak.aggregate: expected dawid_skene or"),
    ({"weak": {"votes": "a\0b"}}, r"weak.votes: expected the path of a file or folder"),
    ({"data": sample("tagging")}, r"weak: expected null for tagging, got a section; votes are"),
    ({"data": sample("regression")}, r"weak: expected null for .*regression, got a section"),
    ({"data": OWN | {"dev": None}}, r"data.dev: expected data of its own together with weak"),
    ({"data": OWN | {"held_out": 0.1}}, r"data.held_out: expected null .* with weak, got 0.1"),
    ({"teacher": {"run": "r"}}, r"weak: expected null together with teacher"),
]


def test_what_is_refused():
    for changes, message in REFUSED:
        with pytest.raises(ConfigError, match=message):
            make(**changes)


def test_several_tasks_have_no_votes():
    tasks = {"one": {"data": OWN}, "two": {"data": sample("tagging")}}
    content = {
        "tasks": tasks,
        "target": "one",
        "encoder": {"handle": "bert_small"},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3},
        "weak": {"votes": "votes.tsv"},
    }
    with pytest.raises(ConfigError, match="weak: expected null together with tasks, got a section"):
        config_from(content, "test")
