import pytest

from tf_adapt.data.formats import TaggedSentence, read_conll, read_conll2003
from tf_adapt.data.formats.conll import last_column
from tf_adapt.errors import DataError


def _write(folder, text: str):
    path = folder / "file.txt"
    path.write_bytes(text.encode())
    return path


def test_sentences_documents_and_places(tmp_path):
    path = _write(
        tmp_path,
        "-DOCSTART- O\n\nEU B-ORG\nsays O\n\n\n\nyes O\n-DOCSTART-\n-DOCSTART- O\nParis B-LOC\n",
    )
    assert read_conll(path) == [
        TaggedSentence(("EU", "says"), ("B-ORG", "O"), f"{path}:3", 0),
        TaggedSentence(("yes",), ("O",), f"{path}:8", 0),
        TaggedSentence(("Paris",), ("B-LOC",), f"{path}:11", 1),
    ]


def test_first_document_needs_no_start_line(tmp_path):
    path = _write(tmp_path, "a O\n\n-DOCSTART- O\n\nb O\n")
    assert [sentence.document for sentence in read_conll(path)] == [0, 1]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("a O\nb B-X\n", {}),
        ("a\tO\nb\tB-X\n", {}),
        ("a N O\nb N B-X\n", {"tags": 2}),
        ("O a\nB-X b\n", {"words": 1, "tags": 0}),
        ("a O\nb B-X\n \t\n", {"num_columns": 2}),
    ],
)
def test_columns(tmp_path, text, arguments):
    (sentence,) = read_conll(_write(tmp_path, text), **arguments)
    assert sentence.words == ("a", "b")
    assert sentence.tags == ("O", "B-X")


def test_a_tab_file_keeps_blanks_in_words(tmp_path):
    (sentence,) = read_conll(_write(tmp_path, "New York\tB-LOC\n.\tO\n"))
    assert sentence.words == ("New York", ".")


@pytest.mark.parametrize(
    ("text", "words", "documents"),
    [
        ("# text = a b\na O\nb O\n", "ab", [0]),
        ("# id 1\n# a b c\n#\na\tO\n\n# id 2\nb\tO\n", "ab", [0, 0]),
        ("# O\na O\n# O\n", "#a#", [0]),
        ("#\tO\n# a\n", None, None),
        ("# O\n\n# O\n", "##", [0, 0]),
        ("#begin document (a); part 0\na O\n#end document\n", "a", [0]),
        ("a O\n\n#end document\n#begin document (b); part 1\n\nb O\n", "ab", [0, 1]),
        ("# newdoc id = 1\na\tO\n\n# newdoc\n# sent_id = 2\nb\tO\n", "ab", [0, 1]),
    ],
)
def test_comments(tmp_path, text, words, documents):
    path = _write(tmp_path, text)
    if words is None:  # in the middle of a sentence
        with pytest.raises(DataError, match="txt:2: expected 2 columns, got 1"):
            read_conll(path)
        return
    sentences = read_conll(path)
    assert "".join(word for one in sentences for word in one.words) == words
    assert [one.document for one in sentences] == documents
    assert last_column(path) == 1


@pytest.mark.parametrize("text", ["a\nb\n\nc\n", "a X\nb X\n\nc X\n"])
def test_words_alone_can_be_read_without_labels(tmp_path, text):
    sentences = read_conll(_write(tmp_path, text), labelled=False)
    assert [sentence.words for sentence in sentences] == [("a", "b"), ("c",)]
    assert [sentence.tags for sentence in sentences] == [None, None]


def test_conll2003_without_labels_has_one_column_or_four(tmp_path):
    for text in ("a\nb\n", "a N I-NP O\nb N I-NP O\n"):
        (sentence,) = read_conll2003(_write(tmp_path, text), labelled=False)
        assert sentence.words == ("a", "b")
        assert sentence.tags is None
    with pytest.raises(DataError, match=":1: expected 4 columns, got 2"):
        read_conll2003(_write(tmp_path, "a O\nb O\n"), labelled=False)


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a O\nb\n", {}, r"txt:2: expected 2 columns, got 1; columns are separated by one space"),
        ("a O\nb O O\n", {}, r"txt:2: expected 2 columns, got 3"),
        ("a O O\nb O\nc O\n", {}, r"txt:1: expected 2 columns, got 3; .* one space"),
        ("a\tO\nb O\nc O\n", {}, r"txt:1: expected 2 columns, got 1; .* one space"),
        ("a O\nb\tO\nc\tO\n", {}, r"txt:1: expected 2 columns, got 1; .* one tab"),
        ("a\nb O\nc O\n", {}, r"txt:1: expected 2 columns, got 1"),
        ("b O\n# c O\nd O\n", {}, r"txt:2: expected 2 columns, got 3"),
        ("b O\n\n#c\nd O\n", {}, r"txt:3: expected 2 columns, got 1"),
        ("# c\n# d e\n", {}, r"txt:2: expected 2 columns, got 3"),
        ("a  O\n", {"num_columns": 2}, r"txt:1: expected 2 columns, got 3"),
        ("a\tO\nb O\n", {}, r"txt:2: expected 2 columns, got 1; columns are separated by one tab"),
        ("a O\n O\n", {}, r"txt:2: expected a value in every column, got nothing in column 1"),
        ("a O\nb \n", {}, r"txt:2: expected a value in every column, got nothing in column 2"),
        ("a\nb\n", {}, r"txt:1: expected 2 columns, got 1"),
        ("a\tO\nb\tB-X \n", {}, r"txt:2: expected a label without white space .* got 'B-X '"),
        ("a O\n", {"num_columns": 4, "tags": 3}, r"txt:1: expected 4 columns, got 2"),
        ("", {}, "no examples in this file"),
        ("\n\n\n", {}, "no examples in this file"),
        ("-DOCSTART- O\n\n-DOCSTART- O\n", {}, "no examples in this file"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, arguments, message):
    with pytest.raises(DataError, match=message):
        read_conll(_write(tmp_path, text), **arguments)
