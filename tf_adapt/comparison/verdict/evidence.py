"""The evidence for a verdict: sentences by subject."""

from tf_adapt.comparison.verdict.headline import Headline
from tf_adapt.comparison.verdict.next_step import USE
from tf_adapt.comparison.verdict.phrases import answer_text
from tf_adapt.comparison.verdict.ranking import Ranking
from tf_adapt.comparison.verdict.shift import SUBJECT as SHIFT
from tf_adapt.comparison.verdict.shift import shift_sentences
from tf_adapt.comparison.verdict.training_ended import Shortfall, not_trained_to_the_end
from tf_adapt.printing.words import (
    interval,
    metric_name,
    probability,
    score,
    signed_points,
    visible,
)
from tf_adapt.report.budget.section import short
from tf_adapt.report.cells import encoder_of
from tf_adapt.report.content import Content, ReferenceScores
from tf_adapt.report.scored_cells import Costs
from tf_adapt.statistics.alpha_spending import FINAL, LEVELS, level_of
from tf_adapt.statistics.relation import PairTest

TESTS_SHOWN = 3
MOST_LINES = 6
DECISION, SEEDS, COST, DATA = "Decision", "Scores and seeds", "Cost", "Data and split"
NEXT = "What to do next"


def evidence(ranking: Ranking, headline: Headline, failed: list[str]) -> dict[str, list[str]]:
    """Sentences by subject: qualifications of the headline, tests against the best cell, baseline,
    pretraining, costs, data and splits, next steps.

    Args:
        failed: sentences on cells with failed seeds.
    """
    content, recommended = ranking.content, ranking.recommended
    reasons = not_trained_to_the_end(content)
    return {
        DECISION: [*headline.qualified, *_tests(ranking), _analyses(content.look)],
        SEEDS: [
            *failed,
            *(content.extended or ()),
            *_screened(content),
            *_unended(reasons, ranking.names),
            _baseline(ranking),
            *_references(ranking),
            *_pretraining(ranking),
        ],
        **({SHIFT: shift_sentences(ranking)} if content.shifted else {}),
        COST: _costs(ranking.cells[recommended].costs, ranking.names[recommended], content.seed),
        DATA: [
            _items(content),
            *_truncated(content.truncated, ranking.names),
        ],
        NEXT: next_sentences(headline, reasons, content),
    }


def first_lines(ranking: Ranking, headline: Headline, failed: list[str]) -> list[str]:
    """At most `MOST_LINES` short sentences to read first: what to do next, failed seeds, items, the
    baseline, costs. Args as `evidence`."""
    content, recommended = ranking.content, ranking.recommended
    reasons = not_trained_to_the_end(content)
    unended = _unended(reasons, ranking.names)
    return [
        next_sentences(headline, reasons, content)[0],
        *failed[:1],
        *unended[:1],
        *_curves(content),
        _items(content),
        _short_baseline(ranking),
        *_short_costs(ranking.cells[recommended].costs),
    ][:MOST_LINES]


def _screened(content: Content) -> list[str]:
    return [] if content.budget is None else [f"{short(content.budget, content)}."]


def _curves(content: Content) -> list[str]:
    curves = content.learning_curves
    return [curves.sentence] if curves and curves.sentence else []


def next_sentences(
    headline: Headline, reasons: dict[str, Shortfall], content: Content
) -> list[str]:
    """What to do next; cells that were not trained to the end come first."""
    further, step = _to_the_end(reasons, content), headline.step
    simple = unbeaten_reference(content)
    if simple is None or not headline.names_cell:
        return [*further, *step.sentences]
    known = f"the simple model, {visible(simple.name)}, which has {score(simple.score)}"
    return [
        f"Use {known}, or label more examples: no cell is shown to be above it.",
        *further,
        *([] if step.kind == USE else step.sentences),
    ]


def unbeaten_reference(content: Content) -> ReferenceScores | None:
    """The best of the simple models that no cell is shown to be above."""
    unbeaten = [
        reference
        for reference in content.references
        if reference.cells and not any(test.above for test in reference.cells.values())
    ]
    return max(unbeaten, key=lambda reference: reference.score, default=None)


def _unended(reasons: dict[str, Shortfall], names: dict[str, str]) -> list[str]:
    """`B is not trained to the end: its best epoch is the last, …` for each such cell."""
    return [
        f"{names[name]} is not trained to the end: {reason.why}."
        for name, reason in reasons.items()
    ]


def _to_the_end(reasons: dict[str, Shortfall], content: Content) -> list[str]:
    """What would train them to the end."""
    adaptations = {cell.id: cell.adaptation for cell in content.cells}
    mends = dict.fromkeys(reasons[name].mended(adaptations[name]) for name in reasons)
    return [f"Train to the end before you rely on it: {'; '.join(mends)}."] if mends else []


def overlaps(content: Content, above: float = 0.0) -> list[str]:
    """`30 of 500 share a text with train`, and with dev, where it is more than a share of them."""
    items, examples = content.items, content.examples[content.scored_on]
    shared = {"train": items.overlap_with_train, content.chosen_on: items.overlap_with_dev}
    return [
        f"{count:,} of {examples:,} share a text with {split}"
        for split, count in shared.items()
        if count > above * examples
    ]


def _items(content: Content) -> str:
    shared = "".join(f"; {overlap}" for overlap in overlaps(content))
    return f"Items of the tests: {content.items.text}{shared}."


def _truncated(truncated: dict[str, dict[str, int]], names: dict[str, str]) -> list[str]:
    cut = []
    for cell, counts in truncated.items():
        parts = [f"{count:,} of {split}" for split, count in counts.items() if count]
        cut += [f"{names[cell]}: {', '.join(parts)}"] if parts else []
    return [f"Examples cut at the encoder's limit: {'; '.join(cut)}."] if cut else []


def _tests(ranking: Ranking) -> list[str]:
    """The tests of the best cell against the `TESTS_SHOWN` cells with the next best means."""
    others = [name for name in ranking.cells if name != ranking.best]
    sentences = []
    for name in sorted(others, key=lambda name: -ranking.cells[name].results.mean)[:TESTS_SHOWN]:
        pair, spread = ranking.pair(name), "no interval"
        if pair.interval is not None:
            spread = f"{100 * pair.level:.4g} % interval {interval(pair.interval)}"
        sentences.append(
            f"{ranking.names[ranking.best]} against {ranking.names[name]}: "
            f"{signed_points(pair.difference)} points, {spread}, {_decision(pair)}."
        )
    return sentences


def _decision(pair: PairTest) -> str:
    if pair.p_holm is None:
        return "not tested"
    decision = "decided" if pair.decided else "not decided"
    if pair.alike:
        decision = "alike, within a point" + (", though decided" if pair.decided else "")
    return f"p {probability(pair.p_holm)} after Holm's correction: {decision}"


def _analyses(analysis: int) -> str:
    level = level_of(analysis)
    if analysis == FINAL:
        return f"This is the one analysis of this comparison, at {100 * level:.3g} %."
    if not level:
        return f"This is interim analysis {analysis}: only the first {len(LEVELS)} may decide."
    return (
        f"This is interim analysis {analysis} of {len(LEVELS)}, at {100 * level:.3g} %. Together "
        "they decide falsely in about 5 % where seeds scatter regularly, more often where a cell "
        "has rare bad seeds. Other folders with the same data are not counted."
    )


def _short_baseline(ranking: Ranking) -> str:
    baseline, test = ranking.content.baseline, ranking.content.baseline.cells
    test = test.get(ranking.recommended)
    above = "is not shown to be above" if test is None or not test.above else "is above"
    by = "" if test is None or not test.above else f" by {score(test.difference)} points"
    return f"The cell {above} the baseline ({score(baseline.score)}){by}."


def _short_costs(costs: Costs) -> list[str]:
    """None of answers alone, as those that are published."""
    if costs.training_seconds is None:
        return []
    return [
        f"It costs {costs.training_seconds:.0f} s a training, "
        f"{costs.peak_memory_mb:,.0f} MB of memory, "
        f"{costs.serving_seconds_per_1000:.1f} s to serve 1,000 examples."
    ]


def _costs(costs: Costs, name: str, seed: str) -> list[str]:
    if costs.training_seconds is None:
        return []
    return [
        f"{name} trains {costs.trainable_parameters:,} of {costs.total_parameters:,} "
        f"parameters in {costs.training_seconds:.0f} s, with {costs.peak_memory_mb:,.0f} MB "
        f"of memory, needs {costs.serving_seconds_per_1000:.1f} s for 1,000 examples, and "
        f"{costs.task_megabytes:.1f} MB a task beside the module (means over the {seed}s, of "
        "memory the least)."
    ]


def _baseline(ranking: Ranking) -> str:
    content, baseline = ranking.content, ranking.content.baseline
    answer = answer_text(baseline.answer, content.kind)
    reached = f"{score(baseline.score)} {metric_name(content.metric)}"
    sentence = f"The baseline, {answer}, has {reached}"
    test, name = baseline.cells.get(ranking.recommended), ranking.names[ranking.recommended]
    if test is None:
        return f"{sentence}."
    p = f"p {probability(test.p_holm)} after Holm's correction"
    if test.above:
        return f"{sentence}: {name} is {signed_points(test.difference)} above it, {p}."
    return f"{sentence}: {name} is not shown to be above it, {p}."


def _references(ranking: Ranking) -> list[str]:
    """The simple models, and whether the recommended cell is above them."""
    name, sentences = ranking.names[ranking.recommended], []
    for reference in ranking.content.references:
        reached = f"{visible(reference.name)} has {score(reference.score)}"
        test = reference.cells.get(ranking.recommended)
        if test is not None:
            by = "above it" if test.above else "not shown to be above it"
            by = f"{score(-test.difference)} points below it" if test.difference < 0 else by
            p = f"p {probability(test.p_holm)} after Holm's correction"
            reached = f"{reached}: {name} is {by}, {p}"
        sentences.append(f"{reached}.")
    return sentences


def _pretraining(ranking: Ranking) -> list[str]:
    """The score of the same encoder without pretraining, if it was run."""
    cells, recommended = ranking.cells, ranking.cells[ranking.recommended]
    encoder = encoder_of(recommended)
    untrained = [n for n, c in cells.items() if not c.pretrained and encoder_of(c) == encoder]
    if not untrained or not recommended.pretrained:
        return []
    best = max(untrained, key=lambda name: cells[name].results.mean)
    pair = ranking.pairs[frozenset((ranking.recommended, best))]
    ahead = recommended.results.mean - cells[best].results.mean
    if pair.decided and ahead > 0:
        worth = f"the pretraining is worth {100 * ahead:.1f} points"
    else:
        worth = "the pretraining is not shown to be worth anything here"
    reached = f"{cells[best].results.shown} ({ranking.names[best]})"
    return [f"The same network untrained reaches {reached}: {worth}."]
