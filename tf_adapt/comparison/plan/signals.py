"""Signals as cells of a comparison: what a run learns from beside the labels.

    compare:
      signals:
        alone: {}
        after_mnli: {start: {config: mnli.yaml}}
        consistency: {auxiliary: {consistency: {unlabelled: more.tsv, perturbation: words}}}
        with_mnli: {tasks: {mnli: {data: {dataset: mnli, data_dir: mnli}}}, target: mrpc}

Each is a section of keys of a run, laid over all others in its cells: every encoder with every
adaptation, head and signal is a cell, but for signals that name their `adaptations` or `encoders`.
Imports no TensorFlow.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import yaml

from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.comparison.plan.sections import Compare, SignalSettings
from tf_adapt.config.messages import Problems, shown
from tf_adapt.config.reading import typed_tasks
from tf_adapt.config.sections import Config
from tf_adapt.config.task_checks import HEAD
from tf_adapt.printing.words import did_you_mean
from tf_adapt.training.resolving.run_config import flat

KEY = ("compare", "signals")
NAME = re.compile(r"[A-Za-z0-9_]+")


def laid_over(shared: dict[str, Any], upper: dict[str, Any]) -> dict[str, Any]:
    """Nested values of `shared`, overridden by those of `upper`."""
    merged = dict(shared)
    for key, value in upper.items():
        both = isinstance(value, dict) and isinstance(shared.get(key), dict)
        merged[key] = laid_over(shared[key], value) if both else value
    return merged


def typed_signals(section: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """The section `signals` with the tasks of each typed; other keys are left to `Compare`."""
    typed = dict(section)
    for name, signal in section.items():
        path = (*KEY, name)
        if not (isinstance(name, str) and NAME.fullmatch(name)):
            problems.add(path, "expected a name of letters, digits and _; rename it")
        if isinstance(signal, dict) and "folds" in signal:
            problems.add(
                (*path, "folds"),
                "expected leave_out_parts, the name of this key; folds of a cross-validation are "
                "compare.folds",
            )
            typed[name] = signal = {k: v for k, v in signal.items() if k != "folds"}
        if not isinstance(signal, dict) or not isinstance(signal.get("tasks"), dict):
            continue
        typed[name] = signal | {"tasks": typed_tasks(signal["tasks"], problems, path)}
    return typed


def signals_of(
    encoder: str, adaptation: str, signals: dict[str, SignalSettings]
) -> Sequence[str] | Sequence[None]:
    """The names of the signals that the cells of an encoder with an adaptation have; without any
    signals None.

    Args:
        encoder: its handle.
    """
    named = [
        name
        for name, signal in signals.items()
        if (signal.adaptations is None or adaptation in signal.adaptations)
        and (signal.encoders is None or encoder in signal.encoders)
    ]
    return named if signals else [None]


def check_signals(varied: Compare, problems: Problems) -> None:
    """Checks that every adaptation of an encoder has a signal; that no further task has the name
    of the comparison's own, or is an ensemble's; that teachers have the cells of their students."""
    signals = varied.signals
    for encoder, adaptation in _pairs(varied):
        if not signals_of(encoder, adaptation, signals):
            problems.add(
                KEY,
                f"expected at least one for every adaptation of every encoder, got none for "
                f"{adaptation} of {encoder}; add one, such as alone: {{}}, or leave one of them "
                "out",
            )
    known = {
        "adaptations": [item.name for item in varied.adaptations],
        "encoders": [item.handle for item in varied.encoders],
    }
    for name, signal in signals.items():
        for key, names in known.items():
            for chosen in getattr(signal, key) or ():
                if chosen not in names:
                    problems.add(
                        (*KEY, name, key),
                        f"expected some of compare.{key} ({', '.join(names)}), got {shown(chosen)}"
                        f"{did_you_mean(chosen, names)}",
                    )
        if signal.ensemble and signal.leave_out_parts:
            problems.add(
                (*KEY, name, "leave_out_parts"),
                f"expected null together with ensemble, got {signal.leave_out_parts}: the members "
                "either have all of train or leave out a part each",
            )
        if signal.leave_out_parts and varied.folds:
            problems.add(
                (*KEY, name, "leave_out_parts"),
                f"expected null beside compare.folds, got {signal.leave_out_parts}: each model of "
                "a fold leaves out a part already; remove one of them",
            )
        if signal.leave_out_parts and signal.slice_heads:
            problems.add(
                (*KEY, name, "slice_heads"),
                "expected false together with leave_out_parts, got true: a part of train may "
                "lack all members of a slice",
            )
        if signal.tasks and signal.together:
            kinds = ("ensemble", "leave_out_parts", "members")
            problems.add(
                (*KEY, name, next(key for key in kinds if getattr(signal, key))),
                f"expected null together with tasks, got {signal.together}: the members of an "
                "ensemble have one task",
            )
        if signal.teacher is not None:
            _check_teacher(name, signal, varied, problems)
        if signal.tasks and (signal.target is None or signal.target in signal.tasks):
            got = "null" if signal.target is None else f"{signal.target}, which is one of them"
            problems.add(
                (*KEY, name, "target"),
                "expected a name for the comparison's own task, whose data and head are those of "
                f"all cells and not repeated in tasks, got {got}",
            )


def _check_teacher(name: str, signal: SignalSettings, varied: Compare, problems: Problems) -> None:
    path, teacher, signals = (*KEY, name, "teacher"), signal.teacher, varied.signals
    if (teacher.run is None) == (teacher.signal is None):
        got = "neither" if teacher.run is None else "both"
        problems.add(path, f"expected either run or signal, got {got}")
    if teacher.signal is None:
        return
    fitting = [
        other
        for other, signal in signals.items()
        if not signal.tasks and (signal.teacher is None or signal.teacher.signal is None)
    ]
    if teacher.signal not in fitting:
        problems.add(
            (*path, "signal"),
            "expected a signal that has one task and no signal for a teacher "
            f"({', '.join(fitting) or 'there is none'}), got {teacher.signal}"
            f"{did_you_mean(teacher.signal, fitting)}",
        )
        return
    for encoder, adaptation in _pairs(varied):
        there = signals_of(encoder, adaptation, signals)
        if name in there and teacher.signal not in there:
            problems.add(
                (*path, "signal"),
                f"expected a signal that {adaptation} has too on {encoder}, got {teacher.signal}; "
                "change adaptations or encoders of one of them",
            )


def _pairs(varied: Compare) -> list[tuple[str, str]]:
    """Each encoder's handle with each adaptation's name."""
    handles = dict.fromkeys(encoder.handle for encoder in varied.encoders)
    names = dict.fromkeys(adaptation.name for adaptation in varied.adaptations)
    return list(itertools.product(handles, names))


def with_signal(
    content: dict[str, Any], signal: SignalSettings, prefix: KeyPath, problems: Problems
) -> tuple[dict[str, Any], Problems]:
    """The plain values of a run's config in the cells with a signal, and where to add its problems.

    Args:
        content: of the cell without it.
        prefix: the path of the signal, where its keys are located.
    """
    content = laid_over(content, signal.of_a_run())
    locations = {
        path[len(prefix) :]: place
        for path, place in problems.locations.items()
        if path[: len(prefix)] == prefix and path != prefix
    }
    if signal.tasks:
        content = _with_own_task(content)
    return content, problems.within(f"{problems.where} (cells with {prefix[-1]})", locations)


def _with_own_task(content: dict[str, Any]) -> dict[str, Any]:
    """The comparison's own data and head as one of several tasks."""
    moved = {key: value for key, value in content.items() if key in ("data", *dict(HEAD))}
    others = {key: value for key, value in content.items() if key not in moved}
    return others | {"tasks": {content["target"]: moved} | content["tasks"]}


def own_data(config: Config) -> Any:
    """The section `data` that is the comparison's own; of several tasks the target's."""
    return config.data if config.tasks is None else config.of_task(config.target).data


def with_own_data(config: Config, data: Any) -> Config:
    """The config with another section of `own_data`."""
    if config.tasks is None:
        return config.model_copy(update={"data": data})
    of_target = config.tasks[config.target].model_copy(update={"data": data})
    return config.model_copy(update={"tasks": config.tasks | {config.target: of_target}})


def in_words(signal: SignalSettings) -> str:
    """Its keys as they were given: `start: {config: mnli.yaml}`."""
    section = signal.model_dump(exclude_unset=True, exclude={"adaptations", "encoders"})
    text = yaml.safe_dump(section, default_flow_style=True, width=10**6, sort_keys=False)
    keys = text.strip().removeprefix("{").removesuffix("}") or "nothing but the labels"
    only = [", ".join(names) for names in (signal.encoders, signal.adaptations) if names]
    return keys + (f" (with {' and '.join(only)} alone)" if only else "")


def keys_of(signal: SignalSettings) -> tuple[str, ...]:
    """The beginnings of the keys of a run, joined by dots, that a signal changes."""
    section = signal.of_a_run()
    moved = ("data", *dict(HEAD)) if signal.tasks else ()
    training = flat({"training": section.pop("training", {})})
    return (*section, *training, *moved)
