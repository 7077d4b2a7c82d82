import math
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import tf_adapt as ta
from hub_modules.weights import count_parameters
from tf_adapt import monitoring
from tf_adapt.errors import TrainingError
from tf_adapt.run_state import RunState
from tf_adapt.schedules import LinearDecay
from tf_adapt.starting_point import StartingPoint


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


def read_scalars(folder) -> dict:
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    events.Reload()
    return {
        tag: [
            (event.step, float(tf.make_ndarray(event.tensor_proto)))
            for event in events.Tensors(tag)
        ]
        for tag in events.Tags()["tensors"]
    }


def adapted_model(handle):
    """A model on an encoder of which the lowest group is frozen."""
    task, encoder = ta.Task("classification", labels=["no", "yes"]), ta.HubEncoder(handle)
    model = ta.build_model(task, encoder, "linear", "fine_tuning")
    optimizer = ta.DiscriminativeOptimizer(keras.optimizers.SGD(1.0), encoder, decay=0.5)
    model.compile(optimizer, task.loss, jit_compile=False)
    optimizer.build(model.trainable_weights)
    encoder.set_trainable_groups(["lstm_0", "lstm_1"])
    return model


def test_scalars_can_be_read_by_tensorboard(tiny_elmo, tmp_path):
    model = adapted_model(tiny_elmo)
    start = StartingPoint(model.encoder)
    state = RunState({}, steps_per_epoch=5, step=3)
    scalars = attach(monitoring.Scalars(tmp_path, state, total_steps=10, start=start), model)
    scalars.on_train_batch_begin(0)
    # A step that adds 0.5 to every number of the topmost LSTM and 0.25 to the head's bias.
    for weight in dict(model.encoder.layer_groups)["lstm_1"]:
        weight.assign_add(tf.fill(weight.shape, 0.5))
    bias = [weight for weight in model.head.weights if weight.name == "bias"][0]
    bias.assign_add([0.25, 0.25])
    model.gradient_norm.value.assign(0.5)
    state.step = 4
    scalars.on_train_batch_end(0, {"loss": 2.0, "accuracy": 0.25})
    scalars.write_row({"epoch": 1, "step": 4, "dev_accuracy": 0.75, "dev_matthews": None})
    scalars.close()
    moved = 0.5 * math.sqrt(count_parameters(dict(model.encoder.layer_groups)["lstm_1"]))
    expected = {
        "train/loss": 2.0,
        "train/accuracy": 0.25,
        "train/gradient_norm": 0.5,
        "learning_rate/lstm_0": 0.25,
        "learning_rate/lstm_1": 0.5,
        "learning_rate/head": 1.0,
        "update_norm/lstm_0": 0.0,
        "update_norm/lstm_1": moved,
        "update_norm/head": 0.25 * math.sqrt(2),
        "distance/char_cnn": 0.0,
        "distance/lstm_0": 0.0,
        "distance/lstm_1": moved,
        "epoch/dev_accuracy": 0.75,
    }
    found = read_scalars(tmp_path)
    assert set(found) == set(expected)
    for tag, value in expected.items():
        assert found[tag] == [(4, pytest.approx(value, rel=1e-5))], tag


def test_a_long_run_writes_about_two_hundred_scalars(tiny_elmo, tmp_path):
    state = RunState({}, steps_per_epoch=5000)
    scalars = attach(
        monitoring.Scalars(tmp_path, state, total_steps=10_000, start=None),
        adapted_model(tiny_elmo),
    )
    written = []
    scalars._write = lambda values: written.append(state.global_step)
    for _ in range(100):
        state.step += 1
        scalars.on_train_batch_end(0, {"loss": 1.0})
    assert written == [50, 100]


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
