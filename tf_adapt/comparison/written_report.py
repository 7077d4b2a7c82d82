"""Writes the report of a comparison, and beside it the answers of the recommended cell: confusions,
errors, likely label errors."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from hub_modules.storage.files import write_text
from tf_adapt.comparison.answers import assembled, predictions_of
from tf_adapt.comparison.cell_results import SCORED_ON
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.extending import Run
from tf_adapt.comparison.kept.answers import KeptAnswers, write_answers
from tf_adapt.comparison.kinds import KINDS
from tf_adapt.comparison.winner_export import cell_to_export, export_best
from tf_adapt.data.gold_answers import gold_answers
from tf_adapt.data.kinds import KINDS as DATA
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.report.content import AnswerFiles, Content
from tf_adapt.report.write import write_report
from tf_adapt.runs.answer_files import (
    CONFUSION,
    ERRORS,
    located_texts,
    rounded,
    table_text,
    text_columns,
    write_answer_files,
)
from tf_adapt.runs.prediction_files import read_probabilities
from tf_adapt.statistics.label_errors import label_errors

LABEL_ERRORS = "label_errors.csv"
FILES = (CONFUSION, ERRORS, LABEL_ERRORS)


def reported(
    outcomes: Outcomes,
    splits: Splits,
    content: Content,
    answers: Mapping[str, KeptAnswers],
    anyway: bool,
    run: Run,
) -> Content:
    """The content with the place of the export and of the answers, after all is written.

    Args:
        answers: all that the content is computed from, by the names of their files.
        run: trains what is to be exported, with folds a model of all examples.
    """
    try:
        outcomes.refit = cell_to_export(outcomes, content, anyway)
        run(outcomes)
        exported = export_best(outcomes, content, anyway)
        content = replace(content, verdict=replace(content.verdict, exported=exported))
    finally:  # the report is written even if the export fails
        content = _with_answer_files(content, outcomes, splits)
        for name, some in answers.items():
            write_answers(some, outcomes.out / name)
        write_report(content, outcomes.out)
    return content


def _with_answer_files(content: Content, outcomes: Outcomes, splits: Splits) -> Content:
    """The content with its `answer_files`, which are written; those without content are removed.

    With folds all examples are looked through for label errors: the probabilities of each are those
    of models that did not see it, means over the repeats.
    """
    out, cell = outcomes.out, content.verdict.recommended
    cells = [one for one in outcomes.comparison.cells if one.name == cell]
    runs = [run for one in cells for run in outcomes.final_runs(one) if outcomes.metrics(run)]
    for name in FILES:
        (out / name).unlink(missing_ok=True)
    if not runs:
        return content
    examples, kind = splits.examples[SCORED_ON], splits.kind
    answers = [predictions_of(run, splits, SCORED_ON)[run.folder] for run in runs]
    scores = [_probabilities(run, splits) for run in runs]
    names = write_answer_files(
        out,
        kind,
        examples,
        list(zip(answers, scores, strict=True)),
        splits.labels,
        splits.scheme,
    )
    found = None
    # Of cells that know no more than the baseline the list would say nothing.
    is_asked = content.folds and KINDS[kind].questions is not None
    if is_asked and scores[0] is not None and content.verdict.above_baseline:
        mean = np.mean(scores, axis=0)
        found = _write_label_errors(out, examples, mean, splits)
        names += [LABEL_ERRORS] if found else []
    return replace(content, answer_files=AnswerFiles(cell, names, found))


def _probabilities(run: CellRun, splits: Splits) -> list | None:
    """Of each scored example what `read_probabilities` finds in the run's files, or None."""

    def of_run(one: CellRun, expected: int) -> list | None:
        found = read_probabilities(one.folder, SCORED_ON, splits.kind, one.cell.config.target)
        return found if found and all(found) else None

    return assembled(run, splits, SCORED_ON, of_run)


def _write_label_errors(
    out: Path, examples: list, probabilities: np.ndarray, splits: Splits
) -> int:
    """The number of labels that are listed; the file is written if there are some."""
    part = [DATA[splits.kind].choices.part] if DATA[splits.kind].choices.part else []
    gold, listed = gold_answers(examples, splits.kind), []
    questions = KINDS[splits.kind].questions(gold, probabilities, splits.labels)
    for name, names, given, of_each in questions:
        listed += [
            (score, number, name, names[given[number]], names[likely])
            for number, likely, score in label_errors(given, of_each)
        ]
    listed.sort(key=lambda error: error[:2])
    rows = [
        [*located_texts(examples[number]), *([name] if part else []), given, likely, rounded(score)]
        for score, number, name, given, likely in listed
    ]
    if rows:
        header = ["where", *text_columns(examples), *part, "given", "likely", "score"]
        write_text(out / LABEL_ERRORS, table_text([header, *rows]))
    return len(rows)
