import math
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.adaptation.schedules import LinearDecay
from tf_adapt.errors import TrainingError
from tf_adapt.training import callbacks as monitoring
from tf_adapt.training.state import RunState


def small_model() -> keras.Model:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(1.0), loss="mse", jit_compile=False)
    model.gradient_norm = SimpleNamespace(value=tf.Variable(0.5))
    return model


def attach(callback, model=None):
    callback.set_model(model or small_model())
    return callback


def test_learning_rate_follows_the_state():
    state = RunState({}, steps_per_epoch=5, epoch=1, step=3)
    callback = attach(monitoring.LearningRate(LinearDecay(2.0, 10).rate, state))
    callback.on_train_batch_begin(0)
    assert float(callback.model.optimizer.learning_rate.numpy()) == pytest.approx(0.4)


def test_finite_numbers_pass():
    attach(monitoring.FiniteGuard(lambda: "")).on_train_batch_end(0, {"loss": 1.0})


@pytest.mark.parametrize(
    ("loss", "norm", "what"),
    [
        (math.nan, 1.0, "the loss"),
        (math.inf, 1.0, "the loss"),
        (1.0, math.nan, "the gradient"),
        (1.0, math.inf, "the gradient"),
    ],
)
def test_first_number_that_is_not_finite(loss, norm, what):
    guard = attach(monitoring.FiniteGuard(lambda: "step 5, examples train.tsv:9"))
    guard.model.gradient_norm.value.assign(norm)
    with pytest.raises(TrainingError, match=f"step 5, examples train.tsv:9: {what} is not finite"):
        guard.on_train_batch_end(0, {"loss": loss})


def test_float16_may_skip_steps_but_not_for_ever():
    model = small_model()
    model.optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0))
    model.optimizer.build(model.trainable_variables)
    guard = attach(monitoring.FiniteGuard(lambda: "step 5"), model)
    model.gradient_norm.value.assign(math.inf)
    guard.on_train_batch_end(0, {"loss": 1.0})
    model.optimizer.dynamic_scale.assign(2.0**-15)
    with pytest.raises(TrainingError, match="step 5: the gradient, however scaled, is not finite"):
        guard.on_train_batch_end(0, {"loss": 1.0})


def test_plain_lines_where_there_is_no_terminal(capsys, monkeypatch):
    now = 100.0
    monkeypatch.setattr(monitoring.time, "monotonic", lambda: now)
    state = RunState({}, steps_per_epoch=10)
    with monitoring.ProgressDisplay(state, total_steps=20) as display:
        for _ in range(6):
            now += 5
            state.step += 1
            display.on_train_batch_end(0, {"loss": 0.25})
    assert capsys.readouterr().err.splitlines() == [
        "epoch 1, loss 0.2500, step 2 of 20, 90 s left",
        "epoch 1, loss 0.2500, step 4 of 20, 80 s left",
        "epoch 1, loss 0.2500, step 6 of 20, 70 s left",
    ]


def test_a_worker_that_is_not_shown_says_nothing(capsys):
    monitoring.ProgressDisplay(RunState({}, 1), 1, shown=False).say("epoch 1")
    assert capsys.readouterr().err == ""


def test_plain_numbers():
    logs = {"loss": np.float32(0.5), "matthews": float("nan")}
    assert monitoring.plain_numbers(logs) == {"loss": 0.5, "matthews": None}
