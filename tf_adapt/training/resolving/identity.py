"""What must be equal for a run to be resumed: versions, module, files, data, labels."""

import hashlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.config.sections import Config
from tf_adapt.data.batches import PreparedData
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.runs.finished_run import FinishedRun
from tf_adapt.runs.teacher_answers import Answers
from tf_adapt.runs.teachers import KEY as TEACHER_KEY
from tf_adapt.training.finished.same_data import by_prefix, data_hashes
from tf_adapt.training.resolving.build import Parts
from tf_adapt.training.resolving.input_hashes import input_hashes
from tf_adapt.version import __version__


def run_identity(
    config: Config, parts: Parts, start: FinishedRun | None, answers: Answers | None
) -> dict[str, Any]:
    """The identity of a run as plain values: see `RunState`.

    Args:
        start: the run that it starts from.
        answers: those of its teacher.

    Raises:
        ArtifactError: as `input_hashes`.
    """
    several = {name: part.splits for name, part in parts.tasks.items()}
    tasks = by_prefix(several or parts.splits)
    return {
        "tf_adapt": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        **input_hashes(config),
        **({} if start is None else {config.start.key: start.weights}),
        **({} if answers is None else {TEACHER_KEY: answers.teacher}),
        **_weak_identity(parts.splits),
        **_slice_identity(parts.data["train"]),
        # Their order is that of the heads' weights.
        **({"tasks": list(parts.tasks)} if parts.tasks else {}),
        **{f"{task}labels": splits.labels for task, splits in tasks.items()},
        **{
            key: value
            for task, splits in tasks.items()
            for key, value in data_hashes(splits, task).items()
        },
    }


def _weak_identity(splits: Splits) -> dict[str, str]:
    """The hash of the probabilities that train's labels have, if they come from votes."""
    if splits.weak is None:
        return {}
    posteriors = np.array(splits.weak.posteriors, "float32")
    return {"weak labels": hashlib.sha256(posteriors.tobytes()).hexdigest()}


def _slice_identity(train: PreparedData) -> dict[str, str]:
    """The hash of what the heads of slices are trained on, if there are any."""
    if train.slice_targets is None:
        return {}
    return {"slices of train": hashlib.sha256(train.slice_targets.numpy().tobytes()).hexdigest()}
