"""Losses on two devices, and plain `fit` and `evaluate` there, or compiled, are those on one.

Shares of the devices are unequal, and empty, on purpose: a mean of means would differ. As a program
it prints what it finds on one and on two logical CPUs, which can only be made before TensorFlow
starts.
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
from tf_adapt.heads.concat_pooling import ConcatPoolingHead
from tf_adapt.layers.crf import CRF
from tf_adapt.models.signals.consistency import Consistency
from tf_adapt.models.signals.slice_heads import SliceHeads
from tf_adapt.models.signals.teaching import Teaching
from tf_adapt.tasks.class_metrics import MatthewsCorrelation
from tf_adapt.tasks.losses import CrossEntropy, SquaredError
from tf_adapt.tasks.metrics import PearsonCorrelation
from tf_adapt.tasks.span_f1 import SpanF1
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
# The five examples on one device, and of each of two.
SHARES = [[(0, 5)], [(0, 3), (3, 5)], [(0, 5), (5, 5)]]
TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
# Examples and batch size: shares 3 + 3, 3 + 1; four times 1 + 1, 1 + 0. Equal ones first: Keras
# builds a plain model from their mean.
SIZES = {"10 by 6": (10, 6), "9 by 2": (9, 2)}


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


def computed(module, strategy, *splits) -> list[dict]:
    """For each split of the rows: the sum of the devices' shares of each loss, and that of their
    gradients."""
    keras.utils.set_random_seed(0)
    results = [{} for _ in splits]
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

        def share(shares, data=data, outputs=outputs, loss_of=loss_of):
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            first, last = tf.unstack(tf.gather(shares, number))
            moved = tf.zeros_like(outputs[0])
            with tf.GradientTape() as tape:
                tape.watch(moved)
                rows = {key: value[first:last] for key, value in data.items()}
                loss = loss_of(rows, outputs[first:last] + moved)
            return tf.reshape(loss, []), tape.gradient(loss, moved)

        def both(shares, share=share):
            return [
                strategy.reduce(tf.distribute.ReduceOp.SUM, one, axis=None)
                for one in strategy.run(share, (shares,))
            ]

        summed = both if strategy.num_replicas_in_sync == 1 else tf.function(both)
        for found, shares in zip(results, splits, strict=True):
            loss, gradient = summed(tf.constant(shares))
            found[name] = {"loss": float(loss), "gradient": np.ravel(gradient).tolist()}
            if name == "consistency":
                confident = cases[name][2].confident
                found[name]["confident"] = float(confident.result())
                confident.reset_state()
    return results


def summed(module, strategy, size) -> float:
    """The sum over devices of as many ones, as of gradients."""
    with strategy.scope():
        ta.HubEncoder(module)
    shares = strategy.run(
        lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.ones(size))
    )
    return float(tf.reduce_sum(strategy.experimental_local_results(shares)[0]))


def rows_of_fit():
    """Ten examples of three words; the last one is nothing but padding."""
    random = np.random.default_rng(4)
    inputs = random.normal(size=(10, 3, 4)).astype("float32")
    targets = {
        "classification": random.integers(0, 3, size=10).astype("int32"),
        "regression": random.normal(size=10).astype("float32"),
        "tagging": random.integers(0, 5, size=(10, 3)).astype("int32"),
        "concat_pooling": random.integers(0, 3, size=10).astype("int32"),
    }
    tags = targets["tagging"]
    tags[1, 1:] = tags[2, 2:] = tags[9] = -1
    return inputs, targets


def compiled(jit_compile):
    """A model with an output of each kind, which share nothing."""
    words = keras.Input((3, 4))
    whole = keras.layers.Flatten()(words)
    encoded = [{"layers": [words], "mask": words[..., 0] < 1.0}]
    no_chance = {"dropout": 0.0, "hidden_dropout": 0.0}
    keras.utils.set_random_seed(0)
    outputs = {
        "concat_pooling": ConcatPoolingHead(3, 5, **no_chance)(encoded),
        "classification": keras.layers.Dense(3)(whole),
        "regression": keras.layers.Dense(1)(whole)[:, 0],
        "tagging": keras.layers.Dense(5)(words),
    }
    model = keras.Model(words, outputs)
    losses = dict.fromkeys(outputs, CrossEntropy()) | {"regression": SquaredError()}
    metrics = {
        "concat_pooling": ["accuracy"],
        "classification": ["accuracy", MatthewsCorrelation(3)],
        "regression": [PearsonCorrelation()],
        "tagging": [SpanF1(TAGS, "IOB2"), SpanF1(TAGS, "IOB2", strict=True)],
    }
    model.compile(
        keras.optimizers.SGD(0.5),
        losses,
        loss_weights=dict.fromkeys(outputs, 1.0) | {"regression": 0.1},
        metrics=metrics,
        jit_compile=jit_compile,
    )
    return model


def fitted(examples, batch_size, strategy=None, jit_compile=False):
    """Weights after one epoch of plain `fit`, its logs, and those of `evaluate`.

    With two replicas each takes batch_size / 2 examples of a batch, the second whatever is left.
    """
    # The last examples, so that an all-padding one can be the only one of a replica.
    last = tf.data.Dataset.from_tensor_slices(rows_of_fit()).skip(10 - examples)
    batches = last.batch(batch_size)
    with strategy.scope() if strategy else tf.init_scope():
        model = compiled(jit_compile)
    history = model.fit(batches, epochs=1, verbose=0, shuffle=False).history
    return {
        "weights": np.concatenate([w.numpy().ravel() for w in model.weights]).tolist(),
        "fit": {name: values[0] for name, values in history.items()},
        "evaluate": model.evaluate(batches, verbose=0, return_dict=True),
    }


def main(module: str) -> None:
    two = make_strategy("cpu:2", None)
    assert is_chief(two) and two.num_replicas_in_sync == 2
    # Of several strategies, each with sums of other shapes.
    assert [summed(module, make_strategy("cpu:2", None), size) for size in (7, 3)] == [14, 6]
    whole, *splits = SHARES
    found = computed(module, tf.distribute.get_strategy(), whole) + computed(module, two, *splits)
    fits = {name: [fitted(*size), fitted(*size, two)] for name, size in SIZES.items()}
    name, size = next(iter(SIZES.items()))
    fits["compiled"] = [fits[name][0], fitted(*size, jit_compile=True)]
    json.dump({"losses": found, "fit": fits}, sys.stdout)


@pytest.fixture(scope="module")
def results(shallow_bert) -> dict:
    command = [sys.executable, __file__, str(shallow_bert)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_shares_add_up_to_the_loss(results, case):
    one, *two = (found[case] for found in results["losses"])
    assert one["loss"] > 0 and np.abs(one["gradient"]).max() > 1e-3
    for found in two:
        for name, value in one.items():
            assert found[name] == pytest.approx(value, rel=1e-5, abs=1e-6), name


@pytest.mark.slow
@pytest.mark.parametrize("case", [*SIZES, "compiled"])
def test_weights_loss_and_metrics_of_fit_are_equal(results, case):
    one, two = results["fit"][case]
    np.testing.assert_allclose(two["weights"], one["weights"], atol=1e-6)
    for phase in ("fit", "evaluate"):
        assert set(one[phase]) == set(two[phase])
        for name, value in one[phase].items():
            assert np.isfinite(value), name
            assert two[phase][name] == pytest.approx(value, abs=2e-6), name


@pytest.mark.slow
def test_the_cases_of_fit_are_not_trivial(results):
    found = results["fit"]["compiled"][0]["evaluate"]
    assert found["classification_matthews"] > 0 and abs(found["regression_pearson"]) > 0.1
    assert 0 < found["tagging_strict_span_f1"] != found["tagging_span_f1"] > 0


if __name__ == "__main__":
    main(sys.argv[1])
