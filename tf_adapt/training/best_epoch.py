"""Weights of the best epoch so far, on disk: the result of a run."""

import logging
import math
from pathlib import Path

import keras

from tf_adapt.adaptation.best_weights import BestWeights
from tf_adapt.adaptation.slots import drop_partial_sums, slots_of
from tf_adapt.runs import checkpoints
from tf_adapt.training.state import RunState

log = logging.getLogger(__name__)


class BestOnDisk(BestWeights):
    """Writes the weights of each better epoch, and its slots if a later phase may start from them.

    A killed run resumes from these files. The weights stay on disk when the run has finished. A
    copy in memory serves phases that start in the same process.

    Args:
        folder: the run's checkpoints.
        state: of the run; its `best` has the epoch, score and names of the files.
        sign: −1 if lower scores are better, else 1.
        writes: whether this process writes the run folder.
    """

    def __init__(self, folder: Path, state: RunState, sign: int, writes: bool):
        self._folder, self._state, self._sign, self._writes = folder, state, sign, writes
        self._arrays: dict[str, checkpoints.Arrays] | None = None

    @property
    def epoch(self) -> int:
        """The best epoch, from 0; −1 before the first."""
        return -1 if self._state.best is None else self._state.best["epoch"]

    @property
    def score(self) -> float:
        """Its score, higher is better; −∞ if it is not finite."""
        best = self._state.best
        return -math.inf if best is None else comparable(best["score"], self._sign)

    def forget_all(self) -> None:
        """Resets to no best epoch."""
        self._state.best = self._arrays = None

    def is_better(self, score: float) -> bool:
        """Whether a score is better than the best so far; the first one always is."""
        return self._state.best is None or score > self.score

    def keep(self, epoch: int, score: float, model: keras.Model, comes_back: bool) -> None:
        """Writes the weights and, if `comes_back`, the optimizer's slots."""
        name, weights = checkpoints.best_name(epoch), checkpoints.to_arrays(model.weights)
        value = None if score == -math.inf else self._sign * score
        best = {"epoch": epoch, "score": value, "name": name, "slots": None}
        self._arrays = None
        if self._writes:
            checkpoints.save_best(self._folder, name, weights)
        if comes_back:
            best["slots"] = checkpoints.slots_name(epoch)
            slots = checkpoints.to_arrays(slots_of(model.optimizer))
            self._arrays = {"model": weights, "slots": slots}
            if self._writes:
                checkpoints.save_slots(self._folder, best["slots"], slots)
        self._state.best = best

    def restore(self, model: keras.Model) -> None:
        """Restores the best weights and slots, and drops accumulated gradients.

        Raises:
            ArtifactError: the files are damaged and there is no copy in memory.
        """
        best = self._state.best
        arrays = self._arrays or self._read()
        checkpoints.assign(model.weights, arrays["model"], best["name"])
        if "slots" in arrays:
            checkpoints.assign(slots_of(model.optimizer), arrays["slots"], best["slots"])
        drop_partial_sums(model.optimizer)

    def release(self) -> None:
        """Frees the memory of the copies."""
        self._state.best["slots"] = self._arrays = None

    def _read(self) -> dict[str, checkpoints.Arrays]:
        """The best weights and slots from disk, after an interruption."""
        best = self._state.best
        arrays = checkpoints.read(self._folder / best["name"]).arrays
        if best.get("slots") is None:
            log.warning(
                "%s: expected the optimizer's slots beside these weights, got none, as in runs of "
                "an earlier tf_adapt; the next phase begins with the slots of the last epoch",
                self._folder / best["name"],
            )
            return arrays
        return arrays | checkpoints.read(self._folder / best["slots"]).arrays


def comparable(score: float | None, sign: int) -> float:
    """The score times `sign`, so that higher is better; −∞ for None (not finite)."""
    return -math.inf if score is None else sign * score
