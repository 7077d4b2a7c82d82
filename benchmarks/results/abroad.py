"""Cells on test sets of other domains: scores and differences of each move, and all pooled."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from benchmarks.results.blocks import FEWEST_POOLED, NOTHING, Contents, as_table
from benchmarks.results.published import beginning
from tf_adapt.analysis.pooling.effects import FAMILIES, order
from tf_adapt.analysis.pooling.layouts import named_arm
from tf_adapt.config.data_sections import HOME
from tf_adapt.paper import SYMBOLS
from tf_adapt.printing import words
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell
from tf_adapt.report.shift.domains import ShiftedDomain
from tf_adapt.report.shift.worst import simple_models
from tf_adapt.statistics.random_effects import random_effects
from tf_adapt.statistics.relation import PairTest

Cells = Mapping[str, ScoredCell]


class Move(NamedTuple):
    """From home to another domain: the tests there, and of what the move changes."""

    content: Content
    cells: Cells
    domain: ShiftedDomain


def abroad_block(contents: Contents, prefix: str) -> str:
    """Scores at home and in each domain, of the simple model that is best at home too, with the
    differences of all adaptations, then these differences pooled over the moves."""
    some = [(path.name, one) for path, one in beginning(contents, prefix).items() if one.shifted]
    if not some:
        return NOTHING
    arms = sorted({arm for _, one in some for arm in _by_adaptation(one)}, key=order)
    pairs = list(combinations(arms, 2))
    named = [named_arm(arm) for arm in arms]
    differences = [_difference(*pair) for pair in pairs]
    head = ["trained on", "scored on", "baseline", "simple model", *named, *differences]
    rows = [row for name, one in some for row in _rows(name, one, arms, pairs)]
    pooled = _pooled([one for _, one in some], pairs)
    return "\n\n".join([as_table(head, rows), *([as_table(*pooled)] if pooled[1] else [])])


def _rows(name: str, content: Content, arms: list[str], pairs: list) -> Iterator[list[str]]:
    cells = _by_adaptation(content)
    home = {arm: cell.results.shown for arm, cell in cells.items()}
    simple = max(simple_models(content), key=lambda one: one.score, default=None)
    shown = [
        words.score(content.baseline.score),
        f"{words.score(simple.score)} ({words.visible(simple.name)})" if simple else "",
        *(home.get(arm, "") for arm in arms),
    ]
    yield [name, HOME, *shown, *(_tested(content.pairs, cells, pair) for pair in pairs)]
    for domain in content.shifted:
        found = {arm: domain.cells.get(cell.id) for arm, cell in cells.items()}
        shown = [
            words.score(domain.baseline),
            words.score(domain.references[simple.name].mean) if simple else "",
            *(_scored(found.get(arm)) for arm in arms),
        ]
        tests = [_tested(domain.pairs, cells, pair) for pair in pairs]
        yield ["", words.visible(domain.name), *shown, *tests]


def _pooled(contents: list[Content], pairs: list) -> tuple[list[str], list[list[str]]]:
    """Head and rows: each difference abroad, and that of the differences, over all moves."""
    by_family: dict[str, list[Move]] = defaultdict(list)
    for one in contents:
        moves = [Move(one, _by_adaptation(one), domain) for domain in one.shifted]
        by_family[FAMILIES[one.metric]] += moves
    rows = []
    for family, moves in by_family.items():
        for pair in pairs if len(moves) >= FEWEST_POOLED else ():
            there = [_test(move.domain.pairs, move.cells, pair) for move in moves]
            gaps = [_test(move.domain.gaps, move.cells, pair) for move in moves]
            rows.append(
                [_difference(*pair), family, str(len(moves)), _estimate(there), _estimate(gaps)]
            )
    return ["difference", "scores", "moves", "there", "there − at home"], rows


def _estimate(tests: list[PairTest | None]) -> str:
    known = [test for test in tests if test and test.error]
    if len(known) < 2:
        return ""
    found = random_effects([test.difference for test in known], [test.error for test in known])
    return f"{words.signed_points(found.estimate)} ({words.interval(list(found.interval))})"


def _by_adaptation(content: Content) -> Cells:
    """The best cell of each adaptation among the pretrained ones that trained."""
    found: dict[str, ScoredCell] = {}
    for entry in ranked(content.cells):
        if entry.cell.pretrained and entry.cell.results.trained:
            found.setdefault(entry.cell.adaptation, entry.cell)
    return found


def _test(tests: list[PairTest], cells: Cells, pair: tuple[str, str]) -> PairTest | None:
    """That of the second adaptation − the first; None where a cell is missing."""
    if not cells.keys() >= set(pair):
        return None
    first, second = (cells[arm].id for arm in pair)
    (found,) = [test for test in tests if {test.a, test.b} == {first, second}]
    return found.seen_from(second)


def _tested(tests: list[PairTest], cells: Cells, pair: tuple[str, str]) -> str:
    test = _test(tests, cells, pair)
    return f"{words.signed_points(test.difference)}{'*' if test.decided else ''}" if test else ""


def _scored(found) -> str:
    return words.mean_and_deviation(found.mean, found.deviation) if found else ""


def _difference(first: str, second: str) -> str:
    return f"{SYMBOLS.get(second, second)} − {SYMBOLS.get(first, first)}"
