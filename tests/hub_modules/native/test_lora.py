"""LoRA beside linear layers and in BERT: numbers, start, group, gradients, merging."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from hub_modules.errors import ConfigError
from hub_modules.load import load_module
from hub_modules.native.added.lora import add_low_rank, low_rank_layers, merged
from hub_modules.native.added.settings import TARGETS, Lora
from hub_modules.native.bert import BertEncoder
from hub_modules.native.elmo import ElmoEncoder
from hub_modules.native.weights import count_parameters, set_trainable

BERT = {
    "vocabulary_size": 50,
    "width": 8,
    "num_layers": 3,
    "num_heads": 2,
    "intermediate_width": 16,
    "max_positions": 12,
    "dropout": 0.0,
    "attention_dropout": 0.0,
}
RANDOM = np.random.default_rng(4)


def inputs():
    ids = np.random.default_rng(1).integers(1, 50, (2, 5)).astype("int32")
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "int32")
    return {"input_word_ids": ids, "input_mask": mask, "input_type_ids": np.zeros_like(ids)}


def built(lora=None, spread=0.5, **changes):
    """An encoder with normally distributed weights, A and B among them."""
    encoder = BertEncoder(**BERT | changes)
    encoder.build()
    encoder.add(lora or Lora(3, 6.0))
    random = np.random.default_rng(4)
    for weight in encoder.weights if spread else ():
        if weight.dtype == "float32":
            weight.assign(random.normal(0, spread, weight.shape))
    return encoder


def states(encoder, **options):
    return [np.asarray(tf.cast(x, "float32")) for x in encoder(inputs(), **options)["layers"]]


LAYERS = {
    "dense": (keras.layers.Dense(5, activation="tanh"), (4, 6), (6,), (5,)),
    "no bias": (keras.layers.Dense(5, use_bias=False), (2, 3, 6), (6,), (5,)),
    "query of several heads": (
        keras.layers.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de"),
        (2, 4, 6),
        (6,),
        (2, 3),
    ),
    "output of several heads": (
        keras.layers.EinsumDense("abde,dec->abc", (None, 6), bias_axes="c"),
        (2, 4, 2, 3),
        (2, 3),
        (6,),
    ),
}


def test_w_plus_alpha_b_a_by_r_with_its_gradient():
    for name in LAYERS:
        dense, shape, summed, others = LAYERS[name]
        dense = type(dense).from_config(dense.get_config())
        dense.build(shape)
        low_rank = add_low_rank(dense, rank=3, alpha=6.0, name="mine")
        for weight in dense.weights:
            weight.assign(RANDOM.normal(size=weight.shape))
        x = RANDOM.normal(size=shape).astype("float32")
        a, b = np.float64(low_rank.a), np.float64(low_rank.b)
        assert (a.shape, b.shape) == ((np.prod(summed), 3), (3, np.prod(others)))
        kernel = np.float64(dense.kernel).reshape(a.shape[0], b.shape[1]) + 2.0 * a @ b
        bias = 0.0 if dense.bias is None else np.float64(dense.bias).reshape(-1)
        rows = np.float64(x).reshape(-1, a.shape[0])
        lead = shape[: len(shape) - len(summed)]
        linear = rows @ kernel + bias
        expected = np.tanh(linear) if name == "dense" else linear
        with tf.GradientTape() as tape:
            found = dense(x)
            loss = tf.reduce_sum(found**2) / 2
        np.testing.assert_allclose(found, expected.reshape(*lead, *others), rtol=1e-5, atol=1e-5)
        with merged(keras.Sequential([dense])):
            np.testing.assert_allclose(dense(x), found, rtol=1e-5, atol=1e-5)
        upstream = expected * (1 - expected**2) if name == "dense" else expected
        of_a, of_b = tape.gradient(loss, [low_rank.a.value, low_rank.b.value])
        np.testing.assert_allclose(of_a, 2.0 * rows.T @ upstream @ b.T, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(of_b, 2.0 * (rows @ a).T @ upstream, rtol=1e-4, atol=1e-4)


def test_kernels_that_are_not_two_dimensional_are_refused():
    dense = keras.layers.EinsumDense("abc,dc->abd", (None, 5))
    dense.build((2, 4, 6))
    with pytest.raises(ValueError, match="last axes of the inputs, got 'abc,dc->abd'"):
        add_low_rank(dense, 2, 2.0, "mine")


def test_a_encoder_with_lora_is_one_with_other_kernels():
    lora = Lora(2, 3.0, TARGETS, in_layers=(0, 2))
    encoder = built(lora)
    plain = BertEncoder(**BERT)
    plain.build()
    weights = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    arrays = {name: array for name, array in weights.items() if "_lora" not in name}
    kernels = {
        "query": "attention/query",
        "key": "attention/key",
        "value": "attention/value",
        "attention_output": "attention/output",
        "intermediate": "intermediate",
        "output": "output",
    }
    assert len(weights) - len(arrays) == 2 * 2 * 6
    for layer in lora.in_layers:
        for target, inside in kernels.items():
            a, b = (np.float64(weights[f"layer_{layer}_{target}_lora/{n}"]) for n in "ab")
            arrays[f"layer_{layer}/{inside}/kernel"] += (1.5 * a @ b).astype("float32")
    plain.load_weights_by_name(arrays)
    for got, expected in zip(states(encoder), states(plain), strict=True):
        np.testing.assert_allclose(got[0], expected[0], atol=2e-5)
        np.testing.assert_allclose(got[1, :3], expected[1, :3], atol=2e-5)


def test_at_first_nothing_is_added_and_a_is_within_its_bound():
    keras.utils.set_random_seed(0)
    plain = load_module("bert_small").encoder
    encoder = load_module("bert_small").encoder
    encoder.add(Lora(rank=64, target=("query", "output")))
    for one, other in zip(states(encoder), states(plain), strict=True):
        np.testing.assert_array_equal(one, other)
    named = encoder.weights_by_name()
    for target, fan_in in (("query", 384), ("output", 1536)):
        a = named[f"layer_1_{target}_lora/a"].numpy()
        assert 0.98 / np.sqrt(fan_in) < np.abs(a).max() <= 1 / np.sqrt(fan_in)
        # Uniform: the variance is a third of the squared bound.
        np.testing.assert_allclose(a.var() * fan_in, 1 / 3, rtol=0.03)
        assert not named[f"layer_1_{target}_lora/b"].numpy().any()


def test_the_group_holds_a_and_b_alone():
    encoder = built(Lora(3, in_layers=(1, 2)))
    names = ["embeddings", "layer_0", "layer_1", "layer_2", "pooler", "lora"]
    assert [name for name, _ in encoder.layer_groups] == names
    listed = [id(weight) for _, weights in encoder.layer_groups for weight in weights]
    assert sorted(listed) == sorted(map(id, encoder.weights))
    group = set(map(id, dict(encoder.layer_groups)["lora"]))
    named = {name for name, weight in encoder.weights_by_name().items() if id(weight) in group}
    assert named == {
        f"layer_{layer}_{target}_lora/{matrix}"
        for layer in (1, 2)
        for target in ("query", "value")
        for matrix in "ab"
    }
    assert count_parameters(dict(encoder.layer_groups)["lora"]) == 4 * 2 * 8 * 3


@pytest.mark.parametrize(
    ("policy", "checkpointing"), [("float32", True), ("mixed_bfloat16", False)]
)
def test_where_only_lora_learns_nothing_else_moves(policy, checkpointing):
    encoder = built(spread=None, dtype=policy)
    encoder.gradient_checkpointing = checkpointing
    set_trainable(encoder.layer_groups, ["lora"])
    before = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    optimizer = keras.optimizers.Adam(0.01)
    for _ in range(2):
        with tf.GradientTape() as tape:
            top = encoder(inputs(), training=True)["layers"][-1][:, 0]
            loss = tf.reduce_mean(tf.cast(top, "float32")[:, 0] - 3) ** 2
        optimizer.apply(tape.gradient(loss, encoder.trainable_weights), encoder.trainable_weights)
    named = encoder.weights_by_name()
    moved = {n for n, array in before.items() if not np.array_equal(array, named[n].numpy())}
    assert moved == {name for name in named if "_lora" in name}


def test_nothing_flows_below_the_lowest_layer_with_lora():
    encoder = built(Lora(3, in_layers=(1,)))
    set_trainable(encoder.layer_groups, ["lora"])
    weights = {name: weight.value for name, weight in encoder.weights_by_name().items()}
    with tf.GradientTape() as tape:
        tape.watch(weights)
        loss = tf.reduce_sum(encoder(inputs(), training=True)["layers"][-1][:, 0] ** 2)
    found = tape.gradient(loss, weights)
    reached = {name.split("/")[0] for name, one in found.items() if one is not None}
    assert reached == {"layer_1", "layer_2", "layer_1_query_lora", "layer_1_value_lora"}


def test_dropout_runs_in_the_layers_with_lora_and_only_there():
    encoder = built(Lora(in_layers=(1,)), dropout=0.5, attention_dropout=0.5)
    set_trainable(encoder.layer_groups, ["lora"])
    quiet, noisy = states(encoder), states(encoder, training=True)
    for layer in (0, 1):
        np.testing.assert_array_equal(quiet[layer], noisy[layer])
    assert np.abs(quiet[2] - noisy[2]).max() > 0.01


def test_merging_is_undone_bit_by_bit_even_after_an_error():
    encoder = built()
    before, expected = [weight.numpy() for weight in encoder.weights], states(encoder)
    with pytest.raises(RuntimeError), merged(encoder):
        now = [weight.numpy() for weight in encoder.weights]
        changed = sum(not np.array_equal(*pair) for pair in zip(before, now, strict=True))
        assert changed == len(low_rank_layers(encoder)) == 6
        for got, wanted in zip(states(encoder), expected, strict=True):
            np.testing.assert_allclose(got, wanted, atol=2e-5)
        raise RuntimeError
    for array, weight in zip(before, encoder.weights, strict=True):
        np.testing.assert_array_equal(array, weight)
    for got, wanted in zip(states(encoder), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


WRONG = {
    "rank: expected a whole number of at least 1, got 0": {"rank": 0},
    "alpha: expected a number above 0, got -1": {"alpha": -1},
    "target: expected some of query, key, .*, each once, got keys": {"target": ["keys"]},
    "target: .*, each once, got key, key": {"target": ["key", "key"]},
    "target: .* got none": {"target": []},
    r"in_layers .*: expected numbers of layers from 0 to 2, each once, got \[3\]": {
        "in_layers": [3]
    },
    r"in_layers .* got \[0, 0\]": {"in_layers": [0, 0]},
    r"in_layers .* got \[\]": {"in_layers": []},
}


def test_impossible_settings_are_refused():
    for message in WRONG:
        with pytest.raises(ConfigError, match=message):
            built(Lora(**WRONG[message]))


def test_elmo_has_no_kernels_with_these_names():
    sizes = {"character_width": 4, "num_highway": 1, "projection_width": 6, "lstm_width": 10}
    encoder = ElmoEncoder(filters=[[1, 4]], **sizes)
    encoder.build()
    with pytest.raises(
        ConfigError, match="lora: expected .*have a place for it, got the family elmo"
    ):
        encoder.add(Lora())
