"""The headline of a verdict: which cell to use, how sure that is, and what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tf_adapt.comparison.verdict.next_step import (
    LABEL,
    SEEDS,
    TRAIN,
    USE,
    NextStep,
    more_seeds,
    seeds_option,
    to_decide,
    train_safely,
)
from tf_adapt.comparison.verdict.phrases import cheaper, interval_text, lead, reached
from tf_adapt.comparison.verdict.ranking import Ranking
from tf_adapt.printing.words import counted, listed, metric_name, score
from tf_adapt.report.content import Content
from tf_adapt.statistics.relation import FEWEST_ITEMS, PairTest

# Deviations that differ by more than this factor.
UNEVEN = 3
USE_IT = NextStep(USE, ["Use it: predict with it, serve it."])
NOT_LEARNT = NextStep(
    TRAIN,
    [
        "Train longer or with other learning rates, on more examples, or take an encoder whose "
        "pretraining is nearer to the task (the README of a module that ships says what it knows).",
        "A model is exported only with `--export-anyway`.",
    ],
)
NEARER = NextStep(
    TRAIN,
    [
        "Train the pretrained cells longer or with other learning rates, or take an encoder whose "
        "pretraining is nearer to the task."
    ],
)


@dataclass(frozen=True)
class Headline:
    """The headline of a verdict.

    Attributes:
        sentence: without its full stop, so that the number of failed seeds can be appended.
        step: what to do next.
        decided: whether the tests decide which cell to use.
        qualified: sentences that qualify it: which cells are ahead, alike or undecided.
        tells_failures: whether the sentence mentions failed seeds already.
        names_cell: whether the sentence is `Use CELL …`.
    """

    sentence: str
    step: NextStep
    decided: bool = False
    qualified: list[str] = field(default_factory=list)
    tells_failures: bool = False
    names_cell: bool = True


def headline(ranking: Ranking) -> Headline:
    """The first reason against a decision; if there is none, the cell to use."""
    content, above = ranking.content, ranking.content.baseline.cells
    recommended = ranking.cells[ranking.recommended]
    if too_few_items(content):
        return few_items(content, ranking.names[ranking.best], ranking.cells[ranking.best])
    if not any(test.above for test in above.values()):
        return _nothing_above(ranking)
    if len(content.seeds) == 1:
        return _one_seed(ranking)
    if ranking.untrained_ahead:
        return _untrained_ahead(ranking)
    if ranking.open:
        return _undecided(ranking)
    failing = [ranking.cells[n] for n in (ranking.recommended, ranking.best)]
    if any(cell.results.failed.total for cell in failing) and not ranking.ahead_with_failed:
        failed = max(cell.results.failed.total for cell in failing)
        reason = (
            f"Not decided: {failed} of {len(content.seeds)} {content.seed}s failed, and with the "
            "baseline's answers in their place it is not ahead of every other cell"
        )
        return Headline(_for_now(ranking, reason), train_safely(content), tells_failures=True)
    if ranking.untrained_open:
        return _untrained_open(ranking)
    if not above[ranking.recommended].above:
        reached_by = f"{score(content.baseline.score)} {metric_name(content.metric)}"
        reason = f"Not decided: it is not shown to be above the baseline's {reached_by}"
        more = f"more {content.seed}s ({seeds_option(content, 2 * len(content.seeds))})"
        step = NextStep(SEEDS, [f"Run {more}, or label more examples."])
        return Headline(_for_now(ranking, reason), step)
    if not ranking.rivals:
        sentence = (
            f"Use {ranking.names[ranking.best]}: {reached(content, recommended)}. There is nothing "
            "to choose from: only one pretrained cell trained"
        )
        return Headline(sentence, USE_IT)
    return _use(ranking)


def too_few_items(content: Content) -> bool:
    """Whether the scored split has too few items for any test."""
    return content.items.count < FEWEST_ITEMS


def few_items(content: Content, name: str, cell) -> Headline:
    """`Use none of them yet: only 11 texts are scored, and fewer than 20 decide nothing. …`."""
    missing = FEWEST_ITEMS - content.items.count
    return Headline(
        f"Use none of them yet: only {content.items.text} to score on, and fewer than "
        f"{FEWEST_ITEMS} decide nothing. The best so far is {name}: {reached(content, cell)}",
        NextStep(
            LABEL,
            [
                f"Label more examples to score on: at least {missing} for any test, some hundreds "
                "for a difference of five points (`--dry-run` tells the probability).",
                *NOT_LEARNT.sentences[1:],
            ],
        ),
        names_cell=False,
    )


def nothing_learnt(content: Content, name: str, cell) -> Headline:
    """The headline if no seed of any pretrained cell trained."""
    return Headline(
        "Use none of them yet: each seed of every cell diverged or gives one answer to everything. "
        f"The best on {content.scored_on} is {name}: {reached(content, cell)}",
        NOT_LEARNT,
        names_cell=False,
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
    return [f"{ranking.shown(ranking.best)} is not shown to be ahead of {others}."]


def _for_now(ranking: Ranking, reason: str) -> str:
    name = ranking.recommended
    shown = reached(ranking.content, ranking.cells[name], _lowest(ranking))
    return f"Use {ranking.names[name]} for now: {shown}. {reason}"


def _lowest(ranking: Ranking) -> str:
    """`, lowest 62.0` where the recommended cell scatters more than three times as far as another:
    such a cell may have rare bad seeds."""
    results = ranking.cells[ranking.recommended].results
    others = [
        cell.results.deviation for n, cell in ranking.cells.items() if n != ranking.recommended
    ]
    if results.deviation is None or not any(
        other is not None and results.deviation > UNEVEN * other for other in others
    ):
        return ""
    return f", lowest {score(results.min)}"


def _nothing_above(ranking: Ranking) -> Headline:
    content, best = ranking.content, ranking.best
    return Headline(
        "Use none of them yet: no cell is shown to be above the baseline's "
        f"{score(content.baseline.score)}. The best is {ranking.names[best]}: "
        f"{reached(content, ranking.cells[best])}",
        NOT_LEARNT,
        names_cell=False,
    )


def _one_seed(ranking: Ranking) -> Headline:
    rivals = ranking.rivals
    ahead = ""
    if rivals:
        nearest = max(rivals, key=lambda other: ranking.cells[other].results.mean)
        points = score(abs(ranking.pair(nearest).difference))
        ahead = f"{points} points ahead of the next best cell, but "
    reason = f"Not decided: {ahead}one {ranking.content.seed} says nothing about others"
    return Headline(_for_now(ranking, reason), more_seeds(ranking.content))


def _untrained_ahead(ranking: Ranking) -> Headline:
    cells, name = ranking.cells, ranking.recommended
    ahead = max(ranking.untrained_ahead, key=lambda other: cells[other].results.mean)
    shown = lead(ranking.between(ahead, name), f"the best pretrained cell, {ranking.names[name]}")
    return Headline(
        f"Use no pretrained encoder yet: an untrained network is {shown}",
        NEARER,
        qualified=[f"The untrained network is {ranking.shown(ahead)}."],
        names_cell=False,
    )


def _undecided(ranking: Ranking) -> Headline:
    name, step = ranking.recommended, to_decide(ranking, list(map(ranking.pair, ranking.open)))
    if name != ranking.best:
        return Headline(_for_now(ranking, f"Not decided: {_cheaper_than_best(ranking)}"), step)
    nearest = max(ranking.open, key=lambda other: ranking.cells[other].results.mean)
    pair = ranking.pair(nearest)
    if pair.why == "identical":
        same = [ranking.names[n] for n in ranking.open if ranking.pair(n).why == "identical"]
        reason = (
            f"Not decided: it gives the same answers as {_others(len(same))} with every "
            f"{ranking.content.seed}"
        )
        qualified = [f"It answers as {listed(same)}: check what is to differ between them."]
        return Headline(_for_now(ranking, reason), step, qualified=qualified)
    more = f"; open against {len(ranking.open)} of {len(ranking.rivals)} other cells"
    more = more if len(ranking.open) > 1 else ""
    return Headline(_for_now(ranking, f"Not decided: {_lead_of(ranking, pair)}{more}"), step)


def _cheaper_than_best(ranking: Ranking) -> str:
    pair = ranking.between(ranking.recommended, ranking.best)
    if pair.why == "identical":
        return (
            f"it gives the same answers as the best cell with every {ranking.content.seed}, and is "
            "cheaper"
        )
    if not pair.alike:
        return f"{lead(pair, 'the best cell')}, and cheaper"
    near = f"within a point of the best cell ({interval_text(pair)}) and cheaper"
    return f"{near}, but open against {len(ranking.open)} of {len(ranking.rivals)} other cells"


def _lead_of(ranking: Ranking, pair: PairTest) -> str:
    """The lead over the next best cell, and why it decides nothing where its interval does not say
    it."""
    if pair.why == "few_seeds":
        points, seed = score(abs(pair.difference)), ranking.content.seed
        return f"{points} points ahead of the next best cell, but too few of the {seed}s trained"
    shown = lead(pair, "the next best cell")
    if pair.interval and pair.interval[0] > 0:
        tested = sum(test.p_holm is not None for test in ranking.content.pairs)
        return f"{shown}, which is too little among {counted(tested, 'pair')}"
    return shown


def _untrained_open(ranking: Ranking) -> Headline:
    names, recommended = ranking.untrained_open, ranking.recommended
    pairs = [ranking.between(recommended, name) for name in names]
    nearest = min(pairs, key=lambda pair: pair.difference)
    undecided = [pair for pair in pairs if not pair.alike]
    step = to_decide(ranking, undecided) if undecided else NEARER
    shown = lead(nearest, "an untrained network")
    return Headline(
        _for_now(ranking, f"Not decided: {shown}"),
        step,
        qualified=[
            f"{ranking.names[recommended]} is not shown to be ahead of "
            f"{listed([ranking.shown(name) for name in names])}."
        ],
    )


def _use(ranking: Ranking) -> Headline:
    content, name = ranking.content, ranking.recommended
    cell = ranking.cells[name]
    used = f"Use {ranking.names[name]}: {reached(content, cell, _lowest(ranking))}. Decided: "
    if not ranking.alike:
        trained = "" if all(cell.results.trained for cell in content.cells) else " that trained"
        failed = f", its failed {content.seed}s counted at the baseline"
        failed = failed if cell.results.failed.total else ""
        others = [other for other in ranking.cells if other != name]
        nearest = max(others, key=lambda other: ranking.cells[other].results.mean)
        shown = lead(ranking.pair(nearest), f"the next best cell{trained}")
        return Headline(f"{used}{shown}{failed}", USE_IT, decided=True)
    others = [other for other in (ranking.best, *ranking.alike) if other != name]
    qualified = [f"{ranking.names[name]} is alike, within a point, with {_named(ranking, others)}."]
    if name == ranking.best:
        shown = f"within a point of {counted(len(others), 'other cell')}"
    else:
        pair = ranking.between(name, ranking.best)
        best = "the best cell" if len(others) == 1 else f"the best of {len(others)} other cells"
        shown = f"within a point of {best} ({interval_text(pair)})"
    costs = cheaper(cell.costs, [ranking.cells[other].costs for other in others])
    return Headline(f"{used}{shown}, and {costs}", USE_IT, decided=True, qualified=qualified)


def _named(ranking: Ranking, names: Sequence[str]) -> str:
    return listed([ranking.names[name] for name in names])


def _others(number: int) -> str:
    return "another cell" if number == 1 else f"{number} other cells"
