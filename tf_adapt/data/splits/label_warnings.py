"""What is suspicious about the labels of a run's data, as sentences. Imports no TensorFlow."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tf_adapt.data.splits.equal_texts import equal_texts
from tf_adapt.printing.words import counted, listed, shortened, visible

MOST_SHOWN = 20
MOST_WARNINGS = 5  # where they are not what was asked for
LONGEST_TEXT = 60


def label_warnings(labels: list[str] | None, examples: Mapping[str, Sequence]) -> list[str]:
    """Labels that are rare, missing or differ in case alone, and equal texts with different labels.
    None for a task without labels.

    Args:
        examples: by split.
    """
    if labels is None:
        return []
    counts = {
        split: Counter(label for example in some for label in example.labels)
        for split, some in examples.items()
    }
    return [
        *_rare(counts["train"]),
        *_missing(labels, counts),
        *_case_variants(labels),
        *_contradictions(examples),
    ]


def _rare(train: Counter) -> Iterator[str]:
    once = sorted(label for label, count in train.items() if count == 1)
    if once:
        yield f"once in train: {_names(once)}; nothing can be learnt from one example"


def _missing(labels: list[str], counts: dict[str, Counter]) -> Iterator[str]:
    for split, of_split in counts.items():
        absent = [label for label in labels if not of_split[label]]
        if absent:
            yield f"not in {split}: {_names(absent)}"


def _case_variants(labels: list[str]) -> Iterator[str]:
    spellings = defaultdict(list)
    for label in labels:
        spellings[" ".join(label.split()).casefold()].append(label)
    for variants in spellings.values():
        if len(variants) > 1:
            yield f"labels that differ in case or space alone: {_names(variants)}; are they one?"


def _contradictions(examples: Mapping[str, Sequence]) -> Iterator[str]:
    """Equal texts with different labels, in all splits together."""
    equal = ([example for _, example in some] for some in equal_texts(examples))
    disputed = [some for some in equal if len({one.target for one in some}) > 1]
    for some in disputed[:MOST_SHOWN]:
        text = shortened(" | ".join(_parts(some[0])), LONGEST_TEXT)
        said = "; ".join(f"{visible(one.target)} ({one.where})" for one in some[:4])
        yield f"one text, several labels: {visible(repr(text))}: {said}"
    if len(disputed) > MOST_SHOWN:
        yield f"{counted(len(disputed) - MOST_SHOWN, 'more text')} with several labels"


def _parts(example) -> list[str]:
    """The texts of an example; the words of a sentence as one."""
    words = getattr(example, "words", None)
    return [" ".join(words)] if words else [part for part in example.texts if part]


def _names(labels: list[str]) -> str:
    shown = [visible(repr(label)) for label in labels[:MOST_SHOWN]]
    more = len(labels) - len(shown)
    return listed([*shown, f"{more} more"] if more else shown)
