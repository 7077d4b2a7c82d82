"""Tokens of light exports against those of the operations in the graph."""

import random
from pathlib import Path

import pytest
import tensorflow as tf
from hard_texts import HARD_TEXTS

import tf_adapt as ta
from tf_adapt.data.packing.answer_words import answer_words
from tf_adapt.light.characters import WordsWithPlaces
from tf_adapt.light.readers import READERS
from tf_adapt.serving.light_exports.readers import ReaderFiles, reader_of

MODERN_BERT = str(Path(__file__).parents[1] / "parity/recorded/huggingface_modern_bert/model")
# Tokens that its vocabulary was given, between, at and within words.
ADDED = [
    "a[unused0]b [unused0]  c    |||émail||| x|||e\u0301mail|||",
    "<|Ünique|><|U\u0308nique|> [unused0]",
    "a" * 200 + "[unused0]" + "b" * 300 + "   [MASK]",
]
pytest.importorskip("tokenizers", reason="the extra [light] is not installed")


def texts() -> list[str]:
    """Hard ones, and characters of all planes between letters and blanks."""
    draw = random.Random(3)
    planes = [(0x1, 0x3000), (0x3000, 0xD800), (0xE000, 0x20000), (0x20000, 0x110000)]
    made = []
    for _ in range(1000):
        characters = [chr(draw.randrange(*draw.choice(planes))) for _ in range(12)]
        made.append("".join(draw.choice((one, one, draw.choice("ab th "))) for one in characters))
    return HARD_TEXTS + ADDED + made


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """An encoder → its reader, and the folder with the reader's files."""

    def written_of(encoder):
        files = ReaderFiles()
        settings, _ = reader_of(encoder, files), files.answer_words()
        folder = tmp_path_factory.mktemp("reader")
        (folder / "tokenizers").mkdir()
        for path, content in files.content.items():
            (folder / path).write_text(content, "utf-8")
        return READERS[settings.kind](settings, folder), folder

    return written_of


@pytest.mark.slow
@pytest.mark.parametrize("module", ["bert_small", "tiny_causal", "tiny_elmo", MODERN_BERT])
def test_tokens_of_texts_and_of_words(module, written, request):
    handle = str(request.getfixturevalue(module)) if module.startswith("tiny") else module
    encoder = ta.HubEncoder(handle, trainable=False)
    reader, _ = written(encoder)
    preprocessor = encoder.preprocessor
    expected = preprocessor.tokenize(tf.constant(texts())).to_list()
    assert [list(ids) for ids in reader.texts(texts())] == expected
    sentences = [text.split(" ") for text in texts()]
    expected = preprocessor.tokenize_words(tf.ragged.constant(sentences)).to_list()
    assert [list(map(list, reader.words(words))) for words in sentences] == expected


def test_words_of_answers(written):
    _, folder = written(ta.HubEncoder("bert_small", trainable=False))
    split = WordsWithPlaces(folder / "tokenizers" / "answers.json")
    words, first, end = (column.to_list() for column in answer_words(tf.constant(texts())))
    expected = [
        [(word.decode(), *place) for word, *place in zip(*columns, strict=True)]
        for columns in zip(words, first, end, strict=True)
    ]
    assert list(map(split, texts())) == expected
