"""The Fisher information of a run's task, as a file for elastic weight consolidation."""

import os
from pathlib import Path

from tf_adapt.adaptation.fisher import accumulated_fisher, load_fisher, save_fisher, task_fisher
from tf_adapt.adaptation.penalties import check_fisher
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.printing.progress import tracked
from tf_adapt.serving.prediction.output_files import check_output
from tf_adapt.training.finished.load_run import loaded_run
from tf_adapt.training.resolving.reading import Reading


def fisher_of_run(
    run: str | os.PathLike,
    output: str | os.PathLike,
    examples: int = 200,
    seed: int = 0,
    sampled: bool = True,
    trust: bool = False,
    previous: str | os.PathLike | None = None,
    gamma: float = 1.0,
) -> int:
    """Writes the Fisher information of a run's task for EWC; returns the number of examples used.

    It is estimated at the run's best weights, on the first examples of its training data.

    Args:
        previous: a file of this function, of the tasks before: see `accumulated_fisher`.
        gamma: weight of `previous`, from 0 to 1.

    Raises:
        ArtifactError: as `load_run`, `output` cannot be written, or `previous` is damaged.
        ConfigError: as `task_fisher` and `accumulated_fisher`, or `output` is a file of the run or
            of its data, or `previous`.
        DataError: the training data is missing or invalid.
    """
    check_output(output, run, *([] if previous is None else [previous]))
    before = None if previous is None else load_fisher(previous)
    model, reading = loaded_run(Path(run), trust)
    check_output(output, reading.module, *_data_files(reading))
    model.encoder.trainable = True
    if before is not None:
        check_fisher(before, pretrained_weights(model.encoder))
    records = load_splits(reading.data, reading.weak).examples["train"][:examples]
    prepared = prepare(records, model.task, model.encoder, *reading.limits)
    batches = batches_from(prepared, 1, shuffle=False)
    shown = tracked(batches, "Fisher information", shown=True)
    fisher = task_fisher(model, shown, examples, seed, sampled)
    if before is not None:
        fisher = accumulated_fisher(fisher, before, gamma)
    save_fisher(output, fisher)
    return min(examples, int(batches.cardinality()))


def _data_files(reading: Reading) -> list[str]:
    """The files and the folder of a run's data."""
    paths = [getattr(reading.data, name) for name in reading.data.PATHS]
    return [path for path in paths if path]
