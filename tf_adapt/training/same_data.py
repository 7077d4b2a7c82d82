"""Whether the data of now are those that a finished run was trained and scored on."""

import logging
from collections.abc import Iterable
from pathlib import Path

from tf_adapt.config.sections import Config
from tf_adapt.data.splits import Splits, fingerprint
from tf_adapt.errors import DataError, TfAdaptError
from tf_adapt.runs import checkpoints
from tf_adapt.training.configured_splits import splits_of

_log = logging.getLogger(__name__)


def check_unchanged(folder: Path, config: Config) -> None:
    """Checks the data of a finished run; a warning is logged where they can be read no longer.

    Raises:
        DataError: as `check_same_data`.
    """
    try:
        found = splits_of(config)
    except TfAdaptError as error:
        _log.warning("%s: finished, on data that cannot be read now: %s", folder, error)
        return
    tasks = {f"{name} ": part for name, part in found.items()} if config.tasks else {"": found}
    for task, splits in tasks.items():
        check_same_data(folder, splits, splits.examples, task)


def check_same_data(folder: Path, splits: Splits, names: Iterable[str], task: str = "") -> None:
    """Checks that a finished run was trained and scored on these splits.

    Args:
        names: the splits to check.
        task: its prefix in the run's identity; empty for one task.

    Raises:
        DataError: texts, labels or their order have changed.
    """
    state = checkpoints.latest_state(folder / "checkpoint") or {}
    before = state.get("identity", {})
    for name in names:
        if before.get(f"{task}{name} data") != fingerprint(splits.examples[name]):
            raise DataError(
                f"{folder}: expected the {name} examples of this finished run, got others in "
                f"{splits.descriptions[name]}; bring the data back, or give --out another folder"
            )
