"""What the runs of a comparison learned from beside the labels, as sentences for the report.

Imports no TensorFlow.
"""

from typing import Any

from tf_adapt.comparison.cell_results import SCORED_ON
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.plan.cells import Cell
from tf_adapt.comparison.plan.signals import in_words
from tf_adapt.printing import words
from tf_adapt.printing.weak_labels import weak_in_words
from tf_adapt.runs.finished_run import chain_in_words


def signals_in_words(outcomes: Outcomes, metric: str) -> dict[str, list[str]] | None:
    """By name of a signal its keys, and what its runs learned from, by the first one that has
    finished; and which cells have no teacher. None: the comparison has no signals."""
    by_signal: dict[str, list[str]] = {}
    told = set()
    for cell in outcomes.comparison.cells:
        if cell.laid is None:
            return None
        sentences = by_signal.setdefault(cell.signal, [in_words(cell.laid)])
        runs = [run for run in outcomes.final_runs(cell) if outcomes.metrics(run)]
        if runs and cell.signal not in told:
            told.add(cell.signal)
            sentences += _sentences(outcomes, cell, outcomes.metrics(runs[0]), metric)
        if outcomes.has_no_teacher(cell):
            sentences.append(
                f"{cell.name} failed, for all runs of its teacher {cell.teacher} diverged"
            )
    return by_signal


def _sentences(outcomes: Outcomes, cell: Cell, metrics: dict[str, Any], metric: str) -> list[str]:
    sentences = []
    if metrics.get("start"):
        start = outcomes.start(cell)
        before = None if start is None else outcomes.metrics(start)
        cost = ""
        if before is not None:
            cost = f", trained first, once, in {words.amount(before['seconds']['training'])} s"
        sentences.append(f"every run starts from {chain_in_words(metrics['start'])}{cost}")
    if metrics.get("taught"):
        taught = metrics["taught"]
        side = taught["teacher"]
        who = (
            "every run" if cell.teacher is None else "each run, from that with its seed: the first"
        )
        sentences.append(
            f"{who} learns from the answers of {taught['run']} (weight {taught['weight']:g}, "
            f"{words.counted(taught['unlabelled'], 'text')} without labels; "
            f"{words.metric_name(metric)} {words.score(side[SCORED_ON][metric])}, "
            f"{words.parameters(side['parameters'])} parameters, "
            f"{words.amount(side['megabytes'])} MB, "
            f"{words.amount(side['serving_per_1000'])} s per 1,000 served)"
        )
    if metrics.get("weak"):
        sentences.append(f"every run is {weak_in_words(metrics['weak'])}")
    for name, task in (metrics.get("tasks") or {}).items():
        if name != metrics["target"]:
            scores = task.get(SCORED_ON) or task["dev"]
            split = SCORED_ON if task.get(SCORED_ON) else "dev"
            sentences.append(
                f"every run is trained on {name} too ({task['dataset']}), of which the first has "
                f"{words.metric_name(task['metric'])} {words.score(scores[task['metric']])} on "
                f"{split}"
            )
    return sentences
