"""What a data file seems to hold."""

import json

import pytest

from tf_adapt.data.guesses import Given, guess
from tf_adapt.errors import ConfigError, DataError

TEXTS = [f"the film number {n} is long" for n in range(60)]


def table(folder, columns: dict[str, list], name: str = "data.csv", separator: str = ","):
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    path = folder / name
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows), "utf-8")
    return path


def classes(*names: str) -> list[str]:
    return [names[n % len(names)] for n in range(60)]


@pytest.mark.parametrize(
    ("name", "separator", "form"),
    [
        ("a.csv", ",", "csv"),
        ("a.CSV", ";", "csv"),
        ("a.csv", "\t", "csv"),
        ("a.csv", "|", "csv"),
        ("a.tsv", "\t", "tsv"),
    ],
)
def test_tables(tmp_path, name, separator, form):
    columns = {"id": range(60), "v1": classes("ham", "spam"), "v2": TEXTS}
    found = guess(table(tmp_path, columns, name, separator))
    assert (found.format, found.kind) == (form, "classification")
    assert found.columns == {"text": "v2", "label": "v1"}
    assert found.delimiter == (separator if form == "csv" and separator != "," else None)
    assert found.reasons["kind"] == "'v1' has 2 different values: ham, spam"
    assert found.reasons["columns"] == "not used: id"


def test_json_lines(tmp_path):
    rows = [{"review": text, "stars": n % 5, "at": None} for n, text in enumerate(TEXTS)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = guess(path)
    assert (found.format, found.kind) == ("jsonl", "classification")
    assert found.columns == {"text": "review", "label": "stars"}


@pytest.mark.parametrize("label", ["labels", "genres"])
def test_lists_of_labels(tmp_path, label):
    lists = [["drama"], ["drama", "crime"], [], ["crime"]]
    rows = [{"review": text, label: lists[n % 4]} for n, text in enumerate(TEXTS)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = guess(path)
    assert (found.kind, found.columns) == (
        "multilabel_classification",
        {"text": "review", "label": label},
    )
    assert found.reasons["kind"] == f"{label!r} has lists of 2 labels: drama, crime"
    rows = [row | {"premise": "a text", "hypothesis": "another"} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(DataError, match="expected one label for each pair in the column"):
        guess(path)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (classes("no", "yes"), "pair_classification"),
        (classes("0", "1"), "pair_classification"),
        (classes("0.5", "1"), "pair_regression"),
        (list(range(60)), "pair_regression"),
    ],
)
def test_pairs_by_their_labels(tmp_path, labels, kind):
    columns = {"Premise": TEXTS, "hypothesis": TEXTS[::-1], "gold": labels}
    found = guess(table(tmp_path, columns))
    assert found.kind == kind
    assert found.columns == {"text_a": "Premise", "text_b": "hypothesis", "label": "gold"}


def test_a_text_with_numbers_is_a_regression(tmp_path):
    found = guess(table(tmp_path, {"score": [n / 60 for n in range(60)], "text": TEXTS}))
    assert (found.kind, found.columns) == ("regression", {"text": "text", "label": "score"})


@pytest.mark.parametrize("name", ["a.conll", "a.bio", "a.txt", "a.tsv", "a"])
def test_columns_of_tags(tmp_path, name):
    path = tmp_path / name
    path.write_text("Ann\tNN\tB-PER\nran\tV\tO\n\nBob\tNN\tI-PER\n", "utf-8")
    found = guess(path)
    assert (found.format, found.kind, found.columns) == ("conll", "tagging", {})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"a": classes("x", "y"), "b": classes("v", "w"), "c": TEXTS},
            "expected one column that looks like the labels, got a, b; name it with --label",
        ),
        ({"a": range(60), "b": TEXTS}, "looks like the labels, got a, b;"),
        (
            {"label": classes("x", "y"), "a": TEXTS, "b": TEXTS},
            "looks like the texts, got a, b; name it with --text COLUMN .twice",
        ),
        ({"label": classes("x", "y"), "a": classes("1", "2")}, "looks like the texts, got a;"),
        ({"label": TEXTS, "text": TEXTS}, "expected a few labels in the column 'label', got 60"),
        ({"label": classes("x"), "text": TEXTS}, "expected a few labels .* got 1 different"),
    ],
)
def test_what_cannot_be_guessed_says_what_to_write(tmp_path, columns, message):
    with pytest.raises(DataError, match=message):
        guess(table(tmp_path, columns))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "some text\nand more\n", "expected a file named .csv, .* got .txt; give it"),
        ("a", "x\n", "got no suffix"),
        ("a.csv", "", "no examples"),
        ("a.csv", "text,label\n", "no examples"),
        ("a.csv", "text,label\na,b,c\n", "a.csv:2: expected 2 columns, got 3"),
        ("a.csv", "text,text\na,b\n", "a.csv:1: expected a name of its own for each column"),
        ("a.csv", 'text,label\n"a,b\n', "a.csv:2: .*a quote is never closed"),
        ("a.jsonl", "{}\n[]\n", "a.jsonl:2: expected one JSON object"),
        ("a.conll", "word\n", "a.conll:1: expected a word and its tag"),
    ],
)
def test_other_files(tmp_path, name, content, message):
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        guess(tmp_path / name)


def test_labels_with_bars_between_them_are_several(tmp_path):
    genres = ["drama|crime", "drama", "", "crime"] * 15
    found = guess(table(tmp_path, {"plot": TEXTS, "genres": genres}))
    assert (found.kind, found.unlabelled) == ("multilabel_classification", 0)
    assert found.reasons["kind"] == "'genres' has lists of 2 labels: drama, crime"


def test_what_is_given_is_not_guessed(tmp_path):
    columns = {"a": TEXTS, "b": TEXTS, "c": classes("1", "2"), "d": ["", *classes("x", "y")[1:]]}
    path = table(tmp_path, columns)
    found = guess(path, Given(("b",), "d"))
    assert found.columns == {"text": "b", "label": "d"}
    assert (found.kind, found.unlabelled) == ("classification", 1)
    assert guess(path, Given(("a", "b"), "c", "pair_regression")).kind == "pair_regression"
    with pytest.raises(ConfigError, match="--kind pair_regression: expected two columns of texts"):
        guess(path, Given(("a",), "c", "pair_regression"))
    with pytest.raises(ConfigError, match="--label: expected one of the columns .* got 'e'"):
        guess(path, Given(("a",), "e"))
