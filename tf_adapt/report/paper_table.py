"""The table in the paper's form: encoders in rows, adaptations in columns."""

from hub_modules.families import has_words
from tf_adapt import paper
from tf_adapt.paper import FROZEN, TUNED
from tf_adapt.printing import words
from tf_adapt.printing.words import visible
from tf_adapt.report.blocks import Entry, Table, field_of
from tf_adapt.report.cells import encoder_name, encoder_of, variant
from tf_adapt.report.content import Content
from tf_adapt.report.kinds import KINDS
from tf_adapt.report.scored_cells import ScoredCell
from tf_adapt.statistics.relation import AHEAD, BEHIND, OPEN, relation


def paper_table(content: Content) -> Table:
    """The scores of cells and baseline, coloured where the tests decide between 🔥 and ❄."""
    cells, rows = content.cells, []
    present = dict.fromkeys(cell.adaptation for cell in cells)
    first = [name for name in (FROZEN, TUNED) if name in present]
    adaptations = first + [name for name in present if name not in first]
    for of_encoder in _by_encoder(cells):
        tones = _tones(of_encoder, content)
        row = [field_of(_row_name(of_encoder))]
        for name in adaptations:
            fitting = [cell for cell in of_encoder if cell.adaptation == name]
            entries = [_score_entry(cell, tones, len(content.seeds)) for cell in fitting]
            row.append(entries or field_of(words.NOTHING))
        rows.append(row)
    rows += _papers_row(content, adaptations)
    constant = Entry("baseline", baseline_text(content.baseline.answer, content.kind))
    baselines = [(Entry(reference.name), reference.score) for reference in content.references]
    # They have no adaptation: the same score in every column.
    for entry, score in [*baselines, (constant, content.baseline.score)]:
        rows.append([[entry], *[field_of(words.score(score))] * len(adaptations)])
    columns = ["encoder", *(_adaptation(name) for name in adaptations)]
    recommended = content.verdict and content.verdict.recommended
    best = [cell.adaptation for cell in cells if cell.id == recommended]
    main = 1 + adaptations.index(best[0]) if best else None
    return Table(_caption(content), columns, rows, main=main)


def _papers_row(content: Content, adaptations: list[str]) -> list[list[list[Entry]]]:
    """The paper's Skip-thoughts ❄, which a sentence module is compared with; for other encoders and
    data no row."""
    dataset = paper.NAMED_DATASETS.get(content.dataset)
    score = paper.SKIP_THOUGHTS.get(dataset) if content.genre is None else None
    if score is None or all(has_words(cell.family) for cell in content.cells):
        return []
    if content.metric != paper.TABLE_2_DATASETS[dataset][1].split(",")[0].lower():
        return []
    name = Entry("Skip-thoughts", "the paper's table 2, on test")
    fields = [
        field_of(f"{score:.1f}" if adaptation == FROZEN else words.NOTHING)
        for adaptation in adaptations
    ]
    return [[[name], *fields]] if FROZEN in adaptations else []


def baseline_text(answer: str | float | list, kind: str) -> str:
    """The baseline's constant prediction for a kind of task: `always 'yes'`."""
    return f"always {KINDS[kind].baseline(answer)}"


def _by_encoder(cells: list[ScoredCell]) -> list[list[ScoredCell]]:
    """The cells of each row."""
    rows: dict[tuple, list[ScoredCell]] = {}
    for cell in cells:
        rows.setdefault(_row_of(cell, cells), []).append(cell)
    return list(rows.values())


def _row_of(cell: ScoredCell, cells: list[ScoredCell]) -> tuple:
    """The row of a cell: its encoder, pretrained or not.

    A cell without a finished run has no module hash or family, which sets the default for pairs; it
    joins the row of a cell with the same encoder name.
    """
    if cell.module is None:
        named = [other for other in cells if other.module and _named(other) == _named(cell)]
        cell = min(named, key=lambda other: other.pairs != cell.pairs, default=cell)
    return (*encoder_of(cell), cell.pretrained)


def _named(cell: ScoredCell) -> tuple:
    """What is known of an encoder before a run has finished."""
    return (cell.encoder, cell.pretrained, cell.classification_token, cell.long, cell.execution)


def _row_name(of_encoder: list[ScoredCell]) -> str:
    return encoder_name(next((cell for cell in of_encoder if cell.module), of_encoder[0]))


def _tones(of_encoder: list[ScoredCell], content: Content) -> dict[str, tuple[str, float]]:
    """The coloured cell of an encoder, with tone and 🔥 − ❄ in points: the better of the best ❄ and
    the best 🔥, if their difference is decided and no seed of either failed. Empty if no cell is
    above the baseline."""
    best = []
    for name in (FROZEN, TUNED):
        trained = [cell for cell in of_encoder if cell.adaptation == name and cell.results.trained]
        best += sorted(trained, key=lambda cell: -cell.results.mean)[:1]
    if len(best) < 2 or not _above_baseline(content):
        return {}
    frozen, tuned = (cell.id for cell in best)
    pair = next(tested for tested in content.pairs if {tested.a, tested.b} == {frozen, tuned})
    failed = any(cell.results.failed.total for cell in best)
    how = OPEN if failed else relation(pair, tuned)
    if how not in (AHEAD, BEHIND):
        return {}
    points = abs(100 * pair.difference) * (1 if how == AHEAD else -1)
    tone = paper.colour(points)
    return {tuned if how == AHEAD else frozen: (tone, points)} if tone else {}


def _above_baseline(content: Content) -> bool:
    return content.verdict is not None and content.verdict.above_baseline


def _score_entry(cell: ScoredCell, tones: dict[str, tuple[str, float]], seeds: int) -> Entry:
    notes, results = [variant(cell)], cell.results
    failed = results.failed.total
    if failed:
        notes.append(f"failed in {failed} of {words.counted(seeds, 'seed')}")
        if results.trained:
            pronoun = "it" if failed == 1 else "them"
            notes.append(f"{words.score(results.mean_of_all)} with {pronoun}")
    tone, points = tones.get(cell.id, (None, 0.0))
    if tone:
        notes.append(f"{tone}: 🔥 − ❄ {words.signed_points(points / 100)}")
    return Entry(results.shown, "; ".join(notes), tone)


def _caption(content: Content) -> str:
    cells, seeds = content.cells, len(content.seeds)
    none = f"one {content.seed}, so no deviation"
    spread = f"mean ± deviation over {content.runs}" if seeds > 1 else none
    if any(cell.results.failed.total and cell.results.trained for cell in cells):
        spread += "; where some failed, over those that trained"
    sentences = [
        f"{words.metric_name(content.metric)} × 100 on {visible(content.scored_on)}, {spread}"
    ]
    if content.metric in words.READ_AS:
        sentences.append(words.READ_AS[content.metric])
    compared = [
        (_row_of(cell, cells), cell.adaptation)
        for cell in cells
        if cell.adaptation in (FROZEN, TUNED)
    ]
    if len({adaptation for _, adaptation in compared}) == 2:
        of_several = ", of several heads the best," if len(set(compared)) < len(compared) else ""
        sentences.append(
            f"Coloured as in the paper{of_several} and marked with a word where 🔥 − ❄ is at least "
            "+1.0 (tune) or at most −1.0 (freeze) and decided by the pairwise tests"
            if _above_baseline(content)
            else "Nothing is coloured, since no cell is shown to be above the baseline"
        )
    return ". ".join(sentences) + "."


def _adaptation(name: str) -> str:
    return f"{paper.SYMBOLS[name]} {name}" if name in paper.SYMBOLS else visible(name)
