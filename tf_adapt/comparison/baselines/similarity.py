"""The similarity of pairs that the encoders of a comparison see without training. Imports no
TensorFlow."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hub_modules.storage import records
from hub_modules.storage.machine import thread_variables
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.running import check_ended
from tf_adapt.comparison.execution.runs import config_name
from tf_adapt.comparison.plan.cells import Cell, encoder_in_words
from tf_adapt.data.splits.shifted import domain_of, shifted_splits

FOLDER = "baselines"
# In place of a split: all examples of a cross-validation.
ALL = "all"


def no_similarities(outcomes: Outcomes, split: str) -> dict[str, list[float]]:
    """None: the examples are not pairs with scores."""
    return {}


def similarities(outcomes: Outcomes, split: str) -> dict[str, list[float]]:
    """`untrained cosine of bert_small` for each pretrained encoder → that of each pair.

    They are computed once, in a process of their own, and then read from the comparison's folder.

    Raises:
        ArtifactError: a file is damaged.
        TfAdaptError: the process failed.
    """
    cells = {}
    for cell in outcomes.comparison.cells:
        if cell.pretrained:
            cells.setdefault(encoder_in_words(cell.config.encoder), cell)
    return {
        f"untrained cosine of {name}": _of_cell(outcomes, cell, split)
        for name, cell in cells.items()
    }


def _of_cell(outcomes: Outcomes, cell: Cell, split: str) -> list[float]:
    abroad = f".{domain_of(split)}" if shifted_splits([split]) else ""
    file = f"{FOLDER}/{cell.name}{abroad}.json"
    if not (outcomes.out / file).is_file():
        records.write(outcomes.out, file, _computed(outcomes, cell, split))
    return json.loads(records.read(outcomes.out, file))


def _computed(outcomes: Outcomes, cell: Cell, split: str) -> str:
    config = outcomes.out / config_name(cell)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "similarities.json"
        # -P: as in `local`.
        command = [sys.executable, "-P", "-m", "tf_adapt.commands.similarity"]
        done = subprocess.run(
            [*command, str(config), split, str(file)],
            env=os.environ | thread_variables(outcomes.comparison.threads),
            capture_output=True,
            text=True,
            check=False,
        )
        check_ended(f"similarities of {cell.name}", done.returncode, done.stderr)
        return file.read_text("utf-8")
