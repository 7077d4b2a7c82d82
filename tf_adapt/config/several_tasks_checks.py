"""Checks of a config with several tasks, and of what one with one task has not. No TensorFlow."""

from typing import Any

from pydantic import BaseModel

from tf_adapt.config.kinds import KINDS
from tf_adapt.config.messages import shown
from tf_adapt.config.sections import Config, TaskConfig
from tf_adapt.config.task_checks import HEAD, Found, kind_of, task_problems
from tf_adapt.printing.words import did_you_mean


def several_tasks_problems(config: Config) -> Found:
    """Problems of a config with several tasks."""
    tasks = config.tasks
    if len(tasks) < 2:
        yield (
            ("tasks",),
            f"expected at least two tasks, got {', '.join(tasks) or 'none'}; write one task as "
            "data and head, without tasks",
        )
    for name in tasks:
        yield from _problems_of_task(config, name)
    if tasks and config.target not in tasks:
        yield (
            ("target",),
            f"expected one of the tasks {', '.join(tasks)}, got {shown(config.target)}"
            f"{did_you_mean(config.target or '', tasks)}",
        )
    yield from _problems_of_shared(config)
    yield from _problems_of_one_task(config)


def _problems_of_task(config: Config, name: str) -> Found:
    if not (name.isascii() and name.isidentifier()):
        yield (
            ("tasks", name),
            "expected a name of letters, digits and _ that does not begin with a digit; rename it",
        )
    kind = kind_of(config.of_task(name))
    alone = {} if kind is None else KINDS[kind].refused_among_tasks
    for path, problem in alone.items():
        yield ("tasks", name, *path), problem.format(kind=kind)
    if alone:
        return
    for path, problem in task_problems(config.of_task(name)):
        yield ("tasks", name, *path) if path[0] in TaskConfig.model_fields else path, problem


def _problems_of_shared(config: Config) -> Found:
    """Of the encoder that the tasks share, and of its training."""
    if config.task_attention is not None and config.adaptation.adds_weights:
        yield (
            ("task_attention",),
            f"expected null with adaptation {config.adaptation.name}, which adds to the encoder "
            f"itself, got {config.task_attention}; take an adaptation that trains its weights, as "
            "fine_tuning",
        )
    if config.task_attention is not None and config.forgetting is not None:
        yield (
            ("forgetting",),
            "expected null together with task_attention, without whose layers the encoder is not "
            "the one that was trained, got a section; remove one of them",
        )
    if config.training.target_epochs >= config.training.epochs:
        yield (
            ("training", "target_epochs"),
            f"expected less than training.epochs ({config.training.epochs}), of which it is a "
            f"part, got {config.training.target_epochs}",
        )
    if config.training.target_epochs and config.training.patience is not None:
        yield (
            ("training", "patience"),
            "expected null together with training.target_epochs, which come last and which "
            f"patience would leave out, got {config.training.patience}; remove one of them (the "
            "best epoch on dev is kept without patience too)",
        )


def _problems_of_one_task(config: Config) -> Found:
    """Of keys that are for one task."""
    for path, given, default, reason in (
        (("data",), config.data, None, "each task has its own"),
        *(((key,), getattr(config, key), value, "each task has its own") for key, value in HEAD),
        (
            ("adaptation", "name"),
            None if config.adaptation.trains_encoder else config.adaptation.name,
            None,
            "the tasks would share nothing that is trained; train them one by one",
        ),
        (("teacher",), config.teacher, None, "a teacher is for one task"),
        (("weak",), config.weak, None, "votes are for one task"),
        (("slice_heads",), config.slice_heads, False, "heads of slices are for one task"),
        *(
            (("auxiliary", name), loss, None, "auxiliary losses are for one task")
            for name, loss in config.auxiliary
        ),
        *(
            (("training", key), getattr(config.training, key), default, "it is for one task")
            for key, default in (
                ("choose_thresholds", False),
                ("class_weight", None),
                ("jit_compile", False),
                ("strategy", None),
            )
        ),
    ):
        if given != default:
            wanted = "another adaptation" if path[-1] == "name" else _as_yaml(default)
            yield path, f"expected {wanted} together with tasks, got {_as_yaml(given)}: {reason}"


def one_task_problems(config: Config) -> Found:
    """Problems of a config with one task."""
    if config.data is None:
        yield ("data",), "expected a section, but the key is missing; add it"
    for path, given, default in (
        (("target",), config.target, None),
        (("sampling",), config.sampling, None),
        (("task_attention",), config.task_attention, None),
        (("training", "target_epochs"), config.training.target_epochs, 0),
        (("training", "steps_per_epoch"), config.training.steps_per_epoch, None),
    ):
        if given != default:
            yield (
                path,
                f"expected {_as_yaml(default)} without tasks, got {_as_yaml(given)}; remove it",
            )


def _as_yaml(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "a section"
    return str(value).lower() if isinstance(value, bool) else shown(value)
