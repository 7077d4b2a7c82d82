"""The trials of a search, one after another: those in run folders, then the next.

What a trial sets is read from the config in its folder, where it has one; else it is drawn after
the trials before, which gives the same again. Imports no TensorFlow.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tf_adapt.comparison.execution.runs import CellRun, Setting
from tf_adapt.comparison.search.section import SearchSection
from tf_adapt.comparison.search.space import EPOCHS, RATE, CellSearch, drawn
from tf_adapt.comparison.search.studies import PastTrial, limits, next_values
from tf_adapt.config.sections import Config
from tf_adapt.runs import run_folder
from tf_adapt.training.resolving.run_config import flat, saved_config

# Curves of trials have no score where it is not finite; such an epoch is worse than any other.
UNDEFINED = -1e9
# The `metrics.json` of a run; None: it has not finished.
Metrics = Callable[[CellRun], dict[str, Any] | None]


def trials_of(
    run: CellRun, known: list[Setting], metrics: Metrics, share: float = 1.0
) -> list[CellRun]:
    """The trials that are over, and the next one, if the budget has another.

    Args:
        run: of the cell, with the seed of its trials and no setting.
        known: the settings so far, to which new ones are added.
        metrics: of a run.
        share: of the minutes of the cell.
    """
    search = run.cell.search
    trials = [with_setting(run, setting) for setting in known[: search.section.trials]]
    while all(_is_over(trial, metrics) for trial in trials[-1:]):
        if _is_spent(search.section, trials, metrics, share):
            break
        setting = _next_setting(run, trials, metrics)
        known.append(setting)
        trials.append(with_setting(run, setting))
    return trials


def with_setting(run: CellRun, setting: Setting) -> CellRun:
    """The run with a setting."""
    return replace(run, rate=setting.values_by_key[RATE], setting=setting)


def past_trial(trial: CellRun, metrics: dict[str, Any] | None) -> PastTrial:
    """What a trial that is over tells the search."""
    values = trial.setting.values_by_key
    if metrics is None:
        return PastTrial(values, None)
    target = trial.cell.config.target
    name = metrics["metric"] if target is None else f"{target}/{metrics['metric']}"
    curve: list[float] = []
    for row in run_folder.read_history(trial.folder):
        score = float(row[f"dev_{name}"] or UNDEFINED)
        curve.append(max([score, *curve[-1:]]))
    score = metrics["dev"][metrics["metric"]]
    return PastTrial(values, score, curve, was_stopped(trial, len(curve), curve[-1]))


def was_stopped(trial: CellRun, epochs: int, best: float) -> bool:
    """Whether a trial was ended early, with its best score after so many epochs."""
    below = trial.setting.stop_below
    limit = below[epochs - 1] if epochs <= len(below) else None
    return limit is not None and best < limit


def seconds_of(trials: list[CellRun], metrics: Metrics) -> float:
    """The seconds of trials. Those that diverged left none, and count as the mean of the others."""
    known = [spent(of_run) for trial in trials if (of_run := metrics(trial)) is not None]
    return sum(known) / len(known) * len(trials) if known else 0.0


def spent(metrics: dict[str, Any]) -> float:
    """The seconds of a run. Its total is that of its last process; what it trained and scored
    before a kill is in its checkpoints, but for an epoch that was not over."""
    seconds = metrics["seconds"]
    return max(seconds["total"], seconds.get("training", 0.0) + seconds.get("evaluation", 0.0))


def _is_over(trial: CellRun, metrics: Metrics) -> bool:
    return metrics(trial) is not None or trial.failure.is_file()


def _is_spent(
    section: SearchSection, trials: list[CellRun], metrics: Metrics, share: float
) -> bool:
    if len(trials) >= section.trials:
        return True
    if section.minutes is None or not trials:
        return False
    return seconds_of(trials, metrics) >= 60 * section.minutes * share


def _next_setting(run: CellRun, trials: list[CellRun], metrics: Metrics) -> Setting:
    search, number = run.cell.search, len(trials)
    begun = saved_config(with_number(run, number).folder)
    if begun is not None:
        return _setting_in(begun, search, number)
    past = [past_trial(trial, metrics(trial)) for trial in trials]
    values = next_values(search.space, search.section, past, run.seed)
    epochs = run.cell.config.training.epochs
    searched = [end for key in search.space if key.key == EPOCHS for end in key.ends]
    stop_below = limits(
        search.section, past, values.get(EPOCHS, epochs), max(searched, default=epochs)
    )
    return Setting(number, tuple(values.items()), stop_below)


def with_number(run: CellRun, number: int) -> CellRun:
    """The run in the folder of a trial whose values are not known."""
    return replace(run, setting=Setting(number, ()))


def _setting_in(config: Config, search: CellSearch, number: int) -> Setting:
    """The setting of a run's config."""
    keys = flat(config.model_dump())
    values = drawn(search.space, lambda alternative: keys.get(alternative.key))
    return Setting(number, tuple(values.items()), tuple(config.training.stop_below or ()))
