import json
from types import SimpleNamespace

import pytest

from tf_adapt.data.formats.dialogues import read_dialogue_lines, read_dialogue_objects
from tf_adapt.data.kinds import KINDS
from tf_adapt.errors import DataError

LINES = """1 your persona: i keep bees .
2 partner's persona: i sing .
3 your persona: i am old .
4 hello\thi , i keep bees
5 how old ?\tvery\t\tno|very|not yet
1 your persona: i am a cook .
2 good day\tgood day to you
"""
BEES = ("i keep bees .", "i am old .")


def written(tmp_path, text: str, name: str = "dialogues.txt"):
    (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / name


def test_lines_of_convai2(tmp_path):
    first, second, third = read_dialogue_lines(written(tmp_path, LINES))
    assert (first.persona, first.history, first.reply) == (BEES, ("hello",), "hi , i keep bees")
    assert second.history == ("hello", "hi , i keep bees", "how old ?")
    assert (second.reply, second.others) == ("very", ("no", "not yet"))
    assert (third.document, third.persona) == (2, ("i am a cook .",))
    assert second.where.endswith("dialogues.txt:5")


def test_a_turn_without_a_reply_is_to_be_predicted(tmp_path):
    path = written(tmp_path, "1 your persona: i sing .\n2 hello\n")
    (only,) = read_dialogue_lines(path, labelled=False)
    assert only.reply is None and only.history == ("hello",)
    with pytest.raises(DataError, match=r":2: expected a tab .* got 0 tabs"):
        read_dialogue_lines(path)


def test_replies_as_texts_to_write(tmp_path):
    """Sources are the persona and what was said; the parts of a dialogue stay together."""
    data = SimpleNamespace(format="convai2", memory_mb=100)
    read = KINDS["text_generation"].read
    first, second, third = read(written(tmp_path, LINES), data, True)
    assert first.text_a.split("\n") == [*BEES, "hello"] and first.label == "hi , i keep bees"
    assert second.text_a.split("\n") == [*BEES, "how old ?", "hi , i keep bees", "hello"]
    assert first.group == second.group != third.group
    assert [one.label for one in read(written(tmp_path, LINES), data, False)] == [None] * 3
    turns = "".join(f"{n} said {n}\tanswer {n}\n" for n in range(2, 7))
    *_, last = read(written(tmp_path, "1 your persona: i sing .\n" + turns), data, True)
    said = ["said 6", "answer 5", "said 5", "answer 4", "said 4"]
    assert last.text_a.split("\n") == ["i sing .", *said]


def test_the_three_formats_say_the_same(tmp_path):
    turns = ["hello", "hi , i keep bees", "how old ?", "very"]
    objects = json.dumps({"persona": BEES, "turns": turns}) + "\n"
    utterances = [
        {"history": turns[:1], "candidates": [turns[1]]},
        {"history": turns[:3], "candidates": ["no", "not yet", turns[3]]},
    ]
    dialogue = {"personality": BEES, "utterances": utterances}
    expected = [one.content for one in read_dialogue_lines(written(tmp_path, LINES))][:2]
    for text in (objects, json.dumps([dialogue]), json.dumps({"valid": [dialogue]})):
        found = read_dialogue_objects(written(tmp_path, text, "dialogues.jsonl"))
        assert [one.content[:4] for one in found] == [one[:4] for one in expected]
    assert found[1].others == ("no", "not yet")


def test_all_of_convai2_valid(shared):
    folder = shared / "data" / "personachat"
    exchanges = read_dialogue_lines(folder / "valid_self_original_no_cands.txt")
    assert len(exchanges) == 7801
    assert exchanges[-1].document == 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\thi\n", "1: expected a number, a blank and a text"),
        ("1 hello\thi\n", "1: expected a persona of at least one sentence before the first turn"),
        ("1 your persona:  \n", "1: expected a text in column 'persona', got an empty one"),
        ("1 your persona: a\n3 hello\thi\n", "2: expected the number 2, or 1 for a new dialogue"),
        ("1 your persona: a\n2 hello\t\n", "2: expected a text in column 'reply'"),
        ("1 your persona: a\n", "no examples|at least one"),
    ],
)
def test_lines_that_are_none(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_dialogue_lines(written(tmp_path, text))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"persona": [], "turns": ["a", "b"]}, "expected a persona of at least one sentence"),
        ({"persona": ["a"], "turns": ["b"]}, "expected an even number of turns"),
        ({"persona": "a", "turns": ["b", "c"]}, "expected a list of texts 'persona', got 'a'"),
        ({"train": [{}], "valid": [{}]}, "got the parts train, valid; write each to a file"),
        ({"personality": ["a"], "utterances": [{"history": ["b"]}]}, "utterance 1: expected cand"),
    ],
)
def test_objects_that_are_none(tmp_path, value, message):
    with pytest.raises(DataError, match=message):
        read_dialogue_objects(written(tmp_path, json.dumps(value) + "\n", "d.jsonl"))
