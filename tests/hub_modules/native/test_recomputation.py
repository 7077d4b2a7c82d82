"""Gradient checkpointing: the gradients that TensorFlow computes from what it keeps."""

import numpy as np
import pytest
import tensorflow as tf
from eager import without_graphs

import tf_adapt as ta
from hub_modules.native.added.settings import BottleneckAdapters, ProjectedAdapters
from hub_modules.native.bert import BertEncoder
from hub_modules.native.kernels import recomputation
from hub_modules.native.weights import set_trainable
from tf_adapt.errors import ConfigError

CONFIG = {
    "vocabulary_size": 50,
    "width": 8,
    "num_layers": 3,
    "num_heads": 2,
    "intermediate_width": 16,
    "max_positions": 12,
    "dropout": 0.3,
    "attention_dropout": 0.3,
}
INPUTS = {
    "input_word_ids": np.random.default_rng(0).integers(1, 50, (2, 5)).astype("int32"),
    "input_mask": np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "int32"),
    "input_type_ids": np.zeros((2, 5), "int32"),
}


def step(encoder, inputs=INPUTS):
    """Loss and gradients of one batch, as a graph."""
    target = tf.random.stateless_normal([5, 8], [0, 1])

    @tf.function
    def run():
        with tf.GradientTape() as tape:
            encoded = encoder(inputs, training=True)
            top = tf.cast(encoded["layers"][-1], tf.float32) * target
            loss = tf.reduce_sum(top) + tf.reduce_sum(tf.cast(encoded["pooled"], tf.float32))
        return loss, tape.gradient(loss, [weight.value for weight in encoder.trainable_weights])

    return run


def seeds_of(encoder):
    layers = encoder._flatten_layers()
    return [generator.state for layer in layers for generator in layer._seed_generators]


CASES = {
    "all learns": ({}, None),
    "top layers": ({}, ["layer_1", "layer_2", "pooler"]),
    "a frozen layer above": ({}, ["layer_0"]),
    "bottlenecks": (BottleneckAdapters(4), ["adapters"]),
    "in parallel": (ProjectedAdapters(4), ["adapters"]),
    "half precision": ({"dtype": "mixed_bfloat16"}, None),
    "in one piece": ({}, None),
    "two layers": ({"num_layers": 2}, None),
}


# Building a graph takes longest: of one case by default, and of few layers.
RUNS = [
    *((case, False) for case in CASES),
    ("two layers", True),
    *(pytest.param(case, True, marks=pytest.mark.large) for case in CASES if case != "two layers"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "graph"), RUNS)
def test_same_gradients_with_the_same_dropout(case, graph):
    changes, learning = CASES[case]
    encoder = BertEncoder(**CONFIG | (changes if isinstance(changes, dict) else {}))
    encoder.supports_jit = case == "in one piece"
    encoder.build()
    if not isinstance(changes, dict):
        encoder.add(changes)
    if learning is not None:
        set_trainable(encoder.layer_groups, learning)
    seeds, found = seeds_of(encoder), {}
    start = [seed.numpy() for seed in seeds]
    with without_graphs(not graph):
        for checkpointing in (False, True):
            encoder.gradient_checkpointing = checkpointing
            for seed, value in zip(seeds, start, strict=True):
                seed.assign(value)
            run = step(encoder)
            found[checkpointing] = [run(), run()], [seed.numpy() for seed in seeds]
    (plain, seeds_after), (again, seeds_again) = found[False], found[True]
    np.testing.assert_array_equal(seeds_after, seeds_again)
    tolerance = 0.05 if case == "half precision" else 1e-5
    for (loss, gradients), (expected, by_tensorflow) in zip(again, plain, strict=True):
        np.testing.assert_allclose(loss, expected, rtol=tolerance)
        for ours, theirs in zip(gradients, by_tensorflow, strict=True):
            ours, theirs = tf.convert_to_tensor(ours), tf.convert_to_tensor(theirs)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    assert not np.array_equal(plain[0][0], plain[1][0]), "dropout drew nothing"


@pytest.mark.slow
def test_slices_of_a_batch_are_as_if_each_came_alone(monkeypatch):
    """Two texts, then the third: with the dropout that they draw one after the other."""
    monkeypatch.setattr(recomputation, "SLICE_POSITIONS", 11)
    encoder = BertEncoder(**CONFIG | {"num_layers": 2})
    encoder.build()
    set_trainable(encoder.layer_groups, ["layer_0", "layer_1", "pooler"])
    encoder.embeddings.dropout_layer.rate = 0.0  # they read the whole batch at once
    inputs = {name: np.concatenate([array, array[:1]]) for name, array in INPUTS.items()}
    seeds = seeds_of(encoder)
    start = [seed.numpy() for seed in seeds]
    parts = []
    with without_graphs():
        for rows in (slice(0, 2), slice(2, 3)):
            parts.append(step(encoder, {name: array[rows] for name, array in inputs.items()})())
    seeds_after = [seed.numpy() for seed in seeds]
    for seed, value in zip(seeds, start, strict=True):
        seed.assign(value)
    encoder.gradient_checkpointing = True
    loss, gradients = step(encoder, inputs)()
    np.testing.assert_array_equal([seed.numpy() for seed in seeds], seeds_after)
    np.testing.assert_allclose(loss, parts[0][0] + parts[1][0], rtol=1e-5)
    for whole, *of_parts in zip(gradients, parts[0][1], parts[1][1], strict=True):
        np.testing.assert_allclose(whole, of_parts[0] + of_parts[1], rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_device_that_gets_no_text():
    encoder = BertEncoder(**CONFIG | {"num_layers": 1})
    encoder.build()
    encoder.gradient_checkpointing = True

    @tf.function(input_signature=[tf.TensorSpec([None, 5], tf.int32)] * 3)
    def gradients(words, mask, types):
        inputs = dict(zip(INPUTS, (words, mask, types), strict=True))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(encoder(inputs, training=True)["layers"][-1])
        weights = [weight.value for weight in encoder.trainable_weights]
        return tape.gradient(loss, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    for found in gradients(*(array[:0] for array in INPUTS.values())):
        assert not np.any(tf.convert_to_tensor(found))


def softmaxes(graph):
    """In the graph and in its functions, which the loops over slices are."""
    nodes = [*graph.node, *(node for part in graph.library.function for node in part.node_def)]
    return sum(node.op == "Softmax" for node in nodes)


@pytest.mark.slow
def test_activations_are_computed_again_above_what_learns_and_only_there():
    encoder = BertEncoder(**CONFIG)
    encoder.build()
    set_trainable(encoder.layer_groups, ["layer_0", "layer_1", "layer_2"])

    def count() -> int:
        return softmaxes(step(encoder).get_concrete_function().graph.as_graph_def())

    assert count() == 3
    encoder.gradient_checkpointing = True
    counts = []
    for learning in (["layer_0", "layer_1", "layer_2"], ["layer_2"], ["layer_1"]):
        set_trainable(encoder.layer_groups, learning)
        counts.append(count())
    assert counts == [6, 4, 5]


def test_elmo_and_black_boxes_are_refused(tiny_elmo, tiny_bert):
    with pytest.raises(ConfigError, match="a transformer that runs natively, got the family elmo"):
        ta.HubEncoder(tiny_elmo, gradient_checkpointing=True)
    with pytest.raises(ConfigError, match="family bert, execution saved_model; leave it out"):
        ta.HubEncoder("bert_small", execution="saved_model", gradient_checkpointing=True)
    encoder = ta.HubEncoder(tiny_bert, gradient_checkpointing=True)
    assert ta.HubEncoder.from_config(encoder.get_config()).encoder.gradient_checkpointing
