"""Whether the data of now are those that a finished run was trained and scored on."""

import logging
from collections.abc import Callable
from pathlib import Path

from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import DataError, TfAdaptError
from tf_adapt.runs import checkpoints

_log = logging.getLogger(__name__)


def by_prefix(splits: Splits | dict[str, Splits]) -> dict[str, Splits]:
    """The splits of each task by its prefix in a run's identity; empty for the only one."""
    if isinstance(splits, dict):
        return {f"{name} ": of_task for name, of_task in splits.items()}
    return {"": splits}


def data_hashes(splits: Splits, prefix: str = "") -> dict[str, str]:
    """The hash of each split, by its key in a run's identity."""
    return {f"{prefix}{name} data": fingerprint(part) for name, part in splits.examples.items()}


def check_unchanged(folder: Path, read: Callable[[], Splits | dict[str, Splits]]) -> None:
    """Checks the data of a finished run; a warning is logged where they can be read no longer.

    Args:
        read: the splits of now.

    Raises:
        DataError: texts, labels or their order have changed.
    """
    try:
        now = read()
    except TfAdaptError as error:
        _log.warning("%s: finished, on data that cannot be read now: %s", folder, error)
        return
    state = checkpoints.latest_state(folder / "checkpoint") or {}
    before = state.get("identity", {})
    for prefix, splits in by_prefix(now).items():
        for name, (key, value) in zip(
            splits.examples, data_hashes(splits, prefix).items(), strict=True
        ):
            if before.get(key) != value:
                raise DataError(
                    f"{folder}: expected the {name} examples of this finished run, got others in "
                    f"{splits.descriptions[name]}; bring the data back, or give --out another "
                    "folder"
                )
