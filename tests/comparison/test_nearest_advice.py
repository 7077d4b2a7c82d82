"""`tf-adapt advise --data`: kind and size of a file, and the nearest published comparisons."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from tf_adapt.commands.main import cli
from tf_adapt.comparison.advice.nearest import MOST, nearest
from tf_adapt.comparison.advice.published import published


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    rows = [f"text number {n} of many words,{'good' if n % 2 else 'bad'}" for n in range(400)]
    path.write_text("\n".join(["text,label", *rows]) + "\n", "utf-8")
    return path


def advised(*arguments):
    return CliRunner().invoke(cli, ["advise", *map(str, arguments)])


def test_the_nearest_are_of_the_kind_and_by_size():
    row = published()[0]
    known = [
        replace(row, comparison=f"{kind} {family} {examples}", kind=kind, family=family,
                examples=examples)
        for kind in ("tagging", "classification")
        for family in ("bert", "elmo")
        for examples in (10, 100, 1_000, 10_000)
    ]  # fmt: skip
    found = [one.comparison for one in nearest(known, "tagging", 400, "elmo")]
    assert found == [f"tagging elmo {examples}" for examples in (1_000, 100, 10_000, 10)]
    assert len(nearest(known, "tagging", 400)) == MOST
    assert nearest(known, "regression", 400) == []


def test_a_file_is_read_and_answered(reviews):
    result = advised("--data", reviews, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["kind"] == "classification" and found["examples"] == 400
    first = found["nearest"][0]
    assert first["comparison"] == "wikitext_sections" and first["interval"]
    assert [one["family"] for one in found["guidelines"]] == ["elmo", "bert"]
    text = advised("--data", reviews, "--encoder", "bert").stdout
    assert "wikitext_sections, bert_small, 339 to learn from: +15.8 (97 % interval +3.1" in text
    assert "BERT-base, classification" in text and "ELMo" not in text
    assert "elmo_small" not in text


def test_a_file_too_small_to_split_is_answered(reviews):
    lines = reviews.read_text("utf-8").splitlines()
    reviews.write_text("\n".join([*lines[:41], "no label,"]) + "\n", "utf-8")
    result = advised("--data", reviews, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["examples"] == 40


def test_a_kind_that_nobody_compared(reviews):
    path = reviews.with_name("scores.csv")
    rows = [f"text number {n} of many words,{n / 7}" for n in range(400)]
    path.write_text("\n".join(["text,score", *rows]) + "\n", "utf-8")
    text = advised("--data", path).stdout
    assert "regression" in text and "none" in text
    assert "The paper compared no task of this kind" in text


def test_bad_files_give_messages(reviews):
    (reviews.with_name("head.csv")).write_text("text,label\n", "utf-8")
    result = advised("--data", reviews.with_name("head.csv"))
    assert result.exit_code == 3 and "head.csv: no examples in this file" in result.stderr
    reviews.write_text("", "utf-8")
    for path, named in ((reviews, "reviews.csv"), (reviews.with_name("no.csv"), "no.csv")):
        result = advised("--data", path)
        assert result.exit_code not in (0, 1) and "Error: " in result.stderr
        assert named in result.stderr and "Traceback" not in result.stderr


def test_without_data_both_are_needed():
    for arguments, missing in ((["--encoder", "bert"], "--task"), ([], "--encoder")):
        result = advised(*arguments)
        assert result.exit_code == 2 and f"Missing option '{missing}'" in result.stderr
