"""SQuAD's JSON: what is read, and what is refused where."""

import json

import pytest

from tf_adapt.data.formats import Answers, read_squad
from tf_adapt.data.formats.squad import read_questions_to_ask
from tf_adapt.errors import DataError

CONTEXT = "Zoë 😀 moved to Paris in 1990."


def question(name="q1", text="Where?", answers=((("Paris"), 15),), **more) -> dict:
    given = [{"text": one, "answer_start": start} for one, start in answers]
    return {"id": name, "question": text, "answers": given, **more}


def content(*questions, context=CONTEXT) -> dict:
    return {"data": [{"title": "t", "paragraphs": [{"context": context, "qas": list(questions)}]}]}


def written(folder, value) -> str:
    path = folder / "dev-v2.0.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return str(path)


def test_questions_with_their_contexts_and_answers(tmp_path):
    two = question("q2", "When?", [("1990", 24), ("in 1990", 21)])
    none = question("q3", "Why?", [], is_impossible=True)
    path = written(tmp_path, content(question(), two, none))
    first, second, third = read_squad(path)
    assert (first.text_a, first.text_b, first.where) == ("Where?", CONTEXT, f"{path}: question q1")
    assert first.label == Answers(("Paris",), (15,))
    assert second.label == Answers(("1990", "in 1990"), (24, 21))
    assert third.label == Answers()
    assert [one.label for one in read_squad(path, labelled=False)] == [None] * 3


SENTENCES = [
    "In 1990 Zoë (b. in Oslo) moved to St. Gallen for 3.5 years.",
    'She asked: "Why not?"',
    "Nobody answered",
    "42 of them were out.",
]


@pytest.mark.parametrize(
    "answer, expected",
    [
        ("3.5 years", SENTENCES[0].partition("St. ")[2]),
        ("In 1990", SENTENCES[0].partition(" Gallen")[0]),
        ("St. Gallen", SENTENCES[0]),
        ("Why", SENTENCES[1]),
        ("Nobody", SENTENCES[2]),
        ("out.", SENTENCES[3]),
        ('not?" Nobody', " ".join(SENTENCES[1:3])),
    ],
)
def test_a_question_to_ask_has_the_sentences_of_its_answer(tmp_path, answer, expected):
    """A dot before a capital letter ends a sentence, in a name too; the answer is always whole."""
    context = "{} {} {}\n{}".format(*SENTENCES)
    one = question(text=" Where? ", answers=[(answer, context.index(answer))])
    record = read_questions_to_ask(written(tmp_path, content(one, context=context)))[0]
    assert (record.text_a, record.label) == (f"{answer}\n{expected}", "Where?")
    assert (record.text_b, record.group) == (None, context)


def test_version_1_has_no_key_for_no_answer(tmp_path):
    del (one := question())["answers"]
    path = written(tmp_path, content(one))
    with pytest.raises(DataError, match="q1: expected answers, or else is_impossible: true"):
        read_squad(path)
    assert read_squad(path, labelled=False)[0].text_a == "Where?"


WRONG_ANSWERS = {
    "elsewhere": ([("Paris", 3)], "it begins at character 15: correct answer_start"),
    "bytes": ([("Paris", 19)], r"the offset counts bytes: in characters it is 15"),
    "UTF-16": ([("Paris", 16)], r"the offset counts UTF-16 units: in characters it is 15"),
    "nowhere": ([("London", 15)], "the answer is nowhere in the context"),
    "beyond": ([("Paris", 99)], "at character 99 of its context, got ''"),
    "negative": ([("1990.", -5)], "at character -5 of its context"),
    "second": ([("Paris", 15), ("1990", 25)], "expected the answer '1990' at character 25"),
    "blank": ([(" ", 3)], "expected an answer with a character to show, got ' '"),
    "impossible": ([], "got 0 answers and is_impossible: false"),
}


@pytest.mark.parametrize("case", WRONG_ANSWERS)
def test_an_answer_that_is_not_in_its_context(tmp_path, case):
    answers, message = WRONG_ANSWERS[case]
    path = written(tmp_path, content(question(answers=answers)))
    with pytest.raises(DataError, match=message) as caught:
        read_squad(path)
    assert str(caught.value).startswith(f"{path}: question q1: expected")


def test_an_answer_to_a_question_without_one(tmp_path):
    path = written(tmp_path, content(question(is_impossible=True)))
    with pytest.raises(DataError, match="got 1 answers and is_impossible: true; correct one"):
        read_squad(path)


WRONG_FILES = {
    "list": ([], r'expected \{"data": \[…\]\}, got a list'),
    "no data": ({}, r": data: expected the key 'data' of SQuAD's format, but it is missing"),
    "other data": ({"data": 3}, "data: data: expected a list, got a whole number 3"),
    "article": ({"data": ["x"]}, r'data\[0\]: expected an object, got a text "x"'),
    "paragraphs": ({"data": [{}]}, r"data\[0\].paragraphs: expected the key 'paragraphs'"),
    "context": (
        {"data": [{"paragraphs": [{"qas": []}]}]},
        r"data\[0\].paragraphs\[0\]: expected the key 'context'",
    ),
    "no id": (
        {"data": [{"paragraphs": [{"context": "c", "qas": [{"question": "q"}]}]}]},
        r"data\[0\].paragraphs\[0\].qas\[0\]: expected the key 'id'",
    ),
    "none": ({"data": []}, "no examples in this file"),
    "cut": ('{"data": [\n{"title": ', r"json:2: expected JSON, got something else at column"),
    "key twice": (
        json.dumps(content(question())).replace('"id": "q1"', '"id": "q1", "id": "q2"'),
        'expected JSON, got something else .a key that is written twice: "id"',
    ),
    "deep": ("[" * 100_000, "expected JSON, got something else"),
    "same id": (
        content(question(), question()),
        r"q1: expected an id of its own at data\[0\].paragraphs\[0\].qas\[1\], got that of",
    ),
    "empty question": (content(question(text=" ")), "q1: expected a text in column 'question'"),
    "empty context": (
        content(question(answers=[], is_impossible=True), context="\n"),
        "q1: expected a text in column 'context', got an empty one",
    ),
    "NUL": (content(question(text="a\0")), "q1: expected text in column 'question', got a NUL"),
    "answer": (content(question() | {"answers": ["x"]}), r"answers\[0\]: expected an object"),
    "offset": (
        content(question() | {"answers": [{"text": "Paris", "answer_start": True}]}),
        "answer_start: expected a whole number, got a truth true",
    ),
    "text": (content(question(text=5)), "question: expected a text, got a whole number 5"),
}


@pytest.mark.parametrize("case", WRONG_FILES)
def test_other_content(tmp_path, case):
    value, message = WRONG_FILES[case]
    path = written(tmp_path, value)
    with pytest.raises(DataError, match=message) as caught:
        read_squad(path)
    assert str(caught.value).startswith(("no examples in", path))


def test_published_files(shared):
    train = read_squad(shared / "data" / "squad" / "train-v1.1.part.json")
    dev = read_squad(shared / "data" / "squad" / "dev-v1.1.json")
    assert (len(train), len(dev)) == (11_877, 10_570)
    assert len({one.text_b for one in dev}) == 2_067
    assert {len(one.label.texts) for one in train} == {1}
