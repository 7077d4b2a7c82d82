"""Loads the members of an ensemble, with the weights of their best epochs."""

import os
from pathlib import Path

from tf_adapt.errors import ArtifactError
from tf_adapt.runs import ensemble_folder, run_folder
from tf_adapt.runs.ensemble_folder import ENSEMBLE, VOTES
from tf_adapt.runs.export_files import saved_task
from tf_adapt.serving.prediction.ensemble import Ensemble, Member
from tf_adapt.training.ensembles.ensemble_members import other_key
from tf_adapt.training.finished.load_run import loaded_run
from tf_adapt.training.resolving.reading import Reading


def load_ensemble(folder: str | os.PathLike, trust: bool = False) -> Ensemble:
    """The models of an ensemble, in float32; members of weight 0 are left out.

    Args:
        trust: as for `tf_adapt.load_run`.

    Raises:
        ArtifactError: the folder is no ensemble or is damaged; a member is missing, damaged, or
            another run by now; or as `tf_adapt.load_run`.
    """
    return loaded_ensemble(Path(folder), trust)[0]


def loaded_ensemble(folder: Path, trust: bool) -> tuple[Ensemble, Reading]:
    """The ensemble of `load_ensemble`, and how its first member reads examples."""
    if not ensemble_folder.is_ensemble(folder):
        is_run = (folder / run_folder.CONFIG).is_file()
        got = "that of a run; load it with tf_adapt.load_run" if is_run else f"no {ENSEMBLE} in it"
        raise ArtifactError(f"{folder}: expected the folder of an ensemble, got {got}")
    ensemble_file = ensemble_folder.read(folder)
    task = saved_task(ensemble_file.task, folder / ENSEMBLE)
    members, weights, readings = [], [], []
    for member in ensemble_file.members:
        if member.weight:
            run = ensemble_folder.member_folder(folder, member)
            model, reading = loaded_run(run, trust)
            if other_key(model.task, task) is not None:
                raise ArtifactError(
                    f"{folder / ENSEMBLE}: expected the task of its member {run}, got another; "
                    "make the ensemble again"
                )
            members.append(Member(str(run), model, reading.batch_size, reading.limits))
            weights.append(member.weight)
            readings.append(reading)
    return Ensemble(task, members, weights, ensemble_file.combine == VOTES), readings[0]
