"""What a reader is told first, of every kind of comparison."""

import re

import pytest
from headline_cases import CASES, TEXTS, told


@pytest.mark.parametrize("name", CASES)
def test_v4_what_to_do_how_sure_and_on_how_much(name):
    case, (decided, step, recommended) = CASES[name]
    found = case()
    assert (found.decided, found.next_step, found.recommended) == (decided, step, recommended)
    sentence = found.sentence
    assert sentence.startswith(("Use ", "Nothing to judge"))
    assert ("Decided: " in sentence) == decided
    if decided:
        assert "for now" not in sentence and "not decided" not in sentence.lower()
    if recommended is None:
        return
    # On how much: the number of scored examples; below 50 it says "only".
    (count,) = set(re.findall(r"on (?:only )?([\d,]+) examples?", sentence)) or {"500"}
    assert ("on only " in sentence) == (int(count.replace(",", "")) < 50)
    assert 2 <= len(found.first) <= 6
    assert found.first[0] == found.evidence["What to do next"][0]
    assert any(line.startswith("Items of the tests: ") for line in found.first)


def test_the_words_are_those_that_were_read():
    """`python tests/helpers/headline_cases.py` writes them again; read each as a new user would."""
    assert told() == TEXTS.read_text("utf-8")
