"""The headline of a verdict: one sentence, its qualifications, and next steps."""

from dataclasses import dataclass, field

from tf_adapt.comparison.verdict.ranking import Ranking
from tf_adapt.comparison.verdict.seeds_needed import what_is_needed
from tf_adapt.printing.words import interval, listed, metric_name, score, signed_points
from tf_adapt.report.content import Content
from tf_adapt.statistics.relation import FEWEST_ITEMS, FEWEST_SEEDS

# Deviations that differ by more than this factor.
UNEVEN = 3
TRY_OTHERS = [
    "Try more examples, more epochs, other learning rates, or an encoder whose pretraining is "
    "nearer to the task; of the modules that ship each one's README says what it knows.",
    "Nothing is exported, unless `compare` is called again with `--export-anyway`.",
]


@dataclass(frozen=True)
class Headline:
    """The headline of a verdict.

    Attributes:
        sentence: without its full stop, so that the number of failed seeds can be appended.
        decided: whether the tests decide which cell to use.
        qualified: sentences that qualify it: which cells are ahead, alike or undecided.
        next: sentences on what would decide it, and what to use until then.
        tells_failures: whether the sentence mentions failed seeds already.
    """

    sentence: str
    decided: bool = False
    qualified: list[str] = field(default_factory=list)
    next: list[str] = field(default_factory=list)
    tells_failures: bool = False


def headline(ranking: Ranking) -> Headline:
    """The first reason against a decision; if there is none, the cell to use."""
    content, cells, best = ranking.content, ranking.cells, ranking.shown(ranking.best)
    metric, above = metric_name(content.metric), content.baseline.cells
    if too_few_items(content):
        return few_items(content, best)
    if not any(test.above for test in above.values()):
        reached = f"{score(content.baseline.score)} {metric}"
        return Headline(
            f"No cell is shown to be above the baseline's {reached}; the best cell is {best}",
            next=TRY_OTHERS,
        )
    if len(content.seeds) == 1:
        return Headline(
            f"Not decided with one seed: the best so far is {best} {metric}",
            qualified=["One seed says nothing about the others."],
            next=[f"The tests need {FEWEST_SEEDS} seeds at least."],
        )
    if ranking.untrained_ahead:
        ahead = max(ranking.untrained_ahead, key=lambda name: cells[name].results.mean)
        return Headline(
            f"An untrained network is ahead: {ranking.shown(ahead)} {metric}",
            qualified=[f"The best pretrained cell is {best}."],
        )
    same = [ranking.names[n] for n in ranking.open if ranking.pair(n).why == "identical"]
    if same:
        return Headline(
            f"Not decided: {best} {metric} gives the same answers as {_others(len(same))} with "
            "every seed",
            qualified=[f"As if they were one model, it answers as {listed(same)}."],
            next=["Check what is to differ between them."],
        )
    if ranking.open:
        return _undecided(ranking, metric)
    failing = any(cells[name].results.failed.total for name in (ranking.recommended, ranking.best))
    if failing and not ranking.ahead_with_failed:
        return Headline(
            f"Not decided, for seeds failed: the best where it trained is {best} {metric}",
            next=_after_failures(ranking),
            tells_failures=True,
        )
    recommended = f"{ranking.shown(ranking.recommended)} {metric}"
    if ranking.untrained_open:
        level = [ranking.shown(name) for name in ranking.untrained_open]
        networks = f"{len(level)} untrained networks" if len(level) > 1 else "an untrained network"
        return Headline(
            f"Not decided: {recommended} is not shown to be ahead of {networks}",
            qualified=[
                f"{ranking.names[ranking.recommended]} is not shown to be ahead of {listed(level)}."
            ],
        )
    if not above[ranking.recommended].above:
        return Headline(
            f"Not decided: {recommended} is not shown to be above the baseline's "
            f"{score(content.baseline.score)}"
        )
    if not ranking.rivals:
        return Headline(
            f"Nothing to choose from: only one pretrained cell trained, {best} {metric}"
        )
    return _use(ranking, metric)


def too_few_items(content: Content) -> bool:
    """Whether the scored split has too few items for any test."""
    return content.items.count < FEWEST_ITEMS


def few_items(content: Content, best: str) -> Headline:
    """`Not decided, with only 11 texts to score on: the best so far is …`."""
    return Headline(
        f"Not decided, with only {content.items.text} to score on: the best so far is "
        f"{best} {metric_name(content.metric)}",
        next=[f"At least {FEWEST_ITEMS} items are needed for any test."],
    )


def nothing_learnt(content: Content, best: str) -> Headline:
    """The headline if no seed of any pretrained cell trained."""
    return Headline(
        "No cell learnt: each seed diverged or gives one answer to everything; the best on "
        f"{content.scored_on} is {best} {metric_name(content.metric)}",
        next=TRY_OTHERS,
    )


def not_ahead_of(ranking: Ranking) -> list[str]:
    """A sentence on the pretrained cells that are undecided against the best."""
    if not ranking.open:
        return []
    others = "; ".join(ranking.shown(name) for name in ranking.open)
    if len(ranking.rivals) > 1:
        others = (
            f"{len(ranking.open)} of the {len(ranking.rivals)} other pretrained cells: {others}"
        )
    return [f"The best is not shown to be ahead of {others}."]


def _after_failures(ranking: Ranking) -> list[str]:
    """What to do where the best cell is not ahead with its failed seeds at the baseline."""
    safe = [
        n for n, cell in ranking.cells.items() if cell.pretrained and not cell.results.failed.total
    ]
    sentences = ["Train it with a lower learning rate or a longer warm-up, so that no seed fails."]
    if safe:
        name = max(safe, key=lambda name: ranking.cells[name].results.mean)
        sentences.append(f"Until then, use {ranking.shown(name)}, of which no seed failed.")
    return sentences


def _lowest(ranking: Ranking) -> str:
    """` (lowest seed 62.0)` where the recommended cell scatters more than three times as far as
    another: such a cell may have rare bad seeds."""
    results = ranking.cells[ranking.recommended].results
    others = [
        cell.results.deviation for n, cell in ranking.cells.items() if n != ranking.recommended
    ]
    if results.deviation is None or not any(
        other is not None and results.deviation > UNEVEN * other for other in others
    ):
        return ""
    return f" (lowest seed {score(results.min)})"


def _use(ranking: Ranking, metric: str) -> Headline:
    reached = f"{ranking.cells[ranking.recommended].results.shown}{_lowest(ranking)}"
    used = f"Use {ranking.names[ranking.recommended]}: {reached} {metric}"
    if not ranking.alike:
        trained = (
            "" if all(cell.results.trained for cell in ranking.content.cells) else " that trained"
        )
        failed = ranking.cells[ranking.recommended].results.failed.total
        counted = ", its failed seeds counted at the baseline" if failed else ""
        return Headline(f"{used}, ahead of every other cell{trained}{counted}", decided=True)
    if ranking.recommended != ranking.best and ranking.pair(ranking.recommended).decided:
        pair = ranking.pair(ranking.recommended)
        gain = f"{signed_points(pair.difference)} ({interval(pair.interval)})"
        return Headline(
            f"{used}, with the fewest trained parameters and less than a point behind the best",
            decided=True,
            qualified=[
                f"{ranking.names[ranking.best]} is ahead of it by less than a point, {gain}."
            ],
        )
    others = [ranking.names[n] for n in (ranking.best, *ranking.alike) if n != ranking.recommended]
    be = "are" if len(others) > 1 else "is"
    return Headline(
        f"{used}, with the fewest trained parameters of {len(others) + 1} cells alike within a "
        "point",
        decided=True,
        qualified=[f"{listed(others)} {be} alike, within a point."],
    )


def _undecided(ranking: Ranking, metric: str) -> Headline:
    pairs = [ranking.pair(name) for name in ranking.open]
    needed = what_is_needed(pairs, len(ranking.content.seeds))
    until = f"Until then, use {ranking.names[ranking.best]}, which has the best mean."
    if ranking.recommended != ranking.best:
        until = f"Until then, use {ranking.shown(ranking.recommended)}, alike and cheaper."
    return Headline(
        f"Not decided: {ranking.shown(ranking.best)} {metric} has the best mean, but is not "
        f"shown to be ahead of {_others(len(pairs))}",
        next=[f"{needed[0].upper()}{needed[1:]}.", until],
    )


def _others(number: int) -> str:
    return "another cell" if number == 1 else f"{number} other cells"
