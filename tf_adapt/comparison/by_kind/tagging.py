"""Tagging: the baseline, the head to compare, and the lines of a first config."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from hub_modules.families import has_words
from tf_adapt.comparison.by_kind.classification import label_phrase, labels_of_train
from tf_adapt.comparison.plan.sections import EncoderEntry
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.tasks.tag_schemes import WORDS


def constant_tag(splits: Splits) -> str:
    """`O`; where tags are of single words rather than spans, the most frequent tag of train."""
    if splits.scheme != WORDS:
        return "O"
    return Counter(chain.from_iterable(labels_of_train(splits))).most_common(1)[0][0]


def for_each_word(tags: Sequence[str], tag: str) -> list[str]:
    """The tag for each word of a sentence, by its gold tags."""
    return [tag] * len(tags)


def tag_phrase(answer: str) -> str:
    """The phrase for a constant tag."""
    return "answering O to everything" if answer == "O" else label_phrase(answer)


def linear_tagger(encoder: EncoderEntry, family: str | None) -> list[str]:
    """The head that a frozen encoder has beside the default one; a sentence module has none."""
    return [] if not has_words(family) else ["linear_tagger"]


def column_lines(columns: list[str], unused: list[str]) -> list[str]:
    """Lines of a first config on the columns of a file of tagged words."""
    if columns:
        return ["  # guessed", "  columns:", *columns]
    return [
        "  # words in the first column, tags in the last; others: `columns: {words: 0, tags: 3}`"
    ]
