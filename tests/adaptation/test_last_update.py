"""The last batches of an epoch, fewer than `gradient_accumulation_steps`, make an update."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer
from tf_adapt.adaptation.last_update import LastUpdate, with_last_update
from tf_adapt.models.phased_model import PhasedModel

ENCODER = SimpleNamespace(layer_groups=[], adaptable_groups={}, weights=[])
ROWS = np.arange(1, 6, dtype="float32")


class OneWeight(PhasedModel):
    """y = w x, w from 0."""

    def __init__(self):
        super().__init__(ENCODER)
        self.dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        self.dense.build([None, 1])

    def call(self, inputs, training=None):
        return self.dense(inputs)


class Seen(keras.callbacks.Callback):
    """The weight after each batch, and at the end of each epoch with the loss on validation."""

    def on_train_begin(self, logs=None):
        self.batches, self.epochs, self.losses = [], [], []

    def on_train_batch_end(self, batch, logs=None):
        self.batches.append(weight(self.model))

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(weight(self.model))
        self.losses.append((logs or {}).get("val_loss"))


def weight(model) -> float:
    return float(model.weights[0].numpy()[0, 0])


def compiled(model, steps, rate=0.1, **options):
    inner = keras.optimizers.SGD(rate, gradient_accumulation_steps=steps)
    model.compile(DiscriminativeOptimizer(inner, ENCODER), "mse", **options)
    return model


def fit(model, rows, epochs=2, callbacks=(), **options):
    seen = Seen()
    given = {"batch_size": 1, "shuffle": False, "verbose": 0} | options
    inputs, targets = np.ones([rows, 1], "float32"), ROWS[:rows, None]
    model.fit(inputs, targets, epochs=epochs, callbacks=[*callbacks, seen], **given)
    return seen


def by_hand(rows, steps, rates, start=0.0):
    """The weight after each update of an epoch: d/dw (w − y)² = 2 (w − y), averaged."""
    found = [start]
    for first in range(0, rows, steps):
        group = range(first, min(first + steps, rows))
        gradient = np.mean([2 * (found[-1] - ROWS[n]) for n in group])
        found.append(found[-1] - rates[group[-1]] * gradient)
    return found[1:]


@pytest.mark.parametrize(("rows", "steps"), [(5, 2), (3, 10), (4, 2)])
def test_two_epochs_by_hand(rows, steps):
    """At the rate of the group's last batch, by a schedule over all batches."""
    rates = np.linspace(0.4, 0.0, 2 * rows, endpoint=False)
    schedule = keras.optimizers.schedules.PolynomialDecay(0.4, 2 * rows, 0.0)
    model = compiled(OneWeight(), steps, schedule, run_eagerly=True)
    validation = (np.ones([1, 1]), np.zeros([1, 1]))
    seen = fit(model, rows, validation_data=validation)
    first = by_hand(rows, steps, rates[:rows])
    second = by_hand(rows, steps, rates[rows:], first[-1])
    np.testing.assert_allclose(seen.epochs, [first[-1], second[-1]], rtol=1e-5)
    np.testing.assert_allclose(seen.losses, np.square(seen.epochs), rtol=1e-5)
    whole = rows // steps
    moves = seen.batches[steps - 1 : whole * steps : steps] if whole else []
    np.testing.assert_allclose(moves, first[:whole], rtol=1e-5)
    assert int(model.optimizer.iterations) == 2 * -(-rows // steps)
    assert int(model.optimizer._iterations) == 2 * rows


def test_cut_off_between_two_updates():
    """Three of five batches, and the other two from what was saved: the same bits."""
    whole, cut, other = (compiled(OneWeight(), 2, run_eagerly=True) for _ in range(3))
    fit(whole, 5)
    data = tf.data.Dataset.from_tensor_slices((np.ones([5, 1, 1], "float32"), ROWS[:, None, None]))
    cut.optimizer.build(cut.weights)
    fit(cut, 5, epochs=1)
    for x, y in data.take(3):
        cut.train_step((x, y))
    other.optimizer.build(other.weights)
    pairs = zip([*other.weights, *other.optimizer.variables],
                [*cut.weights, *cut.optimizer.variables], strict=True)  # fmt: skip
    for target, source in pairs:
        target.assign(source)
    other.fit(data.skip(3), verbose=0)
    assert weight(other) == weight(whole)
    assert int(other.optimizer.iterations) == int(whole.optimizer.iterations) == 6


@pytest.mark.parametrize("callbacks", [[], [LastUpdate()]])
def test_another_model_of_keras(callbacks):
    """Without the callback the groups go on with the next epoch, until the end of `fit`."""
    layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = compiled(keras.Sequential([keras.Input([1]), layer]), 10, run_eagerly=True)
    seen = fit(model, 3, callbacks=callbacks)
    assert seen.epochs[0] == (pytest.approx(0.4) if callbacks else 0)
    assert weight(model) == pytest.approx(0.4 + 0.1 * 2 * 1.6 if callbacks else 0.4)
    assert int(model.optimizer.iterations) == (2 if callbacks else 1)


def test_data_of_unknown_length():
    data = tf.data.Dataset.from_tensor_slices((np.ones([5, 1, 1], "float32"), ROWS[:, None, None]))
    model = compiled(OneWeight(), 2)
    model.fit(data.filter(lambda x, y: True), epochs=2, verbose=0)
    first = by_hand(5, 2, 5 * [0.1])
    assert weight(model) == pytest.approx(by_hand(5, 2, 5 * [0.1], first[-1])[-1])


def test_first_of_the_callbacks_once():
    model, seen = compiled(OneWeight(), 2), Seen()
    optimizer = model.optimizer
    for given in (None, seen, [seen, [None]], keras.callbacks.CallbackList([seen], model=model)):
        added = with_last_update(given, optimizer)
        assert with_last_update(added, optimizer) is added
        found = getattr(added, "callbacks", added)
        assert [type(one) for one in found] == [LastUpdate, *([Seen] if given else [])]
    assert with_last_update(seen, keras.optimizers.SGD()) is seen
