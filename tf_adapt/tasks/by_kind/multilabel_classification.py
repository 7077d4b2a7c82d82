"""Any number of labels for each example: names that fit into one field, thresholds."""

from typing import TYPE_CHECKING

from tf_adapt.errors import ConfigError
from tf_adapt.tasks.arguments import checked_labels
from tf_adapt.tasks.label_sets import check_label_name

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task


def checked_names(task: "Task", name: str) -> tuple[str, ...]:
    """The labels.

    Raises:
        ConfigError: as `checked_labels`; a name that cannot stand in a list of labels.
    """
    return checked_labels(task, name, check_label_name)


def checked_thresholds(task: "Task", name: str) -> tuple[float, ...] | None:
    """The lowest probability at which each label is predicted; None: 0.5.

    Raises:
        ConfigError: they are not one probability for each label.
    """
    if task.thresholds is None:
        return None
    try:
        thresholds = tuple(float(threshold) for threshold in task.thresholds)
    except (TypeError, ValueError):
        thresholds = ()
    if len(thresholds) != len(task.labels) or not all(
        0 < threshold <= 1 for threshold in thresholds
    ):
        raise ConfigError(
            f"thresholds: expected {len(task.labels)} numbers above 0 and at most 1, one for each "
            f"label, got {task.thresholds!r}"
        )
    return thresholds
