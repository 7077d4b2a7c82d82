"""What to do next: use it, label more, run more seeds, train longer, or take the cheaper cell."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tf_adapt.comparison.plan.scored_split import ENOUGH_FOR_A_SPLIT
from tf_adapt.comparison.verdict.phrases import cheaper
from tf_adapt.comparison.verdict.ranking import Ranking
from tf_adapt.printing.words import counted, score
from tf_adapt.report.content import Content
from tf_adapt.statistics.power import POWER, two_digits
from tf_adapt.statistics.relation import FEWEST_REPEATS, FEWEST_SEEDS, WORTH, PairTest

USE, LABEL, SEEDS, TRAIN, CHEAPER = "use", "label", "seeds", "train", "cheaper"
# Of `compare.seeds`.
DEFAULT_SEEDS = 5
# Seeds cost hours; from this many times as many on, labels are asked for first.
MOST_TIMES = 4


@dataclass(frozen=True)
class NextStep:
    """What to do next.

    Attributes:
        kind: USE, LABEL, SEEDS, TRAIN or CHEAPER.
        sentences: how; the first one is the step.
    """

    kind: str
    sentences: list[str] = field(default_factory=list)


def seeds_option(content: Content, fewest: int, most: int | None = None) -> str:
    """`--seeds 5` or `--seeds 5` to `9`, where minutes bound the seeds with more of them."""
    option = f"`--seeds {fewest}`" + ("" if most is None else f" to `{most}`")
    return option if content.budget is None else f"{option} and more `--minutes`"


def more_seeds(content: Content) -> NextStep:
    """`Run 4 more seeds: `--seeds 5`.`, from fewer than the tests need."""
    seeds = len(content.seeds)
    fewest = FEWEST_REPEATS if content.folds else FEWEST_SEEDS
    wanted = fewest if content.folds else max(DEFAULT_SEEDS, seeds + 2)
    return NextStep(
        SEEDS,
        [
            f"Run {counted(wanted - seeds, f'more {content.seed}')} "
            f"({seeds_option(content, wanted)}): the tests need "
            f"{counted(fewest, content.seed)} of each cell that train."
        ],
    )


def to_decide(ranking: Ranking, pairs: Sequence[PairTest]) -> NextStep:
    """The step that would probably decide the open pairs; nothing decides those that give the same
    answers.

    More seeds while that takes at most `MOST_TIMES` as many as there are; else more scored
    examples; else any number of seeds.
    """
    if ranking.close and len(ranking.close) == len(ranking.open):
        return _cheaper(ranking)
    content, seeds = ranking.content, len(ranking.content.seeds)
    pairs = [pair for pair in pairs if pair.why != "identical"]
    reasons = {pair.why for pair in pairs}
    if "few_seeds" in reasons:
        fewest = FEWEST_REPEATS if content.folds else FEWEST_SEEDS
        return more_seeds(content) if seeds < fewest else train_safely(content)
    ranges = [pair.seeds_needed for pair in pairs if pair.why == "more_seeds"]
    lows = [low for low, _ in ranges]
    if reasons == {"more_seeds"} and None not in lows and max(lows) <= MOST_TIMES * seeds:
        return NextStep(SEEDS, [_seeds(ranges, content)])
    is_over = "no_analysis_left" in reasons
    return _label(ranking, pairs) or _new_comparison(ranges, content, is_over)


def train_safely(content: Content) -> NextStep:
    """Where failed seeds stand in the way."""
    return NextStep(
        TRAIN,
        [
            "Train again with a lower learning rate or a longer warm-up, so that no "
            f"{content.seed} fails."
        ],
    )


def _cheaper(ranking: Ranking) -> NextStep:
    cells, name = ranking.cells, ranking.recommended
    rivals = [cells[other].costs for other in (ranking.best, *ranking.close) if other != name]
    return NextStep(
        CHEAPER,
        [
            f"Take the cheaper, for these cells {_alike(ranking)}: {ranking.names[name]}; "
            f"{cheaper(cells[name].costs, rivals)}."
        ],
    )


def _alike(ranking: Ranking) -> str:
    intervals = [
        ranking.pair(name).interval
        for name in ranking.close
        if ranking.pair(name).why != "identical"
    ]
    if not intervals:
        return f"give the same answers with every {ranking.content.seed}"
    widest = max(abs(bound) for ends in intervals for bound in ends)
    return f"are at most {score(widest)} points apart"


def _seeds(ranges: Sequence[Sequence[int | None]], content: Content) -> str:
    seeds, more = len(content.seeds), f"more {content.seed}"
    fewest = max(seeds + 1, *(low for low, _ in ranges))
    most = None if any(high is None for _, high in ranges) else max(high for _, high in ranges)
    if most is None:
        return (
            f"Run at least {counted(fewest - seeds, more)} ({seeds_option(content, fewest)}); many "
            "more may be needed."
        )
    if most <= fewest:
        return (
            f"Run {counted(fewest - seeds, more)} ({seeds_option(content, fewest)}), which would "
            "probably decide it."
        )
    return (
        f"Run {fewest - seeds} to {counted(most - seeds, more)} "
        f"({seeds_option(content, fewest, most)}), which would probably decide it."
    )


def _label(ranking: Ranking, pairs: Sequence[PairTest]) -> NextStep | None:
    """More scored examples, in a new comparison; None if no number would do, or it is not more."""
    designs = [pair.larger_design for pair in pairs]
    if None in designs:
        return None
    content, now = ranking.content, ranking.content.items.count
    seeds = max(seeds for seeds, _ in designs)
    items = max(items for _, items in designs)
    if items <= now:
        return None
    examples = content.examples[content.scored_on]
    more = two_digits(round((items - now) * examples / now))
    wanted = max(WORTH, min(abs(pair.difference) for pair in pairs))
    seen = "as seen here" if wanted > WORTH else "more than seen here"
    further = [f"run {counted(seeds, content.seed)}"] if seeds > len(content.seeds) else []
    # By default so many examples would have one split, which scores fewer.
    if content.folds and examples + more >= ENOUGH_FOR_A_SPLIT:
        further.append(f"keep `compare.folds: {content.folds}`")
    run = "".join(f" and {step}" for step in further)
    return NextStep(
        LABEL,
        [
            f"Label about {more:,} more examples to score on ({examples + more:,} in all){run}: a "
            f"true difference of {score(wanted)} points, {seen}, is then decided with a "
            f"probability of {100 * POWER:.0f} %."
        ],
    )


def _new_comparison(
    ranges: Sequence[Sequence[int | None]], content: Content, is_over: bool
) -> NextStep:
    known = [low for low, _ in ranges if low is not None]
    wanted = max([2 * len(content.seeds), *known])
    why = ": no interim analysis is left in this one"
    if not is_over:
        why = (
            f", or be content, since hardly any number of {content.seed}s or labels would decide it"
        )
    runs = counted(wanted, content.seed)
    return NextStep(SEEDS, [f"Run {runs} in a new folder ({seeds_option(content, wanted)}){why}."])
