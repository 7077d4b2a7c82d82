"""What the published comparisons nearest to a user's file found, beside the paper's guideline."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tf_adapt import paper
from tf_adapt.comparison.advice.guideline import COMPARE, Guideline, guideline
from tf_adapt.comparison.advice.published import Published, published
from tf_adapt.comparison.plan.first_config import data_section
from tf_adapt.data.datasets import read_file
from tf_adapt.data.guesses import Given, guess
from tf_adapt.data.own_files import labelled_only, recognised
from tf_adapt.printing import words
from tf_adapt.statistics.relation import AHEAD, ALIKE, BEHIND, OPEN

MOST = 5
_SAID = {AHEAD: "🔥 is ahead", BEHIND: "❄ is ahead", ALIKE: "alike", OPEN: "not decided"}


@dataclass(frozen=True)
class Advice:
    """What is known of data like those of a file.

    Attributes:
        examples: of the file, to learn from and to score.
        reason: of the kind.
        nearest: of the same kind (and family), the most similar in size first.
        guidelines: of the paper, by family; none of a kind that it did not compare.
    """

    file: str
    kind: str
    reason: str
    examples: int
    nearest: list[Published]
    guidelines: list[Guideline]

    def to_json(self) -> dict[str, Any]:
        """The advice as plain values."""
        return asdict(self)


def advice(file: str | Path, kind: str | None = None, family: str | None = None) -> Advice:
    """The published comparisons nearest to the data of a file, and Table 1's guidelines.

    Args:
        kind: by default guessed, as `tf-adapt init` does.
        family: of encoders, "elmo" or "bert"; by default all.

    Raises:
        ConfigError, DataError: as `guess`, `read_file` and `labelled_only`.
    """
    guessed = guess(file, Given(kind=kind))
    data = recognised(data_section(guessed, file))
    # Counted without splits, for which a file may be too small.
    labelled, _ = labelled_only(data, read_file(file, data), str(file))
    examples = len(labelled)
    families = paper.FAMILIES if family is None else (family,)
    return Advice(
        file=str(file),
        kind=guessed.kind,
        reason=guessed.reasons["kind"],
        examples=examples,
        nearest=nearest(published(), guessed.kind, examples, family),
        guidelines=[
            guideline(one, guessed.kind) for one in families if guessed.kind in paper.KINDS
        ],
    )


def nearest(
    known: list[Published], kind: str, examples: int, family: str | None = None
) -> list[Published]:
    """At most `MOST` of the kind (and family), by the ratio of the numbers of examples."""
    alike = [row for row in known if row.kind == kind and family in (None, row.family)]
    return sorted(alike, key=lambda row: abs(math.log(row.examples / examples)))[:MOST]


def lines(advice: Advice) -> list[str]:
    """The advice as lines for a terminal."""
    counted = words.counted(advice.examples, "example")
    found = [
        f"{row.comparison}, {row.encoder}, {row.examples:,} to learn from: "
        f"{words.signed_points(row.difference)} ({100 * row.level:.4g} % interval "
        f"{words.interval(row.interval)}), "
        f"{_SAID[row.decided]}"
        for row in advice.nearest
    ]
    of_paper = [line for one in advice.guidelines for line in (one.sentence, one.support)]
    return [
        f"{words.visible(advice.file)}: {advice.kind} ({advice.reason}), {counted}",
        "",
        "Nearest published comparisons of this kind: 🔥 − ❄ in points, and what was decided after "
        "Holm's correction over all pairs of cells:",
        *(found or ["none"]),
        "",
        *(of_paper or [f"The paper compared no task of this kind ({advice.kind})."]),
        "",
        COMPARE,
    ]
