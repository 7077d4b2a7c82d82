"""From the reports of comparisons to differences between adaptations. Imports no TensorFlow."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from tf_adapt import paper
from tf_adapt.comparison.diagnosis.report_reading import read_content
from tf_adapt.errors import ArtifactError
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell

# Scores that are pooled with each other.
FAMILIES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "accuracy",
    "matthews": "correlation",
    "pearson": "correlation",
}
_OTHERS = "F1"


@dataclass(frozen=True)
class Score:
    """The score of an adaptation in one comparison.

    Attributes:
        arm: the adaptation, with its settings, and its head where that is not the paper's.
        mean, deviation: over the seeds that trained.
    """

    dataset: str
    encoder: str
    family: str
    metric: str
    arm: str
    mean: float
    deviation: float | None
    seeds: int


@dataclass(frozen=True)
class Effect:
    """The difference of two adaptations in one comparison: score of `b` − score of `a`.

    Attributes:
        family: of metrics, a value of `FAMILIES`, or F1.
        error: its standard error.
        p: two-sided, of this pair alone.
        decided: whether the comparison decides.
    """

    dataset: str
    encoder: str
    family: str
    a: str
    b: str
    difference: float
    error: float
    p: float
    decided: bool


def read_effects(folders: Sequence[str | Path]) -> tuple[list[Score], list[Effect]]:
    """The scores and differences of comparisons, ❄ before 🔥 before the others.

    Raises:
        ArtifactError: a report is missing, damaged or of another version; two comparisons have the
            same data, encoder and adaptation.
    """
    scores: list[Score] = []
    effects: list[Effect] = []
    known: dict[tuple, Path] = {}
    for folder in map(Path, folders):
        content = read_content(folder)
        dataset = _dataset(content)
        by_encoder: dict[str, dict[str, ScoredCell]] = defaultdict(dict)
        for cell in content.cells:
            if cell.results.mean is None:
                continue
            encoder, arm = cell.encoder, _arm(cell, content.kind)
            place = (dataset, encoder, arm, content.metric)
            if place in known:
                raise ArtifactError(
                    f"{folder}: {arm} of {encoder} on {dataset} was read from {known[place]} "
                    "already; expected one comparison of each: leave one of them out"
                )
            known[place] = folder
            by_encoder[encoder][arm] = cell
            family = FAMILIES.get(content.metric, _OTHERS)
            scores.append(
                Score(
                    dataset,
                    encoder,
                    family,
                    content.metric,
                    arm,
                    cell.results.mean,
                    cell.results.deviation,
                    cell.results.trained,
                )
            )
        for encoder, cells in by_encoder.items():
            effects += _of_encoder(dataset, encoder, cells, content, folder)
    return scores, effects


def _of_encoder(
    dataset: str, encoder: str, cells: dict[str, ScoredCell], content: Content, folder: Path
) -> list[Effect]:
    tests = {frozenset((pair.a, pair.b)): pair for pair in content.pairs}
    found = []
    for a, b in combinations(sorted(cells, key=order), 2):
        pair = tests.get(frozenset((cells[a].id, cells[b].id)))
        if pair is None or pair.interval is None:
            continue
        if pair.error is None:
            raise ArtifactError(
                f"{folder}: its report has no standard errors, for an earlier version wrote it; "
                "give the command of the comparison again, which writes it anew and trains nothing"
            )
        if pair.error > 0:
            pair = pair.seen_from(cells[b].id)
            family = FAMILIES.get(content.metric, _OTHERS)
            found.append(
                Effect(
                    dataset,
                    encoder,
                    family,
                    a,
                    b,
                    pair.difference,
                    pair.error,
                    pair.p,
                    pair.decided,
                )
            )
    return found


def order(arm: str) -> tuple[int, str]:
    """Where an arm stands among others: ❄ first, then 🔥."""
    first = [name for name in (paper.FROZEN, paper.TUNED) if arm.split(" ")[0] == name]
    place = (paper.FROZEN, paper.TUNED).index(first[0]) if first else 2
    return place, arm


def _arm(cell: ScoredCell, kind: str) -> str:
    """The adaptation of a cell, with its settings, and its head where it is not the paper's."""
    settings = ", ".join(f"{key} {value}" for key, value in sorted(cell.settings.items()))
    name = f"{cell.adaptation} ({settings})" if settings else cell.adaptation
    heads = paper.HEADS.get((kind, cell.family), ())
    usual = heads[0 if cell.adaptation == paper.FROZEN else 1] if heads else cell.head
    return name if cell.head == usual else f"{name} under {cell.head}"


def _dataset(content: Content) -> str:
    return paper.NAMED_DATASETS.get(content.dataset, Path(content.dataset).stem)
