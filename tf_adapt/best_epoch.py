"""The best epoch of a run so far: what is kept of it, and the phase that begins with it."""

import logging
from dataclasses import asdict

from tf_adapt import checkpoints
from tf_adapt.slots import slots_of
from tf_adapt.unfreezing import Unfreezing

log = logging.getLogger(__name__)


def keep_best(run, unfreezing: Unfreezing, score: float | None) -> None:
    """Writes the weights and, where a later phase may begin with them, the optimizer's slots."""
    state, folder = run.state, run.folder / "checkpoint"
    state.best = {"epoch": state.epoch, "score": score, "name": checkpoints.best_name(state.epoch)}
    weights = checkpoints.to_arrays(run.model.weights)
    if run.writes:
        checkpoints.save_best(folder, state.best["name"], weights)
    state.best["slots"] = run.best = None
    if run.adaptation.patience is not None and not unfreezing.in_last_phase:
        state.best["slots"] = checkpoints.slots_name(state.epoch)
        run.best = {
            "model": weights,
            "slots": checkpoints.to_arrays(slots_of(run.model.optimizer)),
        }
        if run.writes:
            checkpoints.save_slots(folder, state.best["slots"], run.best["slots"])


def end_phase(run, unfreezing: Unfreezing) -> None:
    """With a patience: ends the phase when it has run out, or with its last epoch.

    The next one begins with weights and slots as they were after the best epoch: see `Unfreezing`.
    """
    state = run.state
    if run.adaptation.patience is None:
        return
    next_position = unfreezing.position.at(unfreezing.phases, state.epoch + 1)
    exhausted = unfreezing.is_exhausted(state.best["epoch"], state.epoch)
    if not exhausted and next_position == unfreezing.position:
        return
    # Saved with this epoch's checkpoint: a run that is killed begins the next phase from there.
    unfreezing.end_phase(state.epoch + 1)
    state.position = asdict(unfreezing.position)
    run.best = best = run.best or _read_best(run)
    checkpoints.assign(run.model.weights, best["model"], state.best["name"])
    if "slots" in best:
        checkpoints.assign(slots_of(run.model.optimizer), best["slots"], state.best["slots"])
    if run.kept is not None:
        run.kept.weights_restored(state.best["epoch"])
    if unfreezing.in_last_phase:
        state.best["slots"] = run.best = None


def _read_best(run) -> dict[str, checkpoints.Arrays]:
    """The best weights and slots of a run that was interrupted since.

    Of several processes one alone has written them.
    """
    folder, best = run.folder / "checkpoint", run.state.best
    arrays = checkpoints.read(folder / best["name"]).arrays
    if best.get("slots") is None:
        log.warning(
            "%s: expected the optimizer's slots beside these weights, got none, as in runs of an "
            "earlier tf_adapt; the next phase begins with the slots of the last epoch",
            folder / best["name"],
        )
        return arrays
    return arrays | checkpoints.read(folder / best["slots"]).arrays
