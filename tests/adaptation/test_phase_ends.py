"""At the end of a phase by patience the training stands where it stood after the best epoch."""

import keras
import numpy as np
import pytest

import tf_adapt as ta
from tf_adapt.adaptation.adaptations import gradual_unfreezing, two_stage
from tf_adapt.adaptation.phases import Adaptation, Phase
from tf_adapt.adaptation.unfreezing import Unfreezing

TEXTS = [("ab cd", "yes"), ("e", "no"), ("the who is", "yes"), ("what", "no")]
TASK = ta.Task("classification", labels=["no", "yes"])
INNERS = {
    "adam": lambda: keras.optimizers.AdamW(1e-2, weight_decay=0.1, global_clipnorm=1.0),
    # Written out by Keras, not as one operation.
    "amsgrad": lambda: keras.optimizers.Adam(1e-2, amsgrad=True, use_ema=True),
}


def make_model(handle, optimizer):
    """A model without dropout, and two batches an epoch."""
    keras.utils.set_random_seed(3)
    encoder = ta.HubEncoder(handle)
    model = ta.build_model(TASK, encoder, "linear", "fine_tuning", head_dropout=0.0)
    model.compile(optimizer(encoder), TASK.loss, run_eagerly=True)
    return model, ta.batches(TEXTS, TASK, encoder, batch_size=2, shuffle=False)


def discriminative(inner):
    return lambda encoder: ta.DiscriminativeOptimizer(inner(), encoder, decay=0.5)


class Scores(keras.callbacks.Callback):
    """Stands in for a validation: `val_loss` after each epoch as given."""

    def __init__(self, *scores):
        super().__init__()
        self.scores = scores

    def on_epoch_end(self, epoch, logs=None):
        logs["val_loss"] = self.scores[epoch]


def fit(model, batches, adaptation, epochs, *before):
    callbacks = [*before, Unfreezing(model.encoder, adaptation)]
    model.fit(batches, epochs=epochs, verbose=0, callbacks=callbacks)


def assert_same_bits(some, others):
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy(), err_msg=one.path)


def straight_to(phase: int) -> Adaptation:
    """One epoch of the head, then the groups of a later phase of gradual unfreezing."""

    def plan(groups):
        later = gradual_unfreezing().phases(groups)[phase].groups
        return [Phase(("head",), 1), Phase(later, 9), Phase(tuple(groups))]

    return Adaptation("straight", plan)


# The head for three epochs, of which the first is the best; then lstm_1 with it.
NEXT = (2, [1.0, 2.0, 3.0, 4.0], 1)
# lstm_1 makes it worse: lstm_0 begins where the head was after its first epoch.
AFTER_NEXT = (1, [1.0, 2.0, 3.0, 0.5], 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "patience", "scores", "phase"),
    [("adam", *NEXT), ("amsgrad", *AFTER_NEXT)],
)
def test_as_if_the_phase_had_ended_after_its_best_epoch(tiny_elmo, name, patience, scores, phase):
    optimizer = discriminative(INNERS[name])
    patient, batches = make_model(tiny_elmo, optimizer)
    fit(patient, batches, gradual_unfreezing(patience=patience), 4, Scores(*scores))
    straight, batches = make_model(tiny_elmo, optimizer)
    fit(straight, batches, straight_to(phase), 2)
    assert_same_bits(patient.weights, straight.weights)
    # The first two are the count of all steps and the rate.
    assert_same_bits(patient.optimizer.variables[2:], straight.optimizer.variables[2:])
    # The count of all steps goes on, and with it every schedule.
    assert int(patient.optimizer.iterations) == 8


@pytest.mark.slow
def test_a_plain_optimizer_of_keras(tiny_elmo):
    def optimizer(encoder):
        return keras.optimizers.SGD(1e-1, momentum=0.9)

    patient, batches = make_model(tiny_elmo, optimizer)
    fit(patient, batches, gradual_unfreezing(patience=2), 4, Scores(1.0, 2.0, 3.0, 4.0))
    straight, batches = make_model(tiny_elmo, optimizer)
    fit(straight, batches, straight_to(1), 2)
    assert_same_bits(patient.weights, straight.weights)
    assert int(patient.optimizer.iterations) == 8


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ours", "Keras'"])
def test_no_gradients_at_weights_that_went_away_are_left(tiny_elmo, kind):
    def inner():
        return keras.optimizers.SGD(1e-1, gradient_accumulation_steps=4)

    sums = []
    for patience in (9, 1):
        make = discriminative(inner) if kind == "ours" else lambda encoder: inner()
        model, batches = make_model(tiny_elmo, make)
        # Six batches: of Keras' an update, and two that are summed up; of ours one an epoch. The
        # third epoch is a worse one.
        fit(model, batches, two_stage(patience=patience), 3, Scores(1.0, 0.5, 0.7))
        sums.append([v for v in model.optimizer.variables if "accumulat" in v.path])
    goes_on, dropped = ([np.any(value.numpy()) for value in those] for those in sums)
    assert any(goes_on) == (kind != "ours") and not any(dropped)
    assert int(model.optimizer.iterations) == (3 if kind == "ours" else 1)
