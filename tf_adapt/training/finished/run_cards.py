"""The model cards of a run's export and of its encoder, from the run's folder.

Imports no TensorFlow.
"""

from pathlib import Path

from tf_adapt.runs import ensemble_folder, run_folder
from tf_adapt.serving.exports.card_sections import OverSeeds
from tf_adapt.serving.exports.model_card import (
    MODULE,
    Written,
    export_card,
    members_table,
    module_card,
    section,
)
from tf_adapt.training.resolving.origin import origin_of
from tf_adapt.training.resolving.run_config import saved_config


def run_card(run: Path, over_seeds: OverSeeds | None = None) -> str:
    """The card of a run's export, from the run's folder.

    Args:
        over_seeds: as in `export_card`.

    Raises:
        ArtifactError: the folder is damaged.
    """
    task = run_folder.saved_task(run).task.model_dump()
    metrics = run_folder.finished_metrics(run)
    card = export_card(origin_of(saved_config(run)), task, metrics, over_seeds)
    if not (run / ensemble_folder.ENSEMBLE).is_file():
        return card
    return f"{card}\n{section('Several runs', members_table(ensemble_folder.read(run)))}\n"


def encoder_card(run: Path, written: Written = MODULE) -> str:
    """The card of a run's encoder.

    Args:
        written: as in `module_card`.

    Raises:
        ArtifactError: the folder is damaged.
    """
    return module_card(origin_of(saved_config(run)), run_folder.finished_metrics(run), written)
