"""The splits of a config, and what they say of its task; of several tasks by name."""

from tf_adapt.config.sections import Config
from tf_adapt.data.packing.prepare import task_of
from tf_adapt.data.splits.read_splits import Splits, load_splits
from tf_adapt.errors import DataError
from tf_adapt.tasks.task import Task


def splits_of(config: Config) -> Splits | dict[str, Splits]:
    """The splits of the task, or of each of several.

    Raises:
        DataError: as `load_splits`, of several tasks with the name of the task.
    """
    if config.tasks is None:
        return load_splits(config.data, config.weak)
    of_tasks = {}
    for name, task in config.tasks.items():
        try:
            of_tasks[name] = load_splits(task.data)
        except DataError as error:
            raise DataError(f"tasks.{name}: {error}") from None
    return of_tasks


def tasks_of(splits: Splits | dict[str, Splits]) -> Task | dict[str, Task]:
    """The task of the splits, or each of several."""
    if isinstance(splits, dict):
        return {name: task_of(of_task) for name, of_task in splits.items()}
    return task_of(splits)
