"""Files of word vectors: what is read, and each fault with its line."""

import hashlib

import numpy as np
import pytest

from hub_modules.errors import ArtifactError
from hub_modules.sources import glove
from hub_modules.sources.glove import read_word_vectors

GLOVE = "the 0.5 -1.25 3e-2\ncat 1 2 3\n. . . 0.25 0.5 0.75\nnaïve -1 0 1\n"


@pytest.fixture
def write(tmp_path):
    def written(content):
        path = tmp_path / "vectors.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return written


def test_words_and_numbers_are_those_of_the_file(write):
    found = read_word_vectors(write(GLOVE))
    assert found.words == ["the", "cat", ". . .", "naïve"]
    numbers = [[0.5, -1.25, 0.03], [1, 2, 3], [0.25, 0.5, 0.75], [-1, 0, 1]]
    np.testing.assert_array_equal(found.vectors[1:], np.array(numbers, "float32"))
    np.testing.assert_allclose(found.vectors[0], np.mean(numbers, axis=0), rtol=1e-6)
    assert found.vectors.dtype == np.float32
    assert found.lower_case
    assert found.sha256 == hashlib.sha256(GLOVE.encode()).hexdigest()


def test_word2vecs_first_line_and_its_blanks_are_read(write):
    for content in ["3 2\na 1 2\nb 3 4\nc 5 6\n", "3 2\r\na 1 2 \r\nb 3 4 \r\nc 5 6"]:
        found = read_word_vectors(write(content))
        assert found.words == ["a", "b", "c"]
        np.testing.assert_array_equal(found.vectors[1:], [[1, 2], [3, 4], [5, 6]])


def test_the_files_own_vector_of_unknown_words_is_taken(write):
    found = read_word_vectors(write("a 1 2\nb 3 4\n<unk> 9 8\n"))
    np.testing.assert_array_equal(found.vectors, [[9, 8], [1, 2], [3, 4], [9, 8]])


def test_one_upper_case_letter_makes_it_a_file_with_case(write):
    assert not read_word_vectors(write("a 1\nParis 2\n")).lower_case
    assert not read_word_vectors(write("a 1\nÉté 2\n")).lower_case


def test_a_fault_is_named_with_its_line(write):
    for content, message in [
        ("a 1 2\nb 1\n", r":2: expected a word and 2 numbers, as in line 1, got 'b' and 1"),
        ("a 1 2\nb 1 2 3\n", r":2: expected a word and 2 numbers, as in line 1, got 'b' and 3"),
        ("2 2\na 1 2\nb 1\n", r":3: expected a word and 2 numbers, as in line 2, got 'b' and 1"),
        ("a 1 2\n\nb 3 4\n", r":2: .*got an empty line and 0"),
        ("a 1 2\n 3 4\n", r":2: expected a word and 2 numbers"),
        ("a 1 2\nb 1 x\n", r":2: expected a finite number as value 2 of 'b', got 'x'"),
        ("a 1 2\nb nan 2\n", r":2: expected a finite number as value 1 of 'b', got 'nan'"),
        ("a 1 2\nb 1e99 2\n", r":2: expected a finite number as value 1 of 'b', got '1e99'"),
        ("a 1 2\nb 1_0 2\n", r":2: expected a finite number as value 1 of 'b', got '1_0'"),
        ("a 1 2\nb 1 ٣\n", r":2: expected a finite number as value 2 of 'b', got '٣'"),
        ("a 1 2\nb\0 1 2\n", r":2: expected a word and its numbers, got NUL"),
        ("a 1 2\nb\t1\t2\n", r":2: expected a word and 2 numbers"),
        ("a one 2\n", r":1: expected a finite number as value 1 of 'a', got 'one'"),
        ("a 1 2\nb 3 4\na 1 2\n", r":3: the word 'a' is already on line 1"),
        ("a 1 2\na 1 2\n", r":2: the word 'a' is already on line 1"),
        ("3 2\na 1 2\nb 3 4\na 1 2\n", r":4: the word 'a' is already on line 2"),
        (b"a 1 2\nb\xff 3 4\n", r":2: expected UTF-8, got the byte 0xff"),
        ("", r"expected word vectors, .*got none"),
        ("3 2\na 1 2\n", r":1: expected 3 words, as this line says, got 1; the file is incomplete"),
        ("1 3\na 1 2\n", r":1: expected the width of the vectors, 2 as in line 2, got 3"),
        ("a", r":1: expected a word and 1 numbers"),
    ]:
        with pytest.raises(ArtifactError, match=message):
            read_word_vectors(write(content))


def test_sizes_are_bounded(write, monkeypatch):
    path = write("a 1 2\n")
    monkeypatch.setattr(glove, "_LONGEST_LINE", 4)
    with pytest.raises(ArtifactError, match=":1: .*a line of more than 4 bytes"):
        read_word_vectors(path)
    monkeypatch.setattr(glove, "LARGEST_BYTES", 5)
    with pytest.raises(ArtifactError, match="at most 5 bytes of word vectors, got 6"):
        read_word_vectors(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ArtifactError, match="absent.txt: cannot be read"):
        read_word_vectors(tmp_path / "absent.txt")
