"""Whether a comparison agrees with the paper's guideline for its encoders and its task."""

import math
from collections.abc import Sequence

from tf_adapt.comparison.advice.guideline import guideline
from tf_adapt.heads.names import LSTM_HEADS
from tf_adapt.paper import ALIKE, FAMILIES, FROZEN, GROUPS, TUNED
from tf_adapt.report.cells import encoder_name, encoder_of, reads_as_usual
from tf_adapt.report.content import Agreement, FamilyAgreement
from tf_adapt.report.scored_cells import ScoredCell
from tf_adapt.statistics.relation import AHEAD, BEHIND, OPEN, PairTest, relation
from tf_adapt.statistics.relation import ALIKE as SAME

# Adaptations that end with all groups trainable, as in the paper.
_TUNING = (TUNED, "gradual_unfreezing")
Pairs = dict[frozenset[str], PairTest]
_SAID = {
    FROZEN: "❄ is ahead",
    TUNED: "🔥 is ahead",
    ALIKE: "❄ and 🔥 are alike",
    None: "it is not decided between ❄ and 🔥",
}


def agreement(cells: Sequence[ScoredCell], pairs: Pairs, kind: str) -> Agreement:
    """The paper's guideline for each family of encoders, and this comparison's result.

    On the paper's terms: ❄ of an encoder is its best cell with `feature_extraction` under a head
    with many parameters (LSTMs), 🔥 its best cell that ends with all groups trainable
    (fine_tuning, gradual_unfreezing) under a head with few.

    Args:
        cells: all; the outcome of one with a failed seed is not decided.
        pairs: the paired tests, by the two cells' ids.
        kind: of the task; there is no guideline for kinds that the paper did not compare.

    Encoders that encode pairs differently from the paper's are reported, but do not count for the
    agreement.
    """
    if GROUPS.get(kind) is None:
        return Agreement(f"The paper compared no task of this kind ({kind}).", None, {})
    present = {cell.family for cell in cells if cell.pretrained}
    if present and not present & set(FAMILIES):
        return Agreement("The paper compared no encoders of these families.", None, {})
    families, outcomes = {}, []
    for family in sorted(present & set(FAMILIES)):
        paper = guideline(family, kind)
        here = _here(cells, pairs, family)
        outcomes += [
            None if better is None else better == paper.better
            for encoder, better in here
            if reads_as_usual(encoder)
        ]
        named = {encoder_name(encoder): better for encoder, better in here}
        families[family] = FamilyAgreement(paper.better, paper.sentence, named)
    sentences = [_sentence(of_family) for of_family in families.values()]
    agrees = None
    if False in outcomes:
        agrees = False
    elif outcomes and None not in outcomes:
        agrees = True
    return Agreement(" ".join(sentences), agrees, families)


def _here(
    cells: Sequence[ScoredCell], pairs: Pairs, family: str
) -> list[tuple[ScoredCell, str | None]]:
    """For each encoder with both ❄ and 🔥: a cell, and FROZEN, TUNED, ALIKE or None (undecided).

    A module with joint pairs and the same module with separate pairs are two encoders.
    """
    of_family = [c for c in cells if c.family == family and c.pretrained]
    outcomes = []
    for encoder in dict.fromkeys(map(encoder_of, of_family)):
        of_it = [cell for cell in of_family if encoder_of(cell) == encoder]
        frozen = [c for c in of_it if c.adaptation == FROZEN and c.head in LSTM_HEADS]
        tuned = [c for c in of_it if c.adaptation in _TUNING and c.head not in LSTM_HEADS]
        if frozen and tuned:
            a, b = (max(some, key=_mean) for some in (frozen, tuned))
            outcomes.append((a, _better(a, b, pairs)))
    return outcomes


def _mean(cell: ScoredCell) -> float:
    return cell.results.mean if cell.results.trained else -math.inf


def _better(frozen: ScoredCell, tuned: ScoredCell, pairs: Pairs) -> str | None:
    if frozen.results.failed.total or tuned.results.failed.total:
        return None  # the mean over trained seeds alone is biased
    pair = pairs.get(frozenset((frozen.id, tuned.id)))
    how = OPEN if pair is None else relation(pair, frozen.id)
    return {AHEAD: FROZEN, BEHIND: TUNED, SAME: ALIKE, OPEN: None}[how]


def _sentence(of_family: FamilyAgreement) -> str:
    if not of_family.here:
        return (
            f"{of_family.sentence} Here ❄ under a head with many parameters and 🔥 under one with "
            "few were not both run, so this comparison does not test it."
        )
    here = "; ".join(f"{encoder}: {_SAID[better]}" for encoder, better in of_family.here.items())
    return f"{of_family.sentence} Here, {here}."
