"""A report on the data of a run: sizes, labels, lengths, repeated texts, truncated examples."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.kinds import KINDS
from tf_adapt.data.splits.equal_texts import equal_texts
from tf_adapt.data.splits.label_warnings import label_warnings
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import DataError


def check_data(splits: Splits, prepared: dict[str, Any] | None = None) -> dict[str, Any]:
    """The report as plain values: `warnings` about labels, a section for each split, texts that are
    repeated.

    `duplicates` are the distinct texts that are there more than once with one label,
    `contradictions` those with several.

    Args:
        splits: the examples.
        prepared: the tokenized examples of each split, for `token_lengths`; None leaves them out.
    """
    report: dict[str, Any] = {"dataset": splits.name, "kind": splits.kind}
    report["warnings"] = label_warnings(splits.labels, splits.examples)
    for split, examples in splits.examples.items():
        report[split] = {
            "what": splits.descriptions[split],
            "examples": len(examples),
            **KINDS[splits.kind].label_report(examples),
            "words": _lengths(np.fromiter(map(_words, examples), np.int64)),
            **({} if prepared is None else token_lengths(prepared[split])),
        }
    return report | _repeated(splits.examples)


def token_lengths(prepared: Any) -> dict[str, Any]:
    """Lengths of a split's examples in tokens, and the number of examples over the limit.

    Args:
        prepared: tokenized with truncation: `.uncut_lengths` in tokens (word pieces, or words for
            ELMo), and `.truncated`, the number of truncated examples.
    """
    return {
        "tokens": _lengths(prepared.uncut_lengths),
        "longer than the limit": int(prepared.truncated),
    }


def refuse_over_long(report: dict[str, Any], encoder: str = "the encoder") -> None:
    """Checks, as training does, that no example is longer than the limit.

    Raises:
        DataError: some are.
    """
    counts = {
        split: section["longer than the limit"]
        for split, section in report.items()
        if isinstance(section, dict) and section.get("longer than the limit")
    }
    if counts:
        splits = ", ".join(f"{count} in {split}" for split, count in counts.items())
        raise DataError(
            f"expected examples within {encoder}'s limit or training.max_length, got longer "
            f"ones: {splits}; shorten them, or set training.truncate: true"
        )


def _words(example: Record | TaggedSentence) -> int:
    return sum(map(len, example.words_of_texts(str.split)))


def _lengths(lengths: Sequence[int] | np.ndarray) -> dict[str, float]:
    lengths = np.asarray(lengths)
    return {
        "mean": round(float(lengths.mean()), 1),
        "median": float(np.median(lengths)),
        "99 %": round(float(np.percentile(lengths, 99)), 1),
        "longest": int(lengths.max()),
    }


def _repeated(examples: dict[str, Sequence]) -> dict[str, dict[str, int]]:
    """Numbers of distinct texts that are more than once in a split, or in two splits."""
    places = {f"within {split}": (split,) for split in examples} | {
        f"in both {first} and {second}": (first, second)
        for first, second in combinations(examples, 2)
    }
    counts = {name: dict.fromkeys(places, 0) for name in ("duplicates", "contradictions")}
    for group in equal_texts(examples):
        labels = defaultdict(list)
        for split, example in group:
            labels[split].append(example.target)
        for where, splits in places.items():
            of_text = list(chain.from_iterable(labels.get(split, ()) for split in splits))
            if all(split in labels for split in splits) and len(of_text) > 1:
                several = len(set(of_text)) > 1
                counts["contradictions" if several else "duplicates"][where] += 1
    return counts
