import math

import keras
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

import tf_adapt as ta
from hub_modules.native.weights import count_parameters
from tf_adapt.encoder.starting_point import StartingPoint
from tf_adapt.training.event_files import Scalars
from tf_adapt.training.state import RunState


def events_of(folder) -> EventAccumulator:
    return EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()


def read(folder) -> dict:
    """Steps and values of each tag, by step: of two files that begin in one second and one process
    TensorBoard reads the tenth writer's before the ninth's."""
    events = events_of(folder)
    return {
        tag: sorted(
            (event.step, tf.make_ndarray(event.tensor_proto).item())
            for event in events.Tensors(tag)
        )
        for tag in events.Tags()["tensors"]
        if not tag.startswith("_hparams_")
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
    scalars = Scalars(tmp_path, state, total_steps=10, start=start)
    scalars.set_model(model)
    scalars.on_train_batch_begin(0)
    # A step that adds 0.5 to every number of the topmost LSTM and 0.25 to the head's bias.
    for weight in dict(model.encoder.layer_groups)["lstm_1"]:
        weight.assign_add(tf.fill(weight.shape, 0.5))
    bias = [weight for weight in model.head.weights if weight.name == "bias"][0]
    bias.assign_add([0.25, 0.25])
    model.gradient_norm.value.assign(0.5)
    state.step = 4
    scalars.on_train_batch_end(0, {"loss": 2.0, "accuracy": 0.25})
    scalars.close()
    moved = 0.5 * math.sqrt(count_parameters(dict(model.encoder.layer_groups)["lstm_1"]))
    expected = {
        "running/loss": 2.0,
        "running/accuracy": 0.25,
        "gradient_norm": 0.5,
        "learning_rate/lstm_0": 0.25,
        "learning_rate/lstm_1": 0.5,
        "learning_rate/head": 1.0,
        "update_norm/lstm_0": 0.0,
        "update_norm/lstm_1": moved,
        "update_norm/head": 0.25 * math.sqrt(2),
        "distance/char_cnn": 0.0,
        "distance/lstm_0": 0.0,
        "distance/lstm_1": moved,
    }
    found = read(tmp_path / "train")
    assert set(found) == set(expected)
    for tag, value in expected.items():
        assert found[tag] == [(4, pytest.approx(value, rel=1e-5))], tag


def test_a_long_run_writes_about_two_hundred_scalars(tiny_elmo, tmp_path):
    state = RunState({}, steps_per_epoch=5000)
    scalars = Scalars(tmp_path, state, total_steps=10_000, start=None)
    scalars.set_model(adapted_model(tiny_elmo))
    written = []
    scalars._write = lambda name, values: written.append(state.global_step)
    for _ in range(100):
        state.step += 1
        scalars.on_train_batch_end(0, {"loss": 1.0})
    assert written == [50, 100]


def write_epoch(scalars, loss, score, best):
    scalars.state.step += 2
    row = {"epoch": 1, "step": 2, "loss": loss, "accuracy": 0.5}
    dev = {"dev_loss": loss + 1, "dev_accuracy": score, "dev_matthews": None}
    scalars.write_row(row | dev, {"accuracy": best})


def test_train_and_dev_have_the_same_tags(tmp_path):
    scalars = Scalars(tmp_path, RunState({}, steps_per_epoch=2), total_steps=4, start=None)
    scalars.describe("seed: 3\nabout: '```'\n", {"head": "crf", "learning_rate": 0.5, "seed": 3})
    write_epoch(scalars, 0.75, 0.5, best=0.5)
    write_epoch(scalars, 0.5, 0.25, best=0.5)
    write_epoch(scalars, 0.25, None, best=None)
    scalars.close()
    train, dev = read(tmp_path / "train"), read(tmp_path / "dev")
    assert train.pop("config") == [(0, b"    seed: 3\n    about: '```'\n")]
    assert train == {
        "loss": [(2, 0.75), (4, 0.5), (6, 0.25)],
        "accuracy": [(2, 0.5), (4, 0.5), (6, 0.5)],
    }
    assert dev == {
        "loss": [(2, 1.75), (4, 1.5), (6, 1.25)],
        "accuracy": [(2, 0.5), (4, 0.25)],
        "best/accuracy": [(2, 0.5), (4, 0.5)],
    }
    metadata = events_of(tmp_path / "dev").SummaryMetadata("_hparams_/session_start_info")
    session = HParamsPluginData.FromString(metadata.plugin_data.content).session_start_info
    assert session.group_name == str(tmp_path.parent)
    assert {name: value.WhichOneof("kind") for name, value in session.hparams.items()} == {
        "head": "string_value", "learning_rate": "number_value", "seed": "number_value",
    }  # fmt: skip
    assert session.hparams["learning_rate"].number_value == 0.5


def test_a_run_that_was_killed_writes_no_point_twice(tmp_path):
    scalars = Scalars(tmp_path, RunState({}, steps_per_epoch=2), total_steps=4, start=None)
    scalars.describe("epochs: 2", {"epochs": 2})
    write_epoch(scalars, 0.75, 0.5, best=0.5)
    write_epoch(scalars, 0.5, 0.25, best=0.5)
    # A process that is killed has no writer any more, which could write after the cut.
    scalars.close()
    for name in ("train", "dev"):
        (path,) = (tmp_path / name).iterdir()
        path.write_bytes(path.read_bytes()[:-5])  # as a killed process leaves it
    state = RunState({}, steps_per_epoch=2, epoch=1)
    scalars = Scalars(tmp_path, state, total_steps=6, start=None)
    scalars.describe("epochs: 3", {"epochs": 3})
    write_epoch(scalars, 0.125, 0.75, best=0.75)
    scalars.close()
    assert read(tmp_path / "train") == {
        "config": [(0, b"    epochs: 3")],
        "loss": [(2, 0.75), (4, 0.125)],
        "accuracy": [(2, 0.5), (4, 0.5)],
    }
    assert read(tmp_path / "dev") == {
        "loss": [(2, 1.75), (4, 1.125)],
        "accuracy": [(2, 0.5), (4, 0.75)],
        "best/accuracy": [(2, 0.5), (4, 0.75)],
    }
