"""A file of votes: what is read, what is refused with its line, and the labels of train from it."""

import numpy as np
import pytest

from tf_adapt.config.data_sections import DatasetConfig, FilesConfig, LeaveOutConfig
from tf_adapt.config.signal_sections import WeakConfig
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.data.votes import read_votes
from tf_adapt.errors import DataError
from tf_adapt.statistics.dawid_skene import dawid_skene

VOTES = "ann\tben\trules\nno\tno\t\nyes\tno\tyes\n\t\tyes\nno\tyes\t\n"
DEV = "text\tlabel\nbad\tno\ngood\tyes\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "votes.tsv").write_text(VOTES, "utf-8")
    (tmp_path / "train.tsv").write_text("text\na\nb\nc\nd\n", "utf-8")
    (tmp_path / "dev.tsv").write_text(DEV, "utf-8")
    return tmp_path


def data_of(folder, **changes):
    section = {
        "format": "tsv",
        "kind": "classification",
        "train": str(folder / "train.tsv"),
        "dev": str(folder / "dev.tsv"),
        "columns": {"text_a": "text", "label": "label"},
    }
    return FilesConfig(**section | changes)


def weak(folder, aggregate="majority", name="votes.tsv"):
    return WeakConfig(votes=str(folder / name), aggregate=aggregate)


def test_a_table_of_votes(folder):
    found = read_votes(folder / "votes.tsv")
    assert found.sources == ["ann", "ben", "rules"] and found.labels == ["no", "yes"]
    expected = [[0, 0, -1], [1, 0, 1], [-1, -1, 1], [0, 1, -1]]
    np.testing.assert_array_equal(found.ids, expected)
    flipped = read_votes(folder / "votes.tsv", ["yes", "maybe", "no"]).ids
    np.testing.assert_array_equal(flipped[0], [2, 2, -1])


def test_a_csv_file_has_quotes_and_commas(folder):
    (folder / "votes.csv").write_text('ann,"ben, the rule"\n"no",yes\n,no\n', "utf-8")
    found = read_votes(folder / "votes.csv")
    assert found.sources == ["ann", "ben, the rule"]
    np.testing.assert_array_equal(found.ids, [[0, 1], [-1, 0]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no examples in this file"),
        ("ann\tben\n", "no examples in this file"),
        ("ann\nno\n", r"v.tsv:1: expected the names of at least 2 sources, .* got 'ann'; separate"),
        (
            "ann\tann\nno\tno\n",
            r"v.tsv:1: expected a name of its own .* two of that name in col.* 2",
        ),
        ("ann\t\nno\tno\n", r"v.tsv:1: expected a name of its own for each source, got an empty"),
        ("ann\tben\nno\tno\nno\n", r"v.tsv:3: expected 2 columns, got 1"),
        ("ann\tben\nno\tno\n\nno\tno\n", r"v.tsv:3: expected 2 columns, got 0"),
        ("ann\tben\nno\tno\n\t\n", r"v.tsv:3: expected the label of at least one source, got none"),
        ("ann\tben\nno\tno\nno\tnever\n", r"v.tsv:3: expected of source 'ben' a label .*\(no, yes"),
        ("ann\tben\nno\tno\nno\t \n", r"v.tsv:3: expected a text in column 'label'"),
    ],
)
def test_what_is_no_table_of_votes(tmp_path, content, message):
    (tmp_path / "v.tsv").write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        read_votes(tmp_path / "v.tsv", ["no", "yes"])


def test_train_needs_no_labels_and_gets_the_majority(folder):
    found = load_splits(data_of(folder), weak(folder))
    assert found.labels == ["no", "yes"]
    assert [one.label for one in found.examples["train"]] == ["no", "yes", "yes", "no"]
    assert [one.label for one in found.examples["dev"]] == ["no", "yes"]
    assert found.weak.posteriors == [[1, 0], [0, 1], [0, 1], [0.5, 0.5]]
    facts = found.weak.facts
    assert (facts["votes"], facts["examples"]) == (8, 4)
    assert facts["agreement"] == pytest.approx(2 / 5)
    assert {name: one["votes"] for name, one in facts["sources"].items()} == {
        "ann": 3,
        "ben": 3,
        "rules": 2,
    }
    # Of ann's: no, yes, and no where both are as probable. Weights are those of the labels.
    assert facts["sources"]["ann"]["accuracy"] == pytest.approx(3 / 8 + 5 / 8 * 2 / 3, abs=1e-5)
    assert facts["undecided"] == 0.25
    assert facts["entropy"] == pytest.approx(np.log(2) / 4, abs=1e-6)


def test_the_labels_of_train_are_not_read(folder):
    (folder / "train.tsv").write_text("text\tlabel\na\tx\nb\t\nc\tyes\nd\tno\n", "utf-8")
    found = load_splits(data_of(folder), weak(folder))
    assert [one.label for one in found.examples["train"]] == ["no", "yes", "yes", "no"]


def test_labels_of_the_config_are_those_of_the_task(folder):
    found = load_splits(data_of(folder, labels=["yes", "maybe", "no"]), weak(folder))
    assert found.labels == ["yes", "maybe", "no"] and found.weak.posteriors[0] == [0, 0, 1]
    (folder / "other.tsv").write_text(VOTES.replace("no\tno", "no\tnein"), "utf-8")
    with pytest.raises(DataError, match=r"other.tsv:2: expected of source 'ben' a label"):
        load_splits(data_of(folder, labels=["yes", "no"]), weak(folder, name="other.tsv"))
    (folder / "dev.tsv").write_text("text\tlabel\nbad\tnever\n", "utf-8")
    with pytest.raises(DataError, match="never"):
        load_splits(data_of(folder), weak(folder))


@pytest.mark.parametrize("rows", [3, 5])
def test_a_row_for_each_example(folder, rows):
    (folder / "train.tsv").write_text("text\n" + "a\n" * rows, "utf-8")
    with pytest.raises(DataError, match=rf"votes.tsv:5: expected {rows} rows below .* got 4; "):
        load_splits(data_of(folder), weak(folder))


@pytest.mark.parametrize("without", [None, LeaveOutConfig(of=3, part=1)])
def test_a_sample_of_train_has_its_own_rows(folder, without):
    """Of a named dataset, whose labels are not those of the votes."""
    data = DatasetConfig(dataset="sample_classification", source="sample")
    whole = load_splits(data)
    random = np.random.default_rng(3)
    lines = ["a\tb\tc"]
    for _ in whole.examples["train"]:
        lines.append("\t".join(random.choice(whole.labels, 3)))
    (folder / "many.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    section = weak(folder, "dawid_skene", "many.tsv")
    part = data.model_copy(update={"train_examples": 40, "leave_out": without})
    found = load_splits(part, section)
    texts = [one.text_a for one in whole.examples["train"]]
    rows = [texts.index(one.text_a) for one in load_splits(part).examples["train"]]
    assert [one.text_a for one in found.examples["train"]] == [texts[row] for row in rows]
    votes = read_votes(folder / "many.tsv", whole.labels).ids[rows]
    expected = dawid_skene(votes, len(whole.labels)).posteriors
    np.testing.assert_array_equal(found.weak.posteriors, expected)
    best = [whole.labels[number] for number in expected.argmax(axis=1)]
    assert [one.label for one in found.examples["train"]] == best
    assert found.examples["dev"] == whole.examples["dev"]
    again = load_splits(part, section)
    assert again == found
