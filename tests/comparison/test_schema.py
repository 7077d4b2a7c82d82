"""The schema of a config says what the reader of configs says, key by key."""

import copy
from pathlib import Path

import jsonschema
import yaml
from click.testing import CliRunner

from tf_adapt.commands.main import cli
from tf_adapt.comparison.plan.schema import DRAFT, config_schema
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.config.reading import config_from

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "configs").rglob("*.yaml"))
SCHEMA = config_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RUN = {
    "data": {
        "format": "csv",
        "kind": "classification",
        "train": "train.csv",
        "columns": {"text": "review", "label": "stars"},
    },
    "encoder": {"handle": "bert_small"},
    "adaptation": "tune",
    "training": {"epochs": 1, "batch_size": 8, "learning_rate": 0.001},
}
COMPARISON = {
    "data": {"dataset": "mrpc", "source": "tfds"},
    "training": {"batch_size": 8},
    "compare": {
        "encoders": ["bert_small", {"handle": "elmo_small", "learning_rates": [0.01]}],
        "adaptations": ["freeze", {"name": "two_stage", "head_epochs": 2}],
        "learning_rates": {"default": [0.001], "tune": [0.0001]},
        "epochs": {"default": 2, "freeze": 10},
        "settings": {"tune": {"optimizer": {"decay": 0.4}, "training": {"weight_decay": 0.1}}},
        "train_examples": [100, "all"],
    },
}
MEMBERS = [
    {},
    {"training": {"learning_rate": 5.0e-5, "epochs": 2}},
    {"encoder": {"handle": "elmo_small"}},
    {"start": {"run": "runs/mnli"}},
]


def changed(content: dict, path: str, value) -> dict:
    content = copy.deepcopy(content)
    section = content
    *sections, key = path.split(".")
    for part in sections:
        section = section.setdefault(part, {})
    section[key] = value
    return content


def key_paths(content: dict, prefix: str = "") -> list[str]:
    found = []
    for key, value in content.items():
        found.append(prefix + key)
        if isinstance(value, dict):
            found += key_paths(value, f"{prefix}{key}.")
    return found


def misspelled(content: dict, path: str) -> dict:
    content = copy.deepcopy(content)
    section = content
    *sections, key = path.split(".")
    for part in sections:
        section = section[part]
    section[f"{key}_"] = section.pop(key)
    return content


def test_it_is_a_schema():
    assert SCHEMA["$schema"] == DRAFT
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_config_of_the_project_is_valid():
    assert len(CONFIGS) >= 30
    wrong = {}
    for path in CONFIGS:
        error = jsonschema.exceptions.best_match(
            VALIDATOR.iter_errors(yaml.safe_load(path.read_text("utf-8")))
        )
        if error is not None:
            wrong[path.name] = f"{error.json_path}: {error.message}"
    assert wrong == {}


def test_short_forms_are_valid():
    for content in [RUN, COMPARISON, changed(COMPARISON, "compare.signals.m.members", MEMBERS)]:
        VALIDATOR.validate(content)


def test_the_reader_accepts_them_too(tmp_path):
    config_from(RUN, "run")
    file = tmp_path / "compare.yaml"
    file.write_text(yaml.safe_dump(COMPARISON), "utf-8")
    assert len(load_comparison(file).cells) >= 4


def test_a_misspelled_key_is_not():
    for content in [RUN, COMPARISON]:
        for path in key_paths(content):
            assert not VALIDATOR.is_valid(misspelled(content, path)), path


WRONG_RUNS = [
    ("training.epochs", "3"),
    ("training.epochs", 0),
    ("training.epochs", 2.5),
    ("training.epochs", True),
    ("training.learning_rate", "1e-3"),
    ("training.truncate", "yes"),
    ("training.devices", "tpu:1"),
    ("data.kind", "clasification"),
    ("data.columns.label", 3),
    ("adaptation", "thaw"),
    ("adaptation", {"name": "thaw"}),
    ("adaptation", {"name": "two_stage", "head_epoch": 1}),
    ("encoder", "bert_small"),
    ("head", None),
    ("penalties.l2_sp.alpha", 0),
]


def test_a_wrong_value_of_a_run_is_not():
    for path, value in WRONG_RUNS:
        assert not VALIDATOR.is_valid(changed(RUN, path, value))


WRONG_COMPARISONS = [
    ("compare.encoders", "bert_small"),
    ("compare.encoders", []),
    ("compare.adaptations", ["thaw"]),
    ("compare.heads", ["crff"]),
    ("compare.learning_rates", {"thaw": [0.1]}),
    ("compare.learning_rates", [0.0]),
    ("compare.settings.thaw", {}),
    ("compare.settings.tune.training.epochs", 2),
    ("compare.train_examples", ["everything"]),
    ("compare.seeds", "three"),
    ("compare.signals.m.members", [{}, {"training": {"seed": 1}}]),
    ("compare.signals.m.members", [{}, {"training": {"learning_rate": 0.0}}]),
    # What `compare` says for every cell has no place of its own.
    ("adaptation", "tune"),
    ("training.learning_rate", 0.001),
    ("training.seed", 1),
]


def test_a_wrong_value_of_a_comparison_is_not():
    for path, value in WRONG_COMPARISONS:
        assert not VALIDATOR.is_valid(changed(COMPARISON, path, value))


def test_every_key_says_what_it_means_and_expects():
    """`Expected: true or false` alone does not help who reads it in an editor."""
    for section, found in SCHEMA["$defs"].items():
        for key, field in found["properties"].items():
            description = field.get("description")
            if description is None:
                assert "$ref" in str(field), f"{section}.{key}: neither described nor a section"
            else:
                assert not description.startswith("Expected: ") or "$ref" in str(field), (
                    f"{section}.{key}: give it a docstring"
                )


def test_the_command_prints_and_writes_it(tmp_path):
    printed = CliRunner().invoke(cli, ["config", "schema"])
    assert printed.exit_code == 0, printed.output
    file = tmp_path / "schema.json"
    assert CliRunner().invoke(cli, ["config", "schema", "--out", str(file)]).exit_code == 0
    assert yaml.safe_load(printed.stdout) == yaml.safe_load(file.read_text("utf-8")) == SCHEMA
