"""A comparison whose training labels come from several sources: its report and its record."""

import json

import numpy as np
import pytest
import yaml

from tf_adapt.comparison.comparing import compare
from tf_adapt.comparison.plan.data_check import inspect_comparison_data
from tf_adapt.comparison.plan.dry_run import dry_run
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ArtifactError, ConfigError, DataError

pytestmark = pytest.mark.usefixtures("unmeasured")


def weak_config(write_config, folder, **data):
    """A config on own files, with votes that are right in 8 of 10 cases."""
    path = write_config(seeds=1, adaptations=["feature_extraction"])
    content = yaml.safe_load(path.read_text())
    whole = load_comparison(path).cells[0].config.data.model_copy(update={"train_examples": None})
    examples = load_splits(whole).examples
    labels = sorted({one.label for one in examples["train"]})
    random = np.random.default_rng(0)
    votes = ["a\tb"]
    for one in examples["train"]:
        row = [one.label if random.random() < 0.8 else str(random.choice(labels)) for _ in "ab"]
        votes.append("\t".join(row))
    (folder / "votes.tsv").write_text("\n".join(votes) + "\n", "utf-8")
    half = len(examples["dev"]) // 2
    parts = {"test": examples["dev"][half:], "dev": examples["dev"][:half]}
    for split, found in (examples | parts).items():
        lines = [f"{one.text_a}\t{one.label}" for one in found]
        (folder / f"{split}.tsv").write_text("text\tlabel\n" + "\n".join(lines) + "\n", "utf-8")
    content["data"] = {
        "format": "tsv",
        "kind": "classification",
        "train": str(folder / "train.tsv"),
        "dev": str(folder / "dev.tsv"),
        "columns": {"text_a": "text", "label": "label"},
    } | data
    content["weak"] = {"votes": str(folder / "votes.tsv")}
    path.write_text(yaml.safe_dump(content), "utf-8")
    return path


@pytest.mark.slow
def test_the_report_shows_the_sources(write_config, workers_here, sketched, tmp_path):
    path = weak_config(write_config, tmp_path, test=str(tmp_path / "test.tsv"))
    comparison, out = load_comparison(path), tmp_path / "out"
    compare(comparison, out)
    report, text = json.loads((out / "report.json").read_text()), (out / "report.md").read_text()
    assert list(report["weak"]["sources"]) == ["a", "b"]
    assert report["weak"]["votes"] == 2 * report["weak"]["examples"]
    assert "Every run is trained on labels from 2 sources" in text
    assert "Sources of the training labels" in text
    votes = (tmp_path / "votes.tsv").read_text().replace("a\tb", "a\tc", 1)
    (tmp_path / "votes.tsv").write_text(votes, "utf-8")
    with pytest.raises(ArtifactError, match="weak.votes: .*votes.tsv"):
        compare(comparison, out)


@pytest.fixture
def two_ways(write_config, tmp_path):
    """A config with two cells, of equal votes and two ways to make labels of them; nobody has
    labelled train."""
    path = weak_config(write_config, tmp_path, test=str(tmp_path / "test.tsv"))
    content = yaml.safe_load(path.read_text())
    weak = content.pop("weak")
    signals = {"ds": {"weak": weak}, "maj": {"weak": weak | {"aggregate": "majority"}}}
    content["compare"] |= {"signals": signals}
    path.write_text(yaml.safe_dump(content), "utf-8")
    rows = (tmp_path / "train.tsv").read_text("utf-8").splitlines()
    texts = [row.split("\t")[0] for row in rows]
    (tmp_path / "train.tsv").write_text("\n".join(texts) + "\n", "utf-8")
    return path


@pytest.mark.slow
def test_labels_of_train_that_no_cell_reads_may_be_missing(two_ways, write_config, tmp_path):
    comparison = load_comparison(two_ways)
    assert comparison.weak is not None and not comparison.has_one_weak
    examples = dry_run(comparison)["examples"]
    assert examples["train"] == inspect_comparison_data(comparison)["train"]["examples"] > 100
    content = yaml.safe_load(two_ways.read_text())
    content["compare"]["signals"]["alone"] = {}
    two_ways.write_text(yaml.safe_dump(content), "utf-8")
    with pytest.raises(DataError, match="train.tsv:1: .*'label'"):
        dry_run(load_comparison(two_ways))


def test_a_part_of_train_cannot_choose(write_config, tmp_path):
    path = weak_config(write_config, tmp_path)
    with pytest.raises(ConfigError, match="weak: expected data with dev and test, .* not known"):
        load_comparison(path)
