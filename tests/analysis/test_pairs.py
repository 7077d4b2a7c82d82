"""Tables 3 and 4 out of the reports of comparisons."""

import csv
import json

import pytest
from click.testing import CliRunner

from tf_adapt.analysis.pairs import read_comparisons
from tf_adapt.commands.main import cli
from tf_adapt.errors import ArtifactError, ConfigError

CELL = {
    "encoder": "elmo_small",
    "pretrained": True,
    "adaptation": "fine_tuning",
    "settings": {},
    "head": "bi_attention",
    "pairs": "separate",
    "deviation": 0.01,
}


def report(folder, cells, difference=0.1, first=0, interval=(0.05, 0.15)):
    """A comparison's folder; the test is of its first two cells, `first` says which is a."""
    names = [cell["id"] for cell in cells]
    a, b = names[first], names[1 - first]
    test = {
        "a": a,
        "b": b,
        "difference": difference,
        "p_holm": 0.01,
        "decided": True,
        "alike": False,
    }
    test["interval"] = None if interval is None else list(interval)
    content = {"dataset": "sick_e", "metric": "accuracy", "cells": cells, "pairs": [test]}
    folder.mkdir()
    (folder / "report.json").write_text(json.dumps(content))
    return str(folder)


def test_attention_and_none(tmp_path):
    cells = [
        CELL | {"id": "with", "mean": 0.8},
        CELL | {"id": "without", "mean": 0.7, "head": "max_pooling"},
    ]
    (row,) = read_comparisons([report(tmp_path / "one", cells)])
    assert row["question"] == "attention"
    assert (row["first"]["mean"], row["second"]["mean"]) == (0.8, 0.7)
    assert row["difference"] == 0.1


def test_the_first_is_always_the_one_that_sees_more(tmp_path):
    apart = CELL | {"encoder": "bert", "head": "esim", "id": "apart", "mean": 0.7}
    joint = apart | {"pairs": "joint", "id": "joint", "mean": 0.8}
    folder = report(tmp_path / "one", [apart, joint], -0.1, interval=(-0.15, -0.05))
    (row,) = read_comparisons([folder])
    assert row["question"] == "encoding"
    assert (row["first"]["mean"], row["second"]["mean"]) == (0.8, 0.7)
    assert (row["difference"], row["interval"]) == (0.1, [0.05, 0.15])


@pytest.mark.parametrize("change", [{"adaptation": "two_stage"}, {"pretrained": False}, {}])
def test_cells_that_differ_otherwise_are_no_answer(tmp_path, change):
    other = {"id": "b", "mean": 0.7, "head": "max_pooling" if change else "esim"}
    folder = report(tmp_path / "one", [CELL | {"id": "a", "mean": 0.8}, CELL | other | change])
    with pytest.raises(ConfigError, match="bi_attention, max_pooling"):
        read_comparisons([folder])


def test_a_folder_without_a_report(tmp_path):
    with pytest.raises(ArtifactError, match="tf-adapt compare"):
        read_comparisons([str(tmp_path)])


def test_command_writes_its_files(tmp_path):
    cells = [
        CELL | {"id": "with", "mean": 0.8},
        CELL | {"id": "without", "mean": 0.7, "head": "max_pooling", "deviation": None},
    ]
    folder = report(tmp_path / "one", cells, interval=None)
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, ["analyze", "pairs", folder, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "with attention 80.0 ± 1.0, without 70.0; difference +10.0, decided" in done.output
    assert sorted(p.name for p in out.iterdir()) == [
        f"pairs.{e}" for e in ("csv", "json", "png", "svg")
    ]
    with open(out / "pairs.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["first_mean"], row["second_mean"], row["low"]) == ("0.8", "0.7", "")
