"""The pairwise tests as tables: those against the best cell first."""

from tf_adapt.printing import words
from tf_adapt.report.blocks import Entry, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content
from tf_adapt.statistics.relation import PairTest

REASONS = {
    "identical": "the same answers with every {seed}",
    "few_items": "too few test items",
    "few_seeds": "fewer than {fewest} {seed}s trained, which no test can judge",
    "more_test_examples": "more test examples needed: {seed}s alone would hardly do",
    "no_analysis_left": "no interim analysis is left that may decide",
}
# Reasons without a meaningful p-value and interval.
WITHOUT_NUMBERS = ("identical", "few_items")
MANY = 100
Turned = tuple[Ranked, Ranked, PairTest]  # first, second, the test of first − second


def pair_tables(content: Content, order: list[Ranked]) -> tuple[Table | None, Table | None]:
    """The tests against the best cell, and all others; None for an empty table.

    In every pair the cell with the better mean comes first.
    """
    places = {entry.cell.id: entry for entry in order}
    turned = sorted(
        (_turned(pair, places) for pair in content.pairs),
        key=lambda turned_pair: (turned_pair[0].number, turned_pair[1].number),
    )
    best = content.verdict.best if content.verdict else None
    best = best or (order[0].cell.id if order else None)
    kind = "best" if not order or best == order[0].cell.id else "best pretrained"
    against_best = [
        turned_pair for turned_pair in turned if best in (turned_pair[2].a, turned_pair[2].b)
    ]
    others = [
        turned_pair for turned_pair in turned if best not in (turned_pair[2].a, turned_pair[2].b)
    ]
    tested = sum(pair.p_holm is not None for pair in content.pairs)
    return (
        _table(f"Against the {kind} cell", against_best, tested, content),
        _table("The other pairs", others, tested, content),
    )


def _turned(pair: PairTest, places: dict[str, Ranked]) -> Turned:
    first, second = sorted((places[pair.a], places[pair.b]), key=lambda entry: entry.number)
    return first, second, pair.seen_from(first.cell.id)


def _table(title: str, turned: list[Turned], tested: int, content: Content) -> Table | None:
    if not turned:
        return None
    levels = sorted({pair.level for _, _, pair in turned})
    level = " / ".join(f"{100 * level:.4g} %" for level in levels)
    columns = [
        "second",
        "first − second, × 100",
        f"{level} interval".strip(),
        "p",
        "p after Holm",
        "decided",
    ]
    rows = [[field_of(second.name), *_values(pair, content)] for _, second, pair in turned]
    firsts = [first.name for first, _, _ in turned]
    if len(set(firsts)) == 1:
        title = f"{title}: first is always {firsts[0]}"
    else:
        columns.insert(0, "first")
        rows = [[field_of(first), *row] for first, row in zip(firsts, rows, strict=True)]
    correction = f"Holm's correction is over {words.counted(tested, 'pair')} that can be tested"
    caption = f"{title}. {correction if tested else 'No pair can be tested'}."
    return Table(caption, columns, rows, left=(columns.index("second"), len(columns) - 1))


def _values(pair: PairTest, content: Content) -> list[list[Entry]]:
    known = pair.why not in WITHOUT_NUMBERS
    return [
        field_of(text)
        for text in (
            words.signed_points(pair.difference),
            words.interval(pair.interval if known else None),
            words.probability(pair.p if known else None),
            words.probability(pair.p_holm),
            decision(pair, len(content.seeds), content.seed),
        )
    ]


def decision(pair: PairTest, seeds: int, seed: str = "seed") -> str:
    """`yes`, `alike …`, or `no: …` with what would decide it."""
    if pair.alike:
        return "alike: within a point" + (", though decided" if pair.decided else "")
    if pair.decided:
        return "yes"
    if pair.why != "more_seeds":
        fewest = "three" if seed == "seed" else "two"
        reason = REASONS.get(pair.why, words.visible(pair.why))
        return f"no: {reason.format(seed=seed, fewest=fewest)}"
    fewest, most = (max(n or MANY + 1, seeds + 1) for n in pair.seeds_needed)
    if fewest > MANY:
        return f"no: over {MANY} {seed}s in all needed"
    if most > MANY:
        return f"no: {fewest} {seed}s in all needed, or many more"
    return f"no: {fewest if fewest == most else f'{fewest} to {most}'} {seed}s in all needed"
