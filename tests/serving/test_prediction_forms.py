"""Predictions in every form, against files written by hand."""

import json
from types import SimpleNamespace

import pytest

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.serving.prediction.prediction import FoundAnswer
from tf_adapt.serving.prediction.prediction_forms import check_texts, form_of, predictions_text


def task_of(kind="classification", labels=None) -> SimpleNamespace:
    return SimpleNamespace(kind=kind, labels=labels)


PAIR = task_of("pair_classification", ("no", "y,es"))
SCORES = task_of("regression")
SETS = task_of("multilabel_classification", ("a", "b"))
TAGS = task_of("tagging", ("O", "B-X"))
QUESTIONS = task_of("span_extraction")
TEXTS = [Record('a "b"', "c,\u2028d", where="in:1"), Record("é", "f", where="in:2")]
ANSWERS = [
    SimpleNamespace(label="y,es", scores=(0.25, 0.75)),
    SimpleNamespace(label="no", scores=(2 / 3, 1 / 3)),
]


IN_EVERY_FORM = [
    ("tsv", False, "prediction\tno\ty,es\ny,es\t0.250000\t0.750000\n"
     "no\t0.666667\t0.333333\n"),
    ("tsv", True, 'text_a\ttext_b\tprediction\tno\ty,es\na "b"\tc,\u2028d\ty,es\t0.250000\t'
     "0.750000\né\tf\tno\t0.666667\t0.333333\n"),
    ("csv", False, 'prediction,no,"y,es"\r\n"y,es",0.250000,0.750000\r\n'
     "no,0.666667,0.333333\r\n"),
    ("csv", True, 'text_a,text_b,prediction,no,"y,es"\r\n"a ""b""","c,\u2028d","y,es",0.250000,'
     "0.750000\r\né,f,no,0.666667,0.333333\r\n"),
    ("jsonl", False, '{"prediction": "y,es", "scores": {"no": 0.25, "y,es": 0.75}}\n'
     '{"prediction": "no", "scores": {"no": 0.666667, "y,es": 0.333333}}\n'),
    ("jsonl", True, '{"text_a": "a \\"b\\"", "text_b": "c,\u2028d", "prediction": "y,es", '
     '"scores": {"no": 0.25, "y,es": 0.75}}\n{"text_a": "é", "text_b": "f", "prediction": "no",'
     ' "scores": {"no": 0.666667, "y,es": 0.333333}}\n'),
]  # fmt: skip


def test_pairs_in_every_form():
    for form, with_input, expected in IN_EVERY_FORM:
        assert predictions_text(form, PAIR, TEXTS, ANSWERS, with_input) == expected


def test_no_two_columns_have_one_name():
    labels = ("text_a", "prediction", "score_prediction", "b")
    answer = [SimpleNamespace(label="b", scores=(0.25,) * 4)]
    found = predictions_text("csv", task_of(labels=labels), TEXTS[:1], answer, True)
    assert found.split("\r\n")[0] == (
        "text_a,prediction,score_text_a,score_score_prediction,score_prediction,b"
    )


def test_scores_and_tags_in_every_form():
    answer = [SimpleNamespace(label=-1.0 / 3, scores=())]
    text = [Record("a\tb\n", where="in:7")]
    assert predictions_text("tsv", SCORES, text, answer) == "prediction\n-0.333333\n"
    assert predictions_text("csv", SCORES, text, answer, True) == (
        'text_a,prediction\r\n"a\tb\n",-0.333333\r\n'
    )
    assert json.loads(predictions_text("jsonl", SCORES, text, answer, True)) == {
        "text_a": "a\tb\n",
        "prediction": -0.333333,
    }
    sentences = [TaggedSentence(("New York", "is")), TaggedSentence(("x",))]
    tagged = [
        SimpleNamespace(label=("B-X", "O"), scores=(0.5, 1.0)),
        SimpleNamespace(label=("O",), scores=(1.0,)),
    ]
    broken = [TaggedSentence(("a\tb\r\n\nc", "\t"))]
    assert predictions_text("conll", TAGS, broken, tagged[:1]) == "a b c\tB-X\n \tO\n"
    for with_input in (False, True):
        columns = predictions_text("conll", TAGS, sentences, tagged, with_input)
        assert columns == "New York\tB-X\nis\tO\n\nx\tO\n"
        scored = predictions_text("conll", TAGS, sentences, tagged, with_input, with_scores=True)
        assert scored == "New York\tB-X\t0.5000\nis\tO\t1.0000\n\nx\tO\t1.0000\n"
        lines = predictions_text("jsonl", TAGS, sentences, tagged, with_input).splitlines()
        assert json.loads(lines[0]) == {
            "words": ["New York", "is"],
            "tags": ["B-X", "O"],
            "scores": [0.5, 1.0],
        }


def test_the_suffix_says_the_form():
    for name, form in {"a.tsv": "tsv", "a": "tsv", "-": "tsv", "a.txt": "tsv", "a.CSV": "csv",
                       "b/a.jsonl": "jsonl", "/dev/stdout": "tsv"}.items():  # fmt: skip
        assert form_of(name, PAIR) == form
    assert [form_of(name, TAGS) for name in ("a.tsv", "-", "a.jsonl")] == [
        "conll",
        "conll",
        "jsonl",
    ]
    with pytest.raises(ConfigError, match=r"a\.csv: expected \.jsonl for tagging.*got \.csv"):
        form_of("a.csv", TAGS)


def test_a_text_that_tsv_cannot_hold():
    for text in ["a\tb", "a\nb", "a\r"]:
        for record in (Record(text, "b", where="in:7"), Record("b", text, where="in:7")):
            with pytest.raises(
                DataError, match=r"in:7: expected a text on one line.*\.jsonl or \.csv"
            ):
                check_texts("tsv", PAIR, [Record("a", "b"), record], True)
            for form in ("csv", "jsonl"):
                check_texts(form, PAIR, [record], True)


def test_sets_of_labels_in_every_form():
    texts = [Record("x"), Record("y")]
    answers = [
        SimpleNamespace(label=("a", "b"), scores=(0.75, 0.5)),
        SimpleNamespace(label=(), scores=(0.25, 0.0)),
    ]
    assert predictions_text("tsv", SETS, texts, answers) == (
        "prediction\ta\tb\na|b\t0.750000\t0.500000\n\t0.250000\t0.000000\n"
    )
    assert predictions_text("csv", SETS, texts, answers) == (
        "prediction,a,b\r\na|b,0.750000,0.500000\r\n,0.250000,0.000000\r\n"
    )
    assert predictions_text("jsonl", SETS, texts, answers) == (
        '{"prediction": ["a", "b"], "scores": {"a": 0.75, "b": 0.5}}\n'
        '{"prediction": [], "scores": {"a": 0.25, "b": 0.0}}\n'
    )


def test_answers_in_every_form():
    answers = [
        (FoundAnswer("a\tb\r\n c", 0.5, 3, 9), FoundAnswer("", 0.25, -1, -1)),
        (FoundAnswer("", 1.0, -1, -1),),
    ]
    said = [SimpleNamespace(label=a[0].text, scores=(a[0].score,), answers=a) for a in answers]
    assert predictions_text("tsv", QUESTIONS, TEXTS, said) == (
        "prediction\tscore\tstart\tend\na b  c\t0.500000\t3\t9\n\t1.000000\t-1\t-1\n"
    )
    first, second = map(
        json.loads, predictions_text("jsonl", QUESTIONS, TEXTS, said, True).split("\n")[:2]
    )
    assert first == {
        "text_a": TEXTS[0].text_a,
        "text_b": TEXTS[0].text_b,
        "prediction": "a\tb\r\n c",
        "score": 0.5,
        "start": 3,
        "end": 9,
        "answers": [
            {"text": "a\tb\r\n c", "score": 0.5, "start": 3, "end": 9},
            {"text": "", "score": 0.25, "start": -1, "end": -1},
        ],
    }
    assert (second["prediction"], second["start"]) == ("", -1)


def test_the_users_columns_keep_their_names():
    task = task_of(labels=("no", "yes"))
    fields = {"row_id": 7, "review": "a\tb", "no": None}
    records = [Record("a\tb", fields=fields, where="in:1"), Record("", fields={"row_id": 8})]
    answers = [SimpleNamespace(label="yes", scores=(0.25, 0.75)), None]
    assert predictions_text("tsv", task, records, answers) == (
        "row_id\tprediction\tno\tyes\n7\tyes\t0.250000\t0.750000\n8\t\t\t\n"
    )
    check_texts("tsv", task, records, False)
    with pytest.raises(DataError, match="in:1: .* .--format csv for standard output"):
        check_texts("tsv", task, records, True)
    assert predictions_text("csv", task, records[:1], answers[:1], True) == (
        "row_id,review,no,prediction,predicted_no,yes\r\n7,a\tb,,yes,0.250000,0.750000\r\n"
    )
    first, second = predictions_text("jsonl", task, records, answers).splitlines()
    assert json.loads(first)["row_id"] == 7
    assert json.loads(second) == {"row_id": 8, "prediction": None}
