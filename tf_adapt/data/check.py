"""A report on the data of a run: sizes, labels, lengths, repeated texts, truncated examples."""

from itertools import combinations
from typing import Any

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.kinds import KINDS
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
            "words": _lengths([_words(example) for example in examples]),
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


def _lengths(lengths) -> dict[str, float]:
    lengths = np.asarray(lengths)
    return {
        "mean": round(float(lengths.mean()), 1),
        "median": float(np.median(lengths)),
        "99 %": round(float(np.percentile(lengths, 99)), 1),
        "longest": int(lengths.max()),
    }


def _repeated(examples: dict[str, list]) -> dict[str, dict[str, int]]:
    """Numbers of distinct texts that are more than once in a split, or in two splits."""
    labels = {split: _labels_by_text(part) for split, part in examples.items()}
    repeated = {
        f"within {split}": [of_text for of_text in by_text.values() if len(of_text) > 1]
        for split, by_text in labels.items()
    } | {
        f"in both {first} and {second}": [
            labels[first][text] + labels[second][text]
            for text in labels[first].keys() & labels[second].keys()
        ]
        for first, second in combinations(labels, 2)
    }
    contradictions = {
        where: sum(len(set(of_text)) > 1 for of_text in texts) for where, texts in repeated.items()
    }
    duplicates = {where: len(texts) - contradictions[where] for where, texts in repeated.items()}
    return {"duplicates": duplicates, "contradictions": contradictions}


def _labels_by_text(examples: list[Record | TaggedSentence]) -> dict[tuple, list]:
    labels: dict[tuple, list] = {}
    for example in examples:
        labels.setdefault(example.texts, []).append(example.target)
    return labels
