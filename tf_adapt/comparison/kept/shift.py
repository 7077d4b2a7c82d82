"""What the answers in other domains say of a comparison's cells. Imports no TensorFlow."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from tf_adapt.comparison.kept.answers import KeptAnswers, file_of_domain, read_answers
from tf_adapt.comparison.kept.scores import (
    check_answers,
    constant_statistics,
    folds_of_items,
    of_items,
    statistics_of_runs,
    statistics_of_simple,
    trained_seeds,
)
from tf_adapt.report.content import Content
from tf_adapt.report.shift.domains import DomainScores, ShiftedDomain
from tf_adapt.statistics.scores import score_of, summary, sums_of
from tf_adapt.statistics.shift import compare_abroad, compare_gaps


def shifted_domains(
    content: Content,
    home: KeptAnswers,
    abroad: Mapping[str, KeptAnswers],
    descriptions: Mapping[str, str],
    overlaps: Mapping[str, int],
) -> list[ShiftedDomain]:
    """Scores and tests in each domain.

    Args:
        home: the answers of the scored split.
        abroad: those in each domain, by name; with folds by training, see `training_numbers`.
        descriptions, overlaps: of each domain.
    """
    metric, folds = content.metric, content.folds
    at_home = _rows(content, home, [None])
    there = {name: _rows(content, one, range(folds or 0) or [None]) for name, one in abroad.items()}
    pairs = compare_abroad(metric, there, content.look, folds)
    gaps = compare_gaps(
        metric, at_home, there, content.look, folds, folds_of_items(content, home) or None
    )
    return [
        ShiftedDomain(
            name=name,
            description=descriptions[name],
            examples=len(answers.gold),
            items=int(answers.items.max()) + 1,
            overlap_with_train=overlaps[name],
            baseline=float(score_of(metric, constant_statistics(content, answers).sum(0))),
            cells={cell: _scores(metric, rows) for cell, rows in there[name].items()},
            references={
                model: _scores(metric, rows)
                for model, rows in statistics_of_simple(content, answers).items()
            },
            pairs=pairs[name],
            gaps=gaps[name],
        )
        for name, answers in abroad.items()
    ]


def read_shifted(folder: Path, content: Content, home: KeptAnswers) -> Content:
    """The content with the scores and tests of its domains computed anew from their answers.

    Raises:
        ArtifactError: as `read_answers`; they are not of this comparison.
    """
    if not content.shifted:
        return content
    domains = content.shifted
    abroad = {}
    for one in domains:
        path = folder / file_of_domain(one.name)
        abroad[one.name] = read_answers(path)
        check_answers(path, abroad[one.name], content, one.examples)
    found = shifted_domains(
        content,
        home,
        abroad,
        {one.name: one.description for one in domains},
        {one.name: one.overlap_with_train for one in domains},
    )
    return replace(content, shifted=found)


def training_number(repeat: int, fold: int | None, folds: int | None) -> int:
    """Under which number the answers of a training are kept: its seed, with folds counted on."""
    return repeat if fold is None else repeat * folds + fold


def _rows(content: Content, answers: KeptAnswers, numbers) -> dict[str, np.ndarray]:
    """By cell the statistics of the items, `[trainings, items, k]`, of the seeds that trained."""
    of_runs, found = statistics_of_runs(content, answers), {}
    for cell in content.cells:
        trained = [
            of_runs[cell.id][training_number(seed, number, content.folds)]
            for seed in trained_seeds(cell, content)
            for number in numbers
        ]
        if trained:
            found[cell.id] = of_items(trained, answers.items)
    return found


def _scores(metric: str, rows: np.ndarray) -> DomainScores:
    scores = score_of(metric, sums_of(rows)).tolist()
    of_scores = summary(scores)
    return DomainScores(scores, of_scores.mean, of_scores.deviation)
