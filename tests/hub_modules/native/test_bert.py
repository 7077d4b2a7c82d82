"""The native BERT: freezing by group, dropout, precision, weights. (All else: conformance/.)"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from hub_modules.native.bert import BertEncoder
from hub_modules.native.weights import set_trainable
from tf_adapt.errors import ArtifactError

CONFIG = {
    "vocabulary_size": 50,
    "width": 8,
    "num_layers": 3,
    "num_heads": 2,
    "intermediate_width": 16,
    "max_positions": 12,
}
GROUPS = ["embeddings", "layer_0", "layer_1", "layer_2", "pooler"]


def inputs(rows=2, time=5, seed=0):
    word_ids = np.random.default_rng(seed).integers(1, 50, (rows, time)).astype("int32")
    return {
        "input_word_ids": word_ids,
        "input_mask": np.ones_like(word_ids),
        "input_type_ids": np.zeros_like(word_ids),
    }


def built(**changes):
    encoder = BertEncoder(**CONFIG | changes)
    encoder.build()
    return encoder


def changed_groups(encoder, frozen, read="pooled"):
    """Trains one SGD step on everything and tells which groups' weights moved."""
    set_trainable(encoder.layer_groups, [name for name in GROUPS if name not in frozen])
    before = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(inputs(), training=True)[read] ** 2)
    gradients = tape.gradient(loss, encoder.trainable_weights)
    keras.optimizers.SGD(0.5).apply(gradients, encoder.trainable_weights)
    return {
        name.split("/")[0]
        for name, weight in encoder.weights_by_name().items()
        if not np.array_equal(before[name], weight.numpy())
    }


def test_every_group_learns_unless_it_is_frozen():
    assert [name for name, _ in built().layer_groups] == GROUPS
    assert changed_groups(built(), frozen=[]) == set(GROUPS)
    for frozen in (["embeddings"], ["embeddings", "layer_0"], ["layer_1"], GROUPS[:4]):
        assert changed_groups(built(), frozen) == set(GROUPS) - set(frozen)


def test_frozen_groups_run_without_dropout_and_trained_ones_with():
    encoder = built(dropout=0.99999, attention_dropout=0.0)
    set_trainable(encoder.layer_groups, GROUPS[3:])
    quiet, noisy = encoder(inputs(), training=False), encoder(inputs(), training=True)
    for index in range(3):
        np.testing.assert_array_equal(quiet["layers"][index], noisy["layers"][index])
    # Everything dropped: the last block adds nothing, its two LayerNorms see the block's input.
    expected = encoder.blocks[2].output_layer_norm(
        encoder.blocks[2].attention_layer_norm(quiet["layers"][2])
    )
    np.testing.assert_allclose(noisy["layers"][3], expected, atol=1e-6)


def test_a_row_of_padding_alone_stays_finite():
    batch = inputs()
    batch["input_mask"][1] = 0
    outputs = built()(batch)
    assert all(np.isfinite(layer).all() for layer in outputs["layers"])


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_keeps_float32_weights_and_nearly_the_numbers(policy):
    encoder, half = built(), BertEncoder(**CONFIG, dtype=policy)
    half.build()
    half.load_weights_by_name({n: w.numpy() for n, w in encoder.weights_by_name().items()})
    assert {weight.dtype for weight in half.weights} == {"float32"}
    outputs = half(inputs())
    assert outputs["pooled"].dtype == policy.removeprefix("mixed_")
    difference = np.abs(np.asarray(outputs["pooled"], "float32") - encoder(inputs())["pooled"])
    assert difference.max() < 0.05


def test_the_two_gelus_differ_and_both_come_from_the_config():
    exact, tanh = built(activation="gelu_exact"), built(activation="gelu_tanh")
    tanh.load_weights_by_name({n: w.numpy() * 3 for n, w in exact.weights_by_name().items()})
    exact.load_weights_by_name({n: w.numpy() for n, w in tanh.weights_by_name().items()})
    difference = np.abs(exact(inputs())["layers"][-1] - tanh(inputs())["layers"][-1]).max()
    assert 1e-6 < difference < 1e-1


def test_weights_fit_or_are_refused_whole():
    encoder = built()
    arrays = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    with pytest.raises(ArtifactError, match="missing.*pooler/bias"):
        encoder.load_weights_by_name({k: v for k, v in arrays.items() if k != "pooler/bias"})
    with pytest.raises(ArtifactError, match="unknown.*layer_9/kernel"):
        encoder.load_weights_by_name(arrays | {"layer_9/kernel": np.zeros(1)})
    with pytest.raises(ArtifactError, match=r"pooler/bias: expected shape \(8,\), got \(9,\)"):
        encoder.load_weights_by_name(arrays | {"pooler/bias": np.zeros(9)})


def test_impossible_numbers_are_refused():
    with pytest.raises(ValueError, match="not a multiple"):
        built(width=9)
    with pytest.raises(ValueError, match="gelu_exact"):
        built(activation="relu")
