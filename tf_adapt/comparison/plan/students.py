"""The cells that learn from the runs of another signal: what is checked before these are trained.

Imports no TensorFlow; texts and models are checked in a process of its own.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hub_modules.families import FAMILIES
from tf_adapt.comparison.execution.running import check_ended
from tf_adapt.comparison.plan.cells import Cell
from tf_adapt.config.default_training import family_of
from tf_adapt.config.reading import dump_config
from tf_adapt.config.sections import Config
from tf_adapt.config.task_checks import kind_of
from tf_adapt.errors import ConfigError
from tf_adapt.heads.names import CRF_HEADS
from tf_adapt.paper import HEADS


def check_heads(cells: Sequence[Cell], where: str) -> None:
    """Checks that no cell that teaches or is taught has a CRF, as far as names tell.

    Args:
        where: the config of the comparison, for messages.

    Raises:
        ConfigError: one has.
        ArtifactError: the manifest of a module is damaged.
    """
    by_name = {cell.name: cell for cell in cells}
    for student in cells:
        for cell in (by_name[student.teacher], student) if student.teacher else ():
            if _has_crf(cell.config):
                raise ConfigError(
                    f"{where}: compare.heads: expected one without a CRF for signal "
                    f"{student.signal} and its teacher, whose answers are compared word by word, "
                    f"got {cell.config.head} of {cell.name}, which has one; take linear_tagger or "
                    "bilstm"
                )


def _has_crf(config: Config) -> bool:
    """Whether the head of a cell has a CRF; False for the default head of a module whose family its
    files do not tell."""
    if config.head != "default":
        return config.head in CRF_HEADS
    family = family_of(config.encoder.handle)
    if family is None or not FAMILIES[family].has_words:
        return False
    frozen, tuned = HEADS.get((kind_of(config), FAMILIES[family].like), (None, None))
    return (tuned if config.adaptation.trains_encoder else frozen) in CRF_HEADS


def check_students(cells: Sequence[Cell]) -> None:
    """Checks the students as `tf-adapt train --dry-run` does, but not their teachers.

    Raises:
        ConfigError, DataError, ArtifactError: a cell cannot be trained, or its unlabelled texts
            have labels or are too long.
    """
    if not cells:
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{cell.name}.yaml" for cell in cells]
        for path, cell in zip(paths, cells, strict=True):
            path.write_text(dump_config(cell.config), "utf-8")
        command = [sys.executable, "-P", "-m", "tf_adapt.commands.students", "check"]
        done = subprocess.run(
            [*command, *map(str, paths)], capture_output=True, text=True, check=False
        )
    check_ended("compare.signals", done.returncode, done.stderr)
