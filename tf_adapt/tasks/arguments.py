"""What the arguments of a `Task` may be, for several kinds of task. Imports no TensorFlow."""

import math
from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING

from tf_adapt.errors import ConfigError

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task


def refused(task: "Task", name: str) -> None:
    """An argument that the kind of task has not.

    Raises:
        ConfigError: it is given.
    """
    if getattr(task, name) is not None:
        raise ConfigError(f"{name}: expected none for {task.kind}, got {getattr(task, name)!r}")


def unchecked(task: "Task", name: str) -> object:
    """An argument that the kind of task does not look at."""
    return getattr(task, name)


def checked_labels(
    task: "Task", name: str, fault_of: Callable[[str], str | None] = lambda label: None
) -> tuple[str, ...]:
    """The labels, in the order of their ids.

    Args:
        fault_of: the problem with a label's name that this kind of task has, or None.

    Raises:
        ConfigError: there is none, or one is not a name, or is there twice.
    """
    if task.labels is None or isinstance(task.labels, str) or not list(task.labels):
        raise ConfigError(
            f"labels: expected a list of at least one label for {task.kind}, got {task.labels!r}"
        )
    # A number is the name with its digits, as in a file.
    labels = tuple(
        str(int(label)) if isinstance(label, Integral) and not isinstance(label, bool) else label
        for label in task.labels
    )
    for position, label in enumerate(labels):
        _check_label(position, labels)
        if fault := fault_of(label):
            raise ConfigError(f"labels[{position}]: {fault}, got {label!r}; rename it")
    return labels


def checked_temperature(task: "Task", name: str) -> float | None:
    """The divisor of the logits; None: 1.

    Raises:
        ConfigError: it is no number above 0.
    """
    given = task.temperature
    if given is not None and (isinstance(given, bool) or not 0 < given < math.inf):
        raise ConfigError(f"temperature: expected a number above 0, got {given!r}")
    return given


def num_labels(task: "Task") -> int:
    """An output for each label."""
    return len(task.labels)


def _check_label(position: int, labels: tuple) -> None:
    label = labels[position]
    if not isinstance(label, str) or not label:
        raise ConfigError(f"labels[{position}]: expected a text, got {label!r}; quote it")
    if any(character in label for character in "\t\n\r\0"):
        raise ConfigError(
            f"labels[{position}]: expected a text without tabs and line breaks, which separate "
            f"columns and lines of predictions, got {label[:80]!r}; rename it"
        )
    if label in labels[:position]:
        raise ConfigError(f"labels[{position}]: {label!r} is there twice; keep one")
    if label != label.strip() and label.strip() in labels:
        raise ConfigError(
            f"labels[{position}]: {label!r} and {label.strip()!r} differ in white space alone; "
            "keep one"
        )
