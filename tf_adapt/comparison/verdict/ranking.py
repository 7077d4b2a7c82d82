"""The ranking of cells by the tests: best, recommended, alike, undecided."""

from dataclasses import dataclass

from tf_adapt.comparison.verdict.phrases import describe_all, with_score
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell
from tf_adapt.statistics.pairs import MARGIN
from tf_adapt.statistics.relation import AHEAD, ALIKE, BEHIND, OPEN, WORTH, PairTest, relation


@dataclass(frozen=True)
class Ranking:
    """The cells that trained, in relation to the best and to the recommended cell.

    Attributes:
        content: the content of the report.
        cells: those with a trained seed, by id.
        names: of all cells, for sentences.
        pairs: the tests, by the two cells' ids.
        best: the pretrained cell with the highest mean.
        recommended: the cell with the fewest trainable parameters among the best, those alike and
            those close.
        alike: pretrained cells that are alike with the best.
        open: pretrained cells that are neither behind the best nor alike.
        close: of these, those with the same answers, or less than a point behind and with an
            interval within two.
        untrained_ahead: cells without pretraining that are ahead of the recommended cell.
        untrained_open: cells without pretraining that are neither ahead of it nor behind.
    """

    content: Content
    cells: dict[str, ScoredCell]
    names: dict[str, str]
    pairs: dict[frozenset[str], PairTest]
    best: str
    recommended: str
    alike: list[str]
    open: list[str]
    close: list[str]
    untrained_ahead: list[str]
    untrained_open: list[str]

    @property
    def rivals(self) -> list[str]:
        """The other pretrained cells."""
        return [n for n, c in self.cells.items() if c.pretrained and n != self.best]

    def pair(self, other: str) -> PairTest:
        """The test of the best cell against another."""
        return self.between(self.best, other)

    def between(self, name: str, other: str) -> PairTest:
        """The test of one cell against another."""
        return self.pairs[frozenset((name, other))].seen_from(name)

    @property
    def ahead_with_failed(self) -> bool:
        """Whether the best cell is ahead of all pretrained ones with the baseline's answers for its
        failed seeds too; False where it is the cheapest of cells that are alike."""
        tests = [p for p in self.content.pairs_with_failed if self.best in (p.a, p.b)]
        others = {p.b if p.a == self.best else p.a: p for p in tests}
        return self.recommended == self.best and all(
            name in others and relation(others[name], self.best) == AHEAD for name in self.rivals
        )

    def shown(self, name: str) -> str:
        """`bert_small with fine_tuning (linear head) at 81.0 ± 1.0`."""
        return with_score(self.names[name], self.cells[name])


def ranking(content: Content) -> Ranking | None:
    """The ranking of a comparison's cells; None if no pretrained cell trained."""
    cells = {cell.id: cell for cell in content.cells if cell.results.trained}
    able = [name for name, cell in cells.items() if cell.pretrained]
    if not able:
        return None
    pairs = {frozenset((pair.a, pair.b)): pair for pair in content.pairs}
    best = max(able, key=lambda name: cells[name].results.mean)
    others = {n: relation(pairs[frozenset((best, n))], best) for n in able if n != best}
    alike = [name for name, how in others.items() if how == ALIKE]
    undecided = [name for name, how in others.items() if how in (OPEN, BEHIND)]
    close = [name for name in undecided if is_close(pairs[frozenset((best, name))])]
    recommended = min([best, *alike, *close], key=lambda n: cells[n].costs.trainable_parameters)
    untrained = {
        name: relation(pairs[frozenset((recommended, name))], recommended)
        for name, cell in cells.items()
        if not cell.pretrained
    }
    return Ranking(
        content=content,
        cells=cells,
        names=describe_all(content.cells),
        pairs=pairs,
        best=best,
        recommended=recommended,
        alike=alike,
        open=undecided,
        close=close,
        untrained_ahead=[name for name, how in untrained.items() if how == BEHIND],
        untrained_open=[name for name, how in untrained.items() if how in (OPEN, ALIKE)],
    )


def is_close(pair: PairTest) -> bool:
    """Whether an open pair has the same answers, or is less than a point apart, with an interval
    within two."""
    if pair.why == "identical":
        return True
    widest = max(map(abs, pair.interval or [1.0]))
    return pair.p_holm is not None and abs(pair.difference) < MARGIN and widest <= WORTH


def alone(content: Content, cell: ScoredCell) -> Ranking:
    """The ranking of a single cell, for a comparison in which no pretrained cell trained."""
    return Ranking(
        content=content,
        cells={cell.id: cell},
        names=describe_all(content.cells),
        pairs={},
        best=cell.id,
        recommended=cell.id,
        alike=[],
        open=[],
        close=[],
        untrained_ahead=[],
        untrained_open=[],
    )
