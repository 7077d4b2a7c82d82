"""Data in Python as files: what comes back is what was given; what no file holds is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from tf_adapt.config.reading import data_section
from tf_adapt.data.datasets import read_file
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.in_memory.files import Form, file_columns, file_text
from tf_adapt.errors import ConfigError, DataError

ONE, PAIR = Form("classification"), Form("pair_classification")
TEXTS = ["a fine film", "dull \u2028 ‘ok’\ttab", "a\nb"]
TEXT_Y = list(zip(TEXTS, (1, 2, 1), strict=True))


def read_back(text: str, form: Form, path) -> list:
    """The examples of a file with this text, as a run reads them."""
    path.write_bytes(text.encode("utf-8"))
    section = {"format": form.file_format, "kind": form.kind, "train": str(path)}
    return read_file(path, data_section(section | {"columns": file_columns(text, form)}, form.kind))


def contents(records: list) -> list:
    return [(one.text_a, one.text_b, one.label, one.group) for one in records]


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (pd.DataFrame({"review": TEXTS, "stars": [1, 2, 1], "id": 0}), ("review", "stars")),
        (pd.DataFrame({0: TEXTS, 1: [1, 2, 1]}), (0, 1)),
        ({"x": np.array(TEXTS), "y": np.array([1, 2, 1]), "z": None}, ("x", "y")),
        ([{"x": text, "y": np.int64(y)} for text, y in TEXT_Y], ("x", "y")),
        (pd.DataFrame({"text": TEXTS, "label": ["1", "2", "1"]}), None),
        ([(text, str(y)) for text, y in TEXT_Y], None),
        ((TEXTS, np.array([1, 2, 1])), None),
        ([Record(text, None, str(y)) for text, y in TEXT_Y], None),
    ],
)
def test_texts_with_labels(data, columns, tmp_path):
    columns = columns and dict(zip(("text", "label"), columns, strict=True))
    text = file_text(data, ONE, columns, "train")
    expected = [(one, None, label, None) for one, label in zip(TEXTS, "121", strict=True)]
    assert contents(read_back(text, ONE, tmp_path / "x")) == expected


def test_pairs_groups_numbers_and_sets(tmp_path):
    frame = pd.DataFrame({"text_a": TEXTS, "text_b": TEXTS[::-1], "label": "x", "group": [1, 1, 2]})
    found = contents(read_back(file_text(frame, PAIR, None, "dev"), PAIR, tmp_path / "x"))
    assert found[0] == (TEXTS[0], TEXTS[2], "x", "1")
    scores = Form("regression")
    text = file_text((TEXTS, np.array([0.5, 1, 2], np.float32)), scores, None, "dev")
    assert [one[2] for one in contents(read_back(text, scores, tmp_path / "x"))] == [0.5, 1, 2]
    sets = Form("multilabel_classification", ("cast", "plot"))
    expected = [("cast", "plot"), (), ("plot",)]
    for labels in (np.array([[1, 1], [0, 0], [0, 1]]), [["plot", "cast"], [], ["plot"]]):
        text = file_text((TEXTS, labels), sets, None, "dev")
        assert [one[2] for one in contents(read_back(text, sets, tmp_path / "x"))] == expected


def test_tagged_sentences(tmp_path):
    form = Form("tagging")
    frame = pd.DataFrame({"w": [["Ann", "New\u00a0York"], ["ran"]], "t": [["B-PER", "O"], ["O"]]})
    text = file_text(frame, form, {"words": "w", "tags": "t"}, "train")
    assert text == "Ann\tB-PER\nNew\u00a0York\tO\n\nran\tO\n\n"
    assert [one.document for one in read_back(text, form, tmp_path / "x")] == [0, 0]
    of_documents = [TaggedSentence(("a",), ("O",), document=number) for number in (0, 0, 4)]
    text = file_text(of_documents, form, None, "train")
    assert [one.document for one in read_back(text, form, tmp_path / "x")] == [0, 0, 1]


FRAME = pd.DataFrame({"review": TEXTS, "stars": [1, 2, 1]})
COLUMNS = {"text": "review", "label": "stars"}


@pytest.mark.parametrize(
    ("data", "columns", "message"),
    [
        (FRAME, None, r"train: expected the columns text, label .* got 'review', 'stars'; say .*"
         r'columns=\{"text": "…", "label": "…"\}'),
        (FRAME, COLUMNS | {"label": "star"}, "train: expected one column 'star', got the columns"),
        (FRAME[["review", "stars", "review"]], COLUMNS, "expected one column 'review', got"),
        (FRAME.assign(stars=[1, None, 2]), COLUMNS, "train: example 2: expected a label, .* 1 e"),
        (FRAME.assign(stars=["x", "", "y"]), COLUMNS, "example 2: expected a text in column 'la"),
        (FRAME.assign(stars=[1.0, 2.5, 1]), COLUMNS, r"label for classification, got 1\.0; a col"),
        (FRAME.assign(review=["a", None, "b"]), COLUMNS, "example 2: expected a text or .* got"),
        (FRAME.assign(review=["a", "b", " "]), COLUMNS, "example 3: expected a text in column"),
        (FRAME[:0], COLUMNS, "train: data: expected at least one example, got none"),
        ([], None, "train: data: expected at least one example, got none"),
        ([{"review": "a", "stars": 1}, {"review": "b"}], COLUMNS, "example 2: expected a field"),
        (["a", "b"], None, "train: example 1: expected a label, got none"),
        ("a", None, "train: data: expected a list of examples"),
        ([Record("a", None, "x", group="1"), Record("b", None, "x")], None,
         "train: example 2: expected a group as others have, got none"),
    ],
)  # fmt: skip
def test_data_that_no_file_can_hold(data, columns, message):
    with pytest.raises(DataError, match=message):
        file_text(data, ONE, columns, "train")


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        (["a\tb"], ["O"], r"expected words without tabs and line breaks, got 'a\\tb'"),
        (["-DOCSTART-"], ["O"], "expected words without tabs and line breaks, got '-DOCSTART-'"),
        (["a"], [0], "expected the name of a tag for each word"),
        (["a"], None, "expected the name of a tag for each word"),
        (["a"], ["I-PER"], "tag 'I-PER' is not legal in the scheme IOB2"),
    ],
)
def test_tags_that_no_file_can_hold(words, tags, message):
    with pytest.raises(DataError, match=f"dev: example 1.*: {message}"):
        file_text({"words": [words], "tags": [tags]}, Form("tagging"), None, "dev")


@pytest.mark.parametrize(
    ("form", "columns", "message"),
    [
        (
            ONE,
            {"texts": "review", "label": "stars"},
            "expected text, label .* got 'texts', ",
        ),
        (ONE, {"text": "review"}, r"columns: expected text, label \(and group, .* got 'text_a'"),
        (PAIR, COLUMNS, "columns: expected text_a, text_b, label"),
        (Form("tagging"), COLUMNS, "columns: expected words, tags for kind tagging, got"),
    ],
)
def test_columns_of_other_kinds(form, columns, message):
    with pytest.raises(ConfigError, match=message):
        file_text(FRAME, form, columns, "train")


def test_rows_without_names_have_no_columns():
    with pytest.raises(ConfigError, match="columns: expected none for train, whose"):
        file_text([("a", "b")], ONE, COLUMNS, "train")


def test_lines_are_read_by_people_too():
    text = file_text([("été", "good")], ONE, None, "train")
    assert text == '{"text_a": "été", "label": "good"}\n'
    assert json.loads(text)
