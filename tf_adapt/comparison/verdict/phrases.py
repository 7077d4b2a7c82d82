"""Phrases of a verdict: names of cells, their scores and failures."""

from collections import Counter
from collections.abc import Sequence

from tf_adapt.comparison.kinds import KINDS
from tf_adapt.printing.words import score
from tf_adapt.report.cells import encoder_name
from tf_adapt.report.scored_cells import ScoredCell, SeedResults


def describe_all(cells: Sequence[ScoredCell]) -> dict[str, str]:
    """A descriptive name for each cell, by id; the id itself if two names would be equal."""
    names = {cell.id: _described(cell) for cell in cells}
    counts = Counter(names.values())
    return {key: name if counts[name] == 1 else key for key, name in names.items()}


def with_score(name: str, cell: ScoredCell) -> str:
    """`NAME at 81.0 ± 1.0`, the mean of the seeds that trained."""
    return f"{name} at {cell.results.shown}"


def failures(results: SeedResults, seeds: int) -> str:
    """`failed in 2 of 3 seeds (1 diverged, 1 with one answer to everything): 81.0 without
    them, 54.2 with them`."""
    failed, total = results.failed, results.failed.total
    kinds = {
        "diverged": failed.diverged,
        "with one answer to everything": failed.one_answer,
    }
    counts = {words: count for words, count in kinds.items() if count}
    if len(counts) == 1 and failed.diverged:
        text = f"diverged in {total} of {seeds} seeds"
    else:
        why = ", ".join(f"{n} {words}" if len(counts) > 1 else words for words, n in counts.items())
        text = f"failed in {total} of {seeds} seeds ({why})"
    if not results.trained:
        return text
    pronoun = "it" if total == 1 else "them"
    return f"{text}: {score(results.mean)} without {pronoun}, {score(results.mean_of_all)} with"


def answer_text(answer: str | float | list[str], kind: str) -> str:
    """The baseline's constant prediction for a kind of task, as a phrase."""
    return KINDS[kind].baseline_phrase(answer)


def _described(cell: ScoredCell) -> str:
    settings = "".join(f" {key} {value}" for key, value in cell.settings.items())
    return f"{encoder_name(cell)} with {cell.adaptation}{settings} ({cell.head} head)"
