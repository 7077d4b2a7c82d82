"""Configs with several tasks: read, written, and refused with the key that is wrong."""

import copy

import pytest
import yaml

from tf_adapt.comparison.plan.settings import comparison_from
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import config_from, dump_config, load_config
from tf_adapt.errors import ConfigError

DATA = {"dataset": "sample_classification", "source": "sample"}
TAGS = {"dataset": "sample_tagging", "source": "sample"}
CONTENT = {
    "tasks": {"one": {"data": DATA}, "two": {"data": TAGS, "head": "crf", "weight": 2.0}},
    "target": "one",
    "encoder": {"handle": "bert_small"},
    "adaptation": "fine_tuning",
    "training": {"epochs": 3, "batch_size": 4, "learning_rate": 1e-3},
}
OWN = {
    "format": "csv",
    "kind": "classification",
    "train": "train.csv",
    "columns": {"text": "review", "label": "stars"},
}
GONE = object()


def changed(changes: dict) -> dict:
    content = copy.deepcopy(CONTENT)
    for path, value in changes.items():
        *sections, key = path.split(".")
        section = content
        for part in sections:
            section = section.setdefault(part, {})
        if value is GONE:
            del section[key]
        else:
            section[key] = value
    return content


def test_what_is_written_is_read_again():
    config = config_from(CONTENT, "test")
    assert config_from(yaml.safe_load(dump_config(config)), "again") == config
    assert config.data is None and config.sampling is None
    two = config.of_task("two")
    assert (two.head, two.data.dataset, two.tasks) == ("crf", "sample_tagging", None)
    alone = {key: value for key, value in CONTENT.items() if key not in ("tasks", "target")}
    assert two == config_from(alone | {"data": TAGS, "head": "crf"}, "alone")


def test_slices_and_forgetting_are_of_the_target_and_the_encoder():
    slices = {"x": {"words": ["New-York"]}}  # one word of the tagged data, two of a text
    config = config_from(changed({"slices": slices, "target": "two"}), "test")
    assert config.of_task("two").slices == config.slices != config.of_task("one").slices == {}
    assert config_from(changed({"forgetting": {"text": "x.txt"}}), "test").forgetting is not None


def test_short_names_paths_and_overrides_reach_a_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(changed({"tasks.one.data": OWN})))
    overrides = ["tasks.one.data.columns.text=body", "tasks.two.weight=0.5"]
    config = resolve_paths(load_config("config.yaml", overrides))
    assert config.tasks["one"].data.columns.text_a == "body"
    assert config.tasks["one"].data.train == str(tmp_path / "train.csv")
    assert config.tasks["two"].weight == 0.5


WRONG = [
    ({"target": "three"}, "target: expected one of the tasks one, two, got 'three'"),
    ({"target": GONE}, "target: expected one of the tasks one, two, got null"),
    ({"tasks.two": GONE}, "tasks: expected at least two tasks, got one; write one task as"),
    ({"tasks": {}}, "tasks: expected at least two tasks, got none"),
    ({"tasks": [DATA]}, "tasks: expected a section with one for each task"),
    ({"tasks.one": 3}, "tasks.one: expected a section, got 3"),
    ({"tasks.one": {}}, "tasks.one.data: expected a section, but the key is missing"),
    ({"tasks.one.wieght": 1.0}, "tasks.one.wieght: unknown key; did you mean weight?"),
    ({"tasks.two.weight": 0}, "tasks.two.weight: expected a number above 0, got 0"),
    ({"tasks.two.weight": -1.0}, "tasks.two.weight: expected a number above 0, got -1.0"),
    ({"tasks.1st": {"data": DATA}}, "tasks.1st: expected a name of letters, digits and _"),
    ({"tasks.a/b": {"data": DATA}}, "tasks.a/b: expected a name of letters, digits and _"),
    ({"tasks.one.data": DATA | {"dataset": "sampel"}}, "tasks.one.data.dataset: expected one"),
    ({"tasks.one.data": {"format": "text", "kind": "language_model", "train": "x"}},
     "tasks.one.data.format: expected labelled data, got text"),
    ({"tasks.two.head_pooling": "mean"}, "tasks.two.head_pooling: expected null for tagging"),
    ({"data": DATA}, "data: expected null together with tasks, got a section"),
    ({"head": "crf"}, "head: expected 'default' together with tasks, got 'crf'"),
    ({"sampling": "sorted"}, "sampling: expected annealed, proportional, square_root, uni"),
    ({"task_attention": 0}, "task_attention: expected a whole number from 1 to"),
    ({"task_attention": 8, "adaptation": "lora"}, "task_attention: expected null with adapt"),
    ({"adaptation": "freeze"}, "adaptation.name: expected another adaptation together with"),
    ({"objective": "language_model"}, "objective: expected language_model together with data"),
    ({"auxiliary.distillation": {"weight": 1.0}}, "auxiliary.distillation: expected null tog"),
    ({"forgetting": {"text": "x.txt"}, "task_attention": 8}, "forgetting: expected null together"),
    ({"slices": {"x": {"words": ["a"]}}, "slice_heads": True},
     "slice_heads: expected false together with tasks, got true: heads of slices are for one"),
    ({"slices": {"x": {"word_overlap_above": 0.5}}}, "slices.x.word_overlap_above: expected null"),
    ({"training.jit_compile": True}, "training.jit_compile: expected false together with"),
    ({"training.strategy": "multi_worker"}, "training.strategy: expected null together with"),
    ({"training.choose_thresholds": True}, "training.choose_thresholds: expected false"),
    ({"training.target_epochs": 3}, r"target_epochs: expected less than training.epochs \(3\)"),
    ({"training.target_epochs": 1, "training.patience": 2}, "training.patience: expected null"),
    ({"tasks": GONE, "data": DATA}, "target: expected null without tasks, got 'one'"),
    ({"tasks": GONE, "target": GONE, "data": DATA, "task_attention": 8},
     "task_attention: expected null without tasks, got 8; remove it"),
    ({"tasks": GONE, "target": GONE}, "data: expected a section, but the key is missing"),
    ({"tasks": GONE, "target": GONE, "data": DATA, "training.steps_per_epoch": 3},
     "training.steps_per_epoch: expected null without tasks, got 3; remove it"),
]  # fmt: skip


def test_wrong_configs_are_refused():
    for changes, problem in WRONG:
        with pytest.raises(ConfigError, match=problem):
            config_from(changed(changes), "test")


def test_a_comparison_takes_one_task():
    content = {key: value for key, value in CONTENT.items() if key in ("tasks", "target")}
    compare = {"encoders": ["bert_small"], "adaptations": ["freeze", "tune"]}
    with pytest.raises(ConfigError, match="tasks: expected the data and head of one task"):
        comparison_from(content | {"compare": compare}, "test")
