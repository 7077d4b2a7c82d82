"""A search whose trials are scored by a closed form, without a training."""

import math

import finished_runs

from tf_adapt.comparison.execution.fold_outcomes import FoldOutcomes
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.config.reading import dump_config, load_config
from tf_adapt.runs import run_folder
from tf_adapt.training.resolving import run_config

SPACE = {
    "training.learning_rate": [
        {"low": 1e-4, "high": 1e-1, "log": True, "when": {"adaptation.name": "freeze"}},
        {"low": 1e-5, "high": 1e-2, "log": True},
    ],
    "schedule.name": {"choices": ["linear_decay", "slanted_triangular"]},
    "schedule.ratio": {"low": 8.0, "high": 64.0, "when": {"schedule.name": "slanted_triangular"}},
    "training.epochs": {"low": 2, "high": 4},
    "optimizer.decay": {"choices": [None, 0.4], "when": {"adaptation.name": "tune"}},
}


def closed_form(config) -> list[float]:
    """The dev score after each epoch; best at a rate of 1e-3, triangular, and with four epochs."""
    training = config.training
    best = 0.9 - 0.1 * abs(math.log10(training.learning_rate) + 3)
    best -= 0.05 * (config.schedule.name == "linear_decay")
    return [best - 0.1 / epoch for epoch in range(1, training.epochs + 1)]


def finish(run) -> None:
    """What a run leaves in its folder, from the arguments that it is given."""
    arguments = run.arguments()
    overrides = [value for key, value in zip(arguments, arguments[1:], strict=False)
                 if key == "--set"]  # fmt: skip
    path = run.out / "cell.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_config(run.cell.config), "utf-8")
    config = load_config(path, overrides, seed=run.seed)
    below, curve = config.training.stop_below or [], []
    for epoch, score in enumerate(closed_form(config)):
        curve.append(score)
        if epoch < len(below) and below[epoch] is not None and score < below[epoch]:
            break
    with run_folder.locked(run.folder):
        run_config.start(run.folder, config)
        rows = [{"epoch": n, "dev_accuracy": score} for n, score in enumerate(curve, 1)]
        run_folder.write_history(run.folder, rows)
        finished_runs.finish(run.folder, dev={"accuracy": curve[-1]}, epochs=len(curve))


def outcomes_of(comparison, out) -> Outcomes:
    """Its runs, read anew from their folders, as after a kill."""
    return (FoldOutcomes if comparison.folds else Outcomes)(comparison, out)


def run_all(comparison, out, at_once: int, killed_every: int | None = None) -> list:
    """The trials' values by cell and number, after all runs; `at_once` are at work together."""
    outcomes, done, at_work = outcomes_of(comparison, out), 0, []
    while True:
        for run in list(outcomes.waiting()):
            if len(at_work) < at_once and run not in at_work:
                at_work.append(run)
        if not at_work:
            break
        finish(at_work.pop())
        done += 1
        if killed_every is not None and done % killed_every == 0:
            outcomes = outcomes_of(comparison, out)
    return [
        (cell.name, run.fold, run.setting)
        for cell in comparison.cells
        for run in outcomes.trials(cell)
    ]
