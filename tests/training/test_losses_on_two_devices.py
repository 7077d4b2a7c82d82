"""Losses beside those of plain tasks: shares of two devices, one of them empty, add up to the loss.

As a program it prints what it finds on one and on two logical CPUs, which can only be made before
TensorFlow starts. (Plain `fit`: test_distribution.py.)
"""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.data.consistency_batches import PERTURBED, UNLABELLED
from tf_adapt.data.packing.prepared import LABELLED, SLICE_TARGETS, SOFT_LABELS, TEACHER
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.layers.crf import CRF
from tf_adapt.models.signals.consistency import Consistency
from tf_adapt.models.signals.slice_heads import SliceHeads
from tf_adapt.models.signals.teaching import Teaching
from tf_adapt.training.resolving.devices import is_chief, make_strategy

TASKS = {
    "classification": ta.Task("classification", labels=["no", "yes"]),
    "regression": ta.Task("regression"),
    "tagging": ta.Task("tagging", labels=["O", "B-A", "I-A"]),
}
KINDS = [f"teacher of {kind}" for kind in TASKS]
CASES = [
    *KINDS, "teacher in a model", "soft labels", "heads of slices", "consistency", "annealing",
    "crf mean", "crf sum",
]  # fmt: skip
# The five examples of each device.
SHARES = [[(0, 5)], [(0, 3), (3, 5)], [(0, 5), (5, 5)]]


def drawn(*shape):
    return tf.constant(np.random.default_rng(len(shape)).normal(0, 2, shape).astype("float32"))


class Head(keras.layers.Layer):
    """Its outputs are what it is given."""

    def call(self, encoded, inputs=None, training=None):
        return encoded


def losses(model):
    """Case → (data by name, function of the rows of a device and of outputs → its share)."""
    y = tf.constant([0, 1, 1, 0, 1])
    tags = tf.constant([[0, 1, -1], [2, -1, -1], [0, 0, 1], [1, 2, 0], [0, -1, -1]])
    labelled = tf.constant([1.0, 0.0, 1.0, 0.0, 0.0])
    targets = {"classification": y, "regression": drawn(5), "tagging": tags}
    answers = {"classification": drawn(5, 2), "regression": drawn(5) * 2, "tagging": drawn(5, 3, 3)}
    outputs = {"classification": -drawn(5, 2), "regression": drawn(5), "tagging": -drawn(5, 3, 3)}
    found = {}
    for kind, task in TASKS.items():

        def taught(rows, outputs, task=task):
            teaching, inputs = Teaching(task, 2.0, 0.4), {TEACHER: rows["answers"]}
            inputs[LABELLED] = rows["labelled"]
            weights = teaching.label_weights(inputs, rows["y"])
            own = task.loss(rows["y"], outputs, weights)
            return own + teaching.soft_loss(inputs, rows["y"], outputs)

        rows = {"answers": answers[kind], "labelled": labelled, "y": targets[kind]}
        found[f"teacher of {kind}"] = (rows, outputs[kind], taught)

    def taught_in_model(rows, outputs):
        model.teaching = Teaching(model.task, 2.0, 0.4)
        inputs = {TEACHER: rows["answers"], LABELLED: rows["labelled"]}
        loss = model.compute_loss({"a": inputs}, rows["y"], outputs)
        model.teaching = None
        return loss

    logits, of_texts = outputs["classification"], {"answers": answers["classification"]}
    found["teacher in a model"] = (
        of_texts | {"labelled": labelled, "y": y}, logits, taught_in_model,
    )  # fmt: skip
    found["soft labels"] = (
        {"p": tf.nn.softmax(drawn(5, 2)), "y": y},
        logits,
        lambda rows, outputs: model.compute_loss(
            {"a": {SOFT_LABELS: rows["p"]}}, rows["y"], outputs
        ),
    )
    heads = SliceHeads(["first", "second", "nobody"])
    heads.heads = [Head() for _ in range(3)]
    members = tf.constant([[0, 1, -1], [1, -1, -1], [-1, -1, -1], [-1, 0, -1], [-1, 1, -1]])
    found["heads of slices"] = (
        {"members": members},
        logits,
        lambda rows, outputs: heads({"a": {SLICE_TARGETS: rows["members"]}}, encoded=outputs),
    )
    objective = Consistency(model.task, "words", 0.7, 0.7)
    consistency = ta.AuxiliaryLoss(objective, 0.8)
    found["consistency"] = (
        of_texts,
        logits,
        lambda rows, outputs: consistency(
            {UNLABELLED: rows["answers"], PERTURBED: outputs},
            outputs_of=lambda texts, training: texts,
        ),
    )
    found["consistency"][2].confident = objective.confident
    annealing = ta.SignalAnnealing(model.task, "linear", 3)
    found["annealing"] = (
        {"y": y}, logits, lambda rows, outputs: annealing.loss(rows["y"], outputs, tf.constant(1)),
    )  # fmt: skip
    for reduction in ("mean", "sum"):
        crf = CRF(3, reduction=reduction)
        crf.build()
        found[f"crf {reduction}"] = (
            {"y": tags},
            outputs["tagging"],
            lambda rows, outputs, crf=crf: crf.loss(rows["y"], outputs),
        )
    return found


def computed(module, strategy, shares) -> dict:
    """The sum of the devices' shares of each loss, and that of their gradients."""
    keras.utils.set_random_seed(0)
    results = {}
    with strategy.scope():
        encoder = ta.HubEncoder(module, trainable=True)
        model = ta.build_model(TASKS["classification"], encoder, "linear")
        ta.l2_sp(model, encoder)
        known = pretrained_weights(encoder)
        ta.ewc(model, encoder, {name: np.ones(weight.shape) for name, weight in known.items()})
        for weight in model.trainable_weights:
            weight.assign_add(tf.fill(weight.shape, 1e-3))
        model.compile(keras.optimizers.SGD(0.1), model.task.loss, jit_compile=False)
        cases = losses(model)
    for name, (data, outputs, loss_of) in cases.items():

        def share(data=data, outputs=outputs, loss_of=loss_of):
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            first, last = tf.unstack(tf.gather(shares, number))
            moved = tf.zeros_like(outputs[0])
            with tf.GradientTape() as tape:
                tape.watch(moved)
                rows = {key: value[first:last] for key, value in data.items()}
                loss = loss_of(rows, outputs[first:last] + moved)
            return tf.reshape(loss, []), tape.gradient(loss, moved)

        def both(share=share):
            return [
                strategy.reduce(tf.distribute.ReduceOp.SUM, one, axis=None)
                for one in strategy.run(share)
            ]

        loss, gradient = tf.function(both)()
        results[name] = {"loss": float(loss), "gradient": np.ravel(gradient).tolist()}
    results["consistency"]["confident"] = float(cases["consistency"][2].confident.result())
    return results


def summed(module, strategy, size) -> float:
    """The sum over devices of as many ones, as of gradients."""
    with strategy.scope():
        ta.HubEncoder(module)
    shares = strategy.run(
        lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.ones(size))
    )
    return float(tf.reduce_sum(strategy.experimental_local_results(shares)[0]))


def main(module: str) -> None:
    two = make_strategy("cpu:2", None)
    assert is_chief(two) and two.num_replicas_in_sync == 2
    # Of several strategies, each with sums of other shapes.
    assert [summed(module, make_strategy("cpu:2", None), size) for size in (7, 3)] == [14, 6]
    strategies = [tf.distribute.get_strategy(), two, two]
    found = [computed(module, *one) for one in zip(strategies, SHARES, strict=True)]
    json.dump(found, sys.stdout)


@pytest.fixture(scope="module")
def results(tiny_bert) -> list[dict]:
    command = [sys.executable, __file__, str(tiny_bert)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_shares_add_up_to_the_loss(results, case):
    one, *two = (found[case] for found in results)
    assert one["loss"] > 0 and np.abs(one["gradient"]).max() > 1e-3
    for found in two:
        for name, value in one.items():
            assert found[name] == pytest.approx(value, rel=1e-5, abs=1e-6), name


if __name__ == "__main__":
    main(sys.argv[1])
