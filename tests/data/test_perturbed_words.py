"""Dropped and swapped words, and paraphrases from a file."""

import numpy as np
import pytest

from tf_adapt.data.formats import Record
from tf_adapt.data.perturbed_words import paraphrased, perturbed_words
from tf_adapt.errors import DataError


class Draws:
    """Random numbers that are known beforehand."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def random(self, count):
        assert count == len(self.numbers)
        return np.array(self.numbers)


def test_words_by_pencil():
    # Below 0.1 a word is dropped, below 0.2 swapped with the next word that is left.
    text = " a man   sings loudly\there "
    assert perturbed_words(text, 0.2, Draws(0.2, 0.3, 0.9, 0.2, 0.5)) == "a man sings loudly here"
    assert perturbed_words(text, 0.2, Draws(0.05, 0.3, 0.9, 0.2, 0.5)) == "man sings loudly here"
    assert perturbed_words(text, 0.2, Draws(0.15, 0.3, 0.9, 0.2, 0.5)) == "man a sings loudly here"
    assert perturbed_words(text, 0.2, Draws(0.15, 0.0, 0.9, 0.2, 0.1)) == "sings a loudly here"
    assert perturbed_words(text, 0.2, Draws(0.0, 0.0, 0.0, 0.0, 0.0)) == "a"


def test_the_share_of_dropped_words():
    words = " ".join(str(number) for number in range(20_000))
    found = perturbed_words(words, 0.3, np.random.default_rng(0)).split()
    assert len(found) / 20_000 == pytest.approx(0.85, abs=0.01)
    assert len(set(found)) == len(found)


def test_paraphrases(tmp_path):
    path = tmp_path / "paraphrases.tsv"
    path.write_text('text\tparaphrase\na man sings\tsomeone sings\nwho "is" it\twho\n', "utf-8")
    records = [Record("a man sings", "he is"), Record("x", 'who "is" it'), Record("a man sings")]
    found = [(one.text_a, one.text_b) for one in paraphrased(records, path)]
    assert found == [("someone sings", "he is"), ("x", "who"), ("someone sings", None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text\tother\na\tb\n", "'paraphrase'"),
        ("text\tparaphrase\na\tb\na\tc\n", r"p.tsv:3: expected one paraphrase .* got another"),
        ("text\tparaphrase\na\tb\n", "p.tsv: expected a paraphrase for each .* none for u.tsv:9"),
        ("text\tparaphrase\na\t\n", "p.tsv:2: .*got an empty one"),
    ],
)
def test_what_is_no_file_of_paraphrases(tmp_path, content, message):
    path = tmp_path / "p.tsv"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        paraphrased([Record("a", where="u.tsv:8"), Record("d", where="u.tsv:9")], path)
