"""Confusions and errors of the answers to examples, against scikit-learn's counts."""

import csv

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, multilabel_confusion_matrix

from tf_adapt.data.formats import Answers, Record, TaggedSentence
from tf_adapt.runs.answer_files import write_answer_files

LABELS = ["a", "b", "c"]


@pytest.fixture
def written(tmp_path):
    """The rows of both files."""

    def write(kind, examples, *answers, labels=None, scheme=None):
        names = write_answer_files(tmp_path, kind, examples, answers, labels, scheme)
        tables = {}
        for name in names:
            with open(tmp_path / name, newline="", encoding="utf-8") as file:
                tables[name] = list(csv.reader(file))
        return tables

    return write


def test_labels(written):
    random = np.random.default_rng(0)
    true, first, second = random.choice(LABELS, (3, 50)).tolist()
    records = [Record(f'text, "{n}"\n', "b", label, f"f.csv:{n}") for n, label in enumerate(true)]
    scores = [(score, score / 2, 0.7) for score in random.random(50).tolist()]
    files = written("pair_classification", records, (first, scores), (second, None), labels=LABELS)
    header, *rows = files["confusion.csv"]
    assert header[1:] == [row[0] for row in rows] == LABELS
    expected = sum(confusion_matrix(true, said, labels=LABELS) for said in (first, second))
    assert np.array([row[1:] for row in rows], int).tolist() == expected.tolist()
    header, *rows = files["errors.csv"]
    assert header == ["where", "text_a", "text_b", "true", "answer", "confidence"]
    assert len(rows) == sum(map(str.__ne__, true, first))
    confidences = [float(row[-1]) for row in rows]
    assert confidences == sorted(confidences, reverse=True)
    for where, text, _, label, answer, confidence in rows:
        number = int(where.partition(":")[2])
        assert (text, label, answer) == (records[number].text_a, true[number], first[number])
        assert f"{scores[number][LABELS.index(answer)]:.4f}" == confidence


def test_sets_of_labels(written):
    random = np.random.default_rng(1)
    true, said = random.random((2, 40, 3)) < 0.4
    sets, answers = (
        [tuple(label for label, has in zip(LABELS, row, strict=True) if has) for row in rows]
        for rows in (true, said)
    )
    records = [Record(f"t {n}", label=label, where=str(n)) for n, label in enumerate(sets)]
    scores = [(0.2, 0.5, 0.9)] * 40
    files = written("multilabel_classification", records, (answers, scores), labels=LABELS)
    for row, matrix in zip(
        files["confusion.csv"][1:], multilabel_confusion_matrix(true, said), strict=True
    ):
        (tn, fp), (fn, tp) = matrix.tolist()
        assert row[1:] == [str(count) for count in (tp, fn, fp, tn)]
    header, *rows = files["errors.csv"]
    assert header == ["where", "text", "label", "true", "answer", "confidence"]
    assert len(rows) == (true != said).sum()
    assert rows[0][2:] in (["c", "no", "yes", "0.9000"], ["a", "yes", "no", "0.8000"])


def test_entities_by_type(written):
    sentences = [
        TaggedSentence(("Ann", "Lee", "left", "Oslo"), ("B-PER", "I-PER", "O", "B-LOC"), "f:1"),
        TaggedSentence(("Bonn", "won"), ("B-LOC", "O"), "f:6"),
    ]
    answers = [["B-PER", "O", "O", "B-ORG"], ["B-LOC", "O"]]
    scores = [(0.9, 0.6, 1.0, 0.7), (1.0, 1.0)]
    files = written("tagging", sentences, (answers, scores), labels=["O"], scheme="IOB2")
    assert files["confusion.csv"][1:] == [
        ["LOC", "1", "1", "0", "0"],
        ["ORG", "0", "0", "0", "0"],
        ["PER", "0", "0", "0", "1"],
        ["none", "0", "0", "1", "0"],
    ]
    assert files["errors.csv"][1:] == [
        ["f:1", "Ann Lee left Oslo", "Ann", "none", "PER", "0.9000"],
        ["f:1", "Ann Lee left Oslo", "Oslo", "LOC", "ORG", "0.7000"],
        ["f:1", "Ann Lee left Oslo", "Ann Lee", "PER", "none", "0.6000"],
    ]
    tags = [TaggedSentence(("a", "b"), ("X", "Y"), "f:1")]
    files = written("tagging", tags, ([["X", "X"]], None), scheme="words")
    assert files["errors.csv"][1:] == [["f:1", "a b", "b", "Y", "X", ""]]


def test_numbers_and_answers_to_questions(written):
    records = [Record(f"t {n}", label=float(n), where=str(n)) for n in range(3)]
    files = written("regression", records, ([0.0, 1.5, 0.0], None))
    assert files == {
        "errors.csv": [
            ["where", "text", "true", "answer", "distance"],
            ["2", "t 2", "2.0", "0.0", "2.0000"],
            ["1", "t 1", "1.0", "1.5", "0.5000"],
        ]
    }
    gold = [Answers(("Oslo", "the Oslo"), (0, 0)), Answers(), Answers(("Bonn",), (0,))]
    asked = [Record("where", "Oslo", label, str(n)) for n, label in enumerate(gold)]
    answers = (["Oslo", "", "won"], [(0.9,), (0.8,), (0.7,)])
    files = written("span_extraction", asked, answers)
    assert files["errors.csv"][1:] == [["2", "where", "Oslo", "Bonn", "won", "0.7000"]]
