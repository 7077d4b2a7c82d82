"""Words of a text and their offsets, against Python's."""

import re
import unicodedata

import tensorflow as tf

from tf_adapt.data.formats import read_squad
from tf_adapt.data.packing.answer_words import answer_words
from tf_adapt.encoder.hub_encoder import HubEncoder

TEXTS = [
    "In 1990, Zoë (b. 1970) moved: “yes”!",
    "😀 emoji 👩‍👩‍👧 and cafe\u0301.",
    "中文字 and 日本の",
    "no\u00a0break\u2003blank\u3000wide\ttab\r\nline",
    "$5.50–€6 ½ x²",
    "  ",
    "",
    "-",
]


def by_hand(text: str) -> list[tuple[int, int]]:
    """Where words begin and end, one character after the other."""

    def is_alone(one: str) -> bool:
        ascii_sign = one.isascii() and not one.isalnum() and one.isprintable() and one != " "
        chinese = re.match(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]", one)
        return ascii_sign or unicodedata.category(one).startswith("P") or chinese is not None

    def is_blank(one: str) -> bool:
        return one in " \t\n\r\f\v" or unicodedata.category(one).startswith("Z")

    found, begin = [], None
    for place, one in enumerate([*text, " "]):
        if begin is not None and (is_blank(one) or is_alone(one)):
            found.append((begin, place))
            begin = None
        if is_alone(one):
            found.append((place, place + 1))
        elif begin is None and not is_blank(one):
            begin = place
    return found


def places(texts: list[str]) -> list[list[tuple[int, int]]]:
    words, first, end = answer_words(tf.constant(texts))
    for text, some, starts, ends in zip(
        texts, *(x.to_list() for x in (words, first, end)), strict=True
    ):
        assert [text[a:b] for a, b in zip(starts, ends, strict=True)] == [w.decode() for w in some]
    pairs = zip(first.to_list(), end.to_list(), strict=True)
    return [list(zip(*pair, strict=True)) for pair in pairs]


def test_offsets_are_in_characters():
    assert places(TEXTS) == [by_hand(text) for text in TEXTS]
    for text in TEXTS:
        assert places([text]) == [by_hand(text)]


def test_pieces_of_real_contexts_are_those_of_the_whole_text(shared):
    records = read_squad(shared / "data" / "squad" / "dev-v1.1.json")[::50]
    texts = sorted({one.text_b for one in records} | {one.text_a for one in records})
    assert places(texts) == [by_hand(text) for text in texts]
    preprocessor = HubEncoder("bert_small").preprocessor
    words, *_ = answer_words(tf.constant(texts))
    pieces = preprocessor.tokenize_words(words).merge_dims(1, 2)
    assert pieces.to_list() == preprocessor.tokenize(tf.constant(texts)).to_list()
