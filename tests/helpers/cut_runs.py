"""Runs as a signal in the middle of an epoch leaves them, without a training that is cut short."""

import shutil
from pathlib import Path

import numpy as np

from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.training.state import save_state
from tf_adapt.training.steps import Steps


def keep_at(monkeypatch, step: int, copy: Path, of: Path | None = None) -> None:
    """The next run that is trained (or the one in the folder `of`) is copied after a step, which is
    not the last of its epoch, with what a signal would have it save, and goes on."""
    count = Steps.on_train_batch_end

    def on_train_batch_end(self, batch, logs=None):
        count(self, batch, logs)
        run = self.run
        if run.state.global_step == step and not copy.exists() and of in (None, run.folder):
            assert run.state.step < run.state.steps_of_epoch
            save_state(run.checkpoints, run.state, run.model)
            shutil.copytree(run.folder, copy, ignore=shutil.ignore_patterns(run_folder.LOCK))

    monkeypatch.setattr(Steps, "on_train_batch_end", on_train_batch_end)


def best_arrays(run: Path) -> dict[str, np.ndarray]:
    return checkpoints.load_best(run / "checkpoint").arrays["model"]


def assert_same_weights(run: Path, other: Path) -> None:
    one, two = best_arrays(run), best_arrays(other)
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def assert_same_results(run: Path, other: Path) -> None:
    """Weights, history and predictions."""
    assert_same_weights(run, other)
    files = sorted(path.relative_to(other) for path in other.glob("predictions/**/*.tsv"))
    assert files
    for name in ("history.csv", *files):
        assert (run / name).read_bytes() == (other / name).read_bytes(), name
