"""Phrases of a verdict: names of cells, their scores and failures."""

from collections import Counter
from collections.abc import Sequence

from tf_adapt.comparison.kinds import KINDS
from tf_adapt.printing.words import counted, interval, metric_name, score
from tf_adapt.report.cells import encoder_name
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import Costs, ScoredCell, SeedResults
from tf_adapt.statistics.relation import PairTest

# Fewer items are few: the standard error of an accuracy is up to seven points.
FEW_ITEMS = 50


def describe_all(cells: Sequence[ScoredCell]) -> dict[str, str]:
    """A descriptive name for each cell, by id; the id itself if two names would be equal."""
    names = {cell.id: _described(cell) for cell in cells}
    counts = Counter(names.values())
    return {key: name if counts[name] == 1 else key for key, name in names.items()}


def with_score(name: str, cell: ScoredCell) -> str:
    """`NAME at 81.0 ± 1.0`, the mean of the seeds that trained."""
    return f"{name} at {cell.results.shown}"


def reached(content: Content, cell: ScoredCell, note: str = "") -> str:
    """`81.0 span F1 (deviation 1.0 over 3 seeds) on 500 examples (480 independent)`.

    Args:
        note: behind the seeds.
    """
    results = cell.results
    over = counted(results.trained or len(content.seeds), content.seed)
    if results.deviation is not None:
        over = f"deviation {score(results.deviation)} over {over}"
    mean = f"{score(results.mean)} {metric_name(content.metric)}"
    return f"{mean} ({over}{note}) on {scored_examples(content)}"


def scored_examples(content: Content) -> str:
    """`500 examples (480 independent)`, `only 40 examples`."""
    count, items = content.examples[content.scored_on], content.items.count
    only = "only " if items < FEW_ITEMS else ""
    independent = f" ({items:,} independent)" if items < count else ""
    return f"{only}{counted(count, 'example')}{independent}"


def lead(pair: PairTest, other: str) -> str:
    """`2.0 points ahead of OTHER (97 % interval −1.0 to +5.0)`."""
    points = score(abs(pair.difference))
    side = "ahead of" if pair.difference > 0 else "behind"
    text = f"{points} points {side} {other}" if float(points) else f"level with {other}"
    if pair.interval is None:
        return text
    return f"{text} ({interval_text(pair)})"


def interval_text(pair: PairTest) -> str:
    """`97 % interval −1.0 to +5.0`."""
    return f"{100 * pair.level:.4g} % interval {interval(pair.interval)}"


def cheaper(costs: Costs, others: Sequence[Costs]) -> str:
    """`it trains 1,000 parameters (4,000 in the next) and serves 1,000 examples in 3 s (3 s)`."""
    rival = min(others, key=lambda cost: cost.trainable_parameters)
    trained = (
        f"it trains {costs.trainable_parameters:,} parameters ({rival.trainable_parameters:,} in "
        "the next)"
    )
    served = (costs.serving_seconds_per_1000, rival.serving_seconds_per_1000)
    if None in served:
        return trained
    but = "and" if served[0] <= served[1] else "but"
    return f"{trained} {but} serves 1,000 examples in {served[0]:.1f} s ({served[1]:.1f} s)"


def failures(results: SeedResults, content: Content) -> str:
    """`failed in 2 of 3 seeds (1 diverged, 1 with one answer to everything): 81.0 without
    them, 54.2 with them`."""
    failed, total = results.failed, results.failed.total
    seeds = f"{len(content.seeds)} {content.seed}s"
    kinds = {
        "diverged": failed.diverged,
        "with one answer to everything": failed.one_answer,
    }
    counts = {words: count for words, count in kinds.items() if count}
    if len(counts) == 1 and failed.diverged:
        text = f"diverged in {total} of {seeds}"
    else:
        why = ", ".join(f"{n} {words}" if len(counts) > 1 else words for words, n in counts.items())
        text = f"failed in {total} of {seeds} ({why})"
    if not results.trained:
        return text
    pronoun = "it" if total == 1 else "them"
    return f"{text}: {score(results.mean)} without {pronoun}, {score(results.mean_of_all)} with"


def answer_text(answer: str | float | list, kind: str) -> str:
    """The baseline's constant prediction for a kind of task, as a phrase."""
    return KINDS[kind].baseline_phrase(answer)


def _described(cell: ScoredCell) -> str:
    settings = "".join(f" {key} {value}" for key, value in cell.settings.items())
    return f"{encoder_name(cell)} with {cell.adaptation}{settings} ({cell.head} head)"
