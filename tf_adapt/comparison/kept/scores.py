"""Scores and tests of a comparison from its answers alone. Imports no TensorFlow."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from tf_adapt.comparison.diagnosis.report_reading import read_content
from tf_adapt.comparison.kept.answers import FILE, KeptAnswers, read_answers
from tf_adapt.comparison.kinds import KINDS
from tf_adapt.errors import ArtifactError
from tf_adapt.report.content import Content, ReferenceScores
from tf_adapt.report.scored_cells import TRAINED, ScoredCell
from tf_adapt.statistics.alpha_spending import level_of
from tf_adapt.statistics.pairs import above_baseline, compare_pairs, with_larger_designs
from tf_adapt.statistics.relation import PairTest
from tf_adapt.statistics.scores import item_statistics, of_groups, score_of, summary, sums_of

Rows = dict[str, np.ndarray]  # by cell
OfRuns = dict[str, dict[int, np.ndarray]]  # by cell and seed


def read_rescored(folder: Path) -> tuple[Content, KeptAnswers]:
    """The report of a folder with the scores and tests of its answers, and these.

    Raises:
        ArtifactError: as `read_content` and `read_answers`; the two are not of one comparison.
    """
    content, answers = read_content(folder), read_answers(folder / FILE)
    check_answers(folder / FILE, answers, content, content.examples[content.scored_on])
    return rescored(content, answers), answers


def check_answers(path: Path, answers: KeptAnswers, content: Content, examples: int) -> None:
    """Checks that answers are of the cells and of so many scored examples.

    Raises:
        ArtifactError: they are of another comparison.
    """
    if set(answers.cells) - {cell.id for cell in content.cells} or len(answers.gold) != examples:
        raise ArtifactError(
            f"{path}: expected answers of the cells and the {examples} scored examples of the "
            "report beside it, got others; take both from one comparison"
        )


def rescored(content: Content, answers: KeptAnswers) -> Content:
    """The content with scores and tests computed anew from the answers. Which seeds trained, and
    what earlier analyses decided, is the content's."""
    of_runs = statistics_of_runs(content, answers)
    cells = [_with_scores(cell, content, of_runs.get(cell.id, {})) for cell in content.cells]
    alpha = level_of(content.look)
    standing = {
        (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
        for pair in content.pairs
        if pair.decided and (pair.p_holm is None or pair.p_holm > alpha)
    }
    return tested(replace(content, cells=cells), answers, of_runs, standing)


def statistics_of_runs(content: Content, answers: KeptAnswers) -> OfRuns:
    """By cell and seed `item_statistics` of the answers, `[examples, k]`."""
    return {
        cell: {seed: _statistics(one, content, answers) for seed, one in seeds.items()}
        for cell, seeds in answers.cells.items()
    }


def tested(
    content: Content,
    answers: KeptAnswers,
    of_runs: OfRuns,
    standing: Collection[tuple[str, str]] = (),
) -> Content:
    """The content with the tests of pairs, of cells against the baseline, and of simple models.

    Args:
        of_runs: `statistics_of_runs`.
        standing: see `compare_pairs`.
    """
    metric = content.metric
    rows = {cell.id: rows for cell in content.cells if (rows := _trained(cell, content, of_runs))}
    statistics = {name: of_items(some, answers.items) for name, some in rows.items()}
    constant = constant_statistics(content, answers)
    folds = folds_of_items(content, answers)
    pairs = compare_pairs(metric, statistics, content.look, standing, folds)
    return replace(
        content,
        pairs=with_larger_designs(pairs, metric, statistics, folds),
        pairs_with_failed=_with_failed(content, answers, statistics, constant),
        baseline=replace(
            content.baseline,
            score=float(score_of(metric, constant.sum(0))),
            cells=above_baseline(metric, statistics, constant, content.look, folds),
        ),
        references=_references(content, answers, statistics, folds),
    )


def of_items(runs: Iterable[np.ndarray], items: np.ndarray) -> np.ndarray:
    """The statistics of the items of the tests, `[runs, items, k]`, of that of each example."""
    return np.stack([of_groups(one, items) for one in runs])


def _statistics(of_run: list, content: Content, answers: KeptAnswers) -> np.ndarray:
    return item_statistics(content.metric, of_run, answers.gold, content.labels, answers.scheme)


def _ended(cell: ScoredCell, content: Content) -> dict[int, str | None]:
    return dict(zip(content.seeds, cell.results.outcomes, strict=True))


def trained_seeds(cell: ScoredCell, content: Content) -> list[int]:
    """The seeds, or repeats, of a cell that trained."""
    return [seed for seed, end in _ended(cell, content).items() if end == TRAINED]


def _trained(cell: ScoredCell, content: Content, of_runs: OfRuns) -> list[np.ndarray]:
    return [of_runs[cell.id][seed] for seed in trained_seeds(cell, content)]


def statistics_of_simple(content: Content, answers: KeptAnswers) -> Rows:
    """By simple model the statistics of the items, `[trainings, items, k]`."""
    return {
        name: of_items((_statistics(one, content, answers) for one in trainings), answers.items)
        for name, trainings in answers.references.items()
    }


def folds_of_items(content: Content, answers: KeptAnswers, failed: bool = False) -> Rows:
    """By cell the fold of each item, of the repeats that trained, and then of those that failed."""
    if not content.folds:
        return {}
    of_repeats, found = _folds_of_repeats(answers), {}
    for cell in content.cells:
        ended = _ended(cell, content)
        repeats = [seed for seed, end in ended.items() if end == TRAINED]
        others = [seed for seed, end in ended.items() if end not in (TRAINED, None)]
        if repeats:
            some = [*repeats, *(others if failed else ())]
            found[cell.id] = np.stack([of_repeats[repeat] for repeat in some])
    return found


def _folds_of_repeats(answers: KeptAnswers) -> dict[int, np.ndarray]:
    # Items are whole in a fold, so that their first examples stand for them.
    _, first = np.unique(answers.items, return_index=True)
    return {repeat: folds[first] for repeat, folds in answers.folds.items()}


def constant_statistics(content: Content, answers: KeptAnswers) -> np.ndarray:
    """The statistics of the items where the baseline answers, `[items, k]`."""
    answer = content.baseline.answer
    answer = tuple(answer) if isinstance(answer, list) else answer
    constant = KINDS[content.kind].constant
    given = [constant(gold, answer) for gold in answers.gold]
    return of_groups(_statistics(given, content, answers), answers.items)


def _with_failed(
    content: Content, answers: KeptAnswers, statistics: Rows, constant: np.ndarray
) -> list[PairTest]:
    """The tests with the baseline's answers for failed seeds; empty where none failed."""
    failed = {cell.id: cell.results.failed.total for cell in content.cells}
    if not any(failed.values()):
        return []
    rows = {
        name: np.concatenate([trained, np.broadcast_to(constant, (failed[name], *constant.shape))])
        for name, trained in statistics.items()
    }
    folds = folds_of_items(content, answers, failed=True)
    return compare_pairs(content.metric, rows, content.look, folds=folds)


def _references(
    content: Content, answers: KeptAnswers, statistics: Rows, folds: Rows
) -> list[ReferenceScores]:
    if not statistics:
        return []
    own, found = np.stack([*_folds_of_repeats(answers).values()]) if folds else None, []
    for name, rows in statistics_of_simple(content, answers).items():
        score = float(score_of(content.metric, sums_of(rows)).mean())
        cells = above_baseline(content.metric, statistics, rows, content.look, folds, own)
        found.append(ReferenceScores(name=name, score=score, cells=cells))
    return found


def _with_scores(cell: ScoredCell, content: Content, of_cell: dict[int, np.ndarray]) -> ScoredCell:
    """The cell with the scores of its answers; seeds without them keep none."""
    ended = _ended(cell, content)
    scores = [
        float(score_of(content.metric, of_cell[seed].sum(0))) if seed in of_cell else None
        for seed in ended
    ]
    trained = [score for score, end in zip(scores, ended.values(), strict=True) if end == TRAINED]
    used = trained or [score for score in scores if score is not None]
    counted = [content.baseline.score if score is None else score for score in scores]
    nothing = dict.fromkeys(("mean", "deviation", "min", "max"))
    results = replace(
        cell.results,
        scores=scores,
        **(asdict(summary(used)) if used else nothing),
        mean_of_all=float(np.mean(counted)) if any(ended.values()) else None,
    )
    return replace(cell, results=results)
