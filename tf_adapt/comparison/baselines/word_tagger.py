"""Logistic regression on features of words, each tagged by itself. Imports no TensorFlow."""

from collections.abc import Iterator, Sequence

from tf_adapt.comparison.baselines.bag_of_words import (
    Answers,
    Score,
    best_of,
    logistic_regression,
)
from tf_adapt.data.formats import TaggedSentence

AROUND = (-2, -1, 1, 2)
ENDS = (1, 2, 3, 4)


def tagger(train: Sequence[TaggedSentence], dev: Sequence[TaggedSentence], score: Score) -> Answers:
    """The tags of each sentence, from its words, their beginnings, ends and shapes, and the two
    neighbours on either side."""
    from sklearn.feature_extraction import DictVectorizer

    tags = [tag for sentence in train for tag in sentence.tags]
    if len(set(tags)) == 1:  # a part of train
        return lambda scored: [[tags[0]] * len(sentence.words) for sentence in scored]
    names = DictVectorizer().fit(_words(train))
    return best_of(
        logistic_regression,
        lambda sentences: names.transform(_words(sentences)),
        (train, tags),
        dev,
        score,
        lambda predicted, sentences: _sentences(predicted.tolist(), sentences),
    )


def _words(sentences: Sequence[TaggedSentence]) -> Iterator[dict[str, bool]]:
    for sentence in sentences:
        words = ["", "", *sentence.words, "", ""]
        for place, word in enumerate(sentence.words, start=2):
            around = {f"{step} {words[place + step].lower()}": True for step in AROUND}
            shapes = {f"shape {step} {_shape(words[place + step])}": True for step in (-1, 0, 1)}
            ends = {f"end {word[-size:].lower()}": True for size in ENDS}
            begins = {f"begin {word[:size].lower()}": True for size in ENDS}
            yield {f"word {word}": True, f"lower {word.lower()}": True} | (
                around | shapes | ends | begins
            )


def _shape(word: str) -> str:
    """`Xx` for `Peter`, `X` for `EU`, `d-d` for `12-3`: runs of one kind of character are one."""
    shape = ""
    for character in word:
        kind = character
        if character.isalpha():
            kind = "X" if character.isupper() else "x"
        elif character.isdigit():
            kind = "d"
        shape += "" if shape.endswith(kind) else kind
    return shape


def _sentences(tags: list[str], sentences: Sequence[TaggedSentence]) -> list[list[str]]:
    """The tags of all words, sentence by sentence."""
    of_words = iter(tags)
    return [[next(of_words) for _ in sentence.words] for sentence in sentences]
