import keras
import numpy as np
import pytest
import tensorflow as tf

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.native.added.settings import (
    TARGETS,
    BottleneckAdapters,
    Lora,
    ProjectedAdapters,
)
from hub_modules.native.causal import CausalEncoder
from hub_modules.native.weights import set_trainable

CONFIG = {
    "vocabulary_size": 20,
    "width": 8,
    "num_layers": 3,
    "num_heads": 2,
    "intermediate_width": 16,
    "max_positions": 12,
}
# Where the kernels that LoRA can adapt are.
KERNELS = {
    "query": "attention/query",
    "key": "attention/key",
    "value": "attention/value",
    "attention_output": "attention/output",
    "intermediate": "intermediate",
    "output": "output",
}
LENGTHS = np.array([9, 4, 1])


def built(added=None, **options) -> CausalEncoder:
    keras.utils.set_random_seed(4)
    encoder = CausalEncoder(**CONFIG | options)
    encoder.build()
    if added is not None:
        encoder.add(added)
    random = np.random.default_rng(4)
    for weight in encoder.weights:
        weight.assign(random.normal(size=weight.shape, scale=0.4))
    return encoder


def some_inputs(words: int = 20, segments: int = 2) -> dict:
    random = np.random.default_rng(5)
    mask = (np.arange(LENGTHS.max()) < LENGTHS[:, None]).astype("int32")
    return {
        "input_word_ids": random.integers(0, words, mask.shape).astype("int32") * mask,
        "input_mask": mask,
        "input_type_ids": random.integers(0, segments, mask.shape).astype("int32"),
    }


def part(inputs: dict, begin: int, end: int) -> dict:
    return {name: array[:, begin:end] for name, array in inputs.items()}


def test_the_future_changes_no_bit():
    for changed in [1, 5, 8]:
        encoder, inputs = built(), some_inputs()
        before = encoder(inputs)["layers"]
        inputs["input_word_ids"][:, changed:] = 7
        after = encoder(inputs)["layers"]
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one[:, :changed], other[:, :changed])
        assert np.abs(before[-1] - after[-1])[0, changed:].max(axis=-1).min() > 1e-3


def test_the_past_reaches_every_later_token():
    encoder, inputs = built(), some_inputs()
    before = encoder(inputs)["layers"]
    inputs["input_word_ids"][:, 0] += 1
    after = encoder(inputs)["layers"]
    difference = np.abs(before[-1] - after[-1]).max(axis=-1)
    assert difference[inputs["input_mask"] == 1].min() > 1e-4


def test_pooled_is_the_top_state_of_the_last_token():
    encoded = built()(some_inputs())
    top = encoded["layers"][-1].numpy()
    np.testing.assert_array_equal(encoded["pooled"], top[[0, 1, 2], LENGTHS - 1])


def test_logits_are_tied_to_words_and_new_rows():
    encoder = built(new_rows=2)
    weights = encoder.weights_by_name()
    tables = [weights[f"embeddings/{name}"].numpy() for name in ("word_embeddings", "new/words")]
    states = np.random.default_rng(1).normal(size=(2, 3, 8)).astype("float32")
    expected = states @ np.concatenate(tables).T
    np.testing.assert_allclose(encoder.logits(states), expected, atol=1e-5)


def test_new_ids_are_looked_up_among_the_new_rows():
    encoder, inputs = built(new_rows=2), some_inputs()
    inputs["input_word_ids"][0, :2] = (20, 21)
    named = encoder.weights_by_name()
    expected = (
        named["embeddings/new/words"].numpy() + named["embeddings/position_embeddings"].numpy()[:2]
    )
    np.testing.assert_array_equal(encoder(inputs)["layers"][0][0, :2], expected)
    inputs["input_word_ids"][0, 0] = 22
    with pytest.raises(tf.errors.InvalidArgumentError, match="22|2 is not in"):
        encoder(inputs)


def test_new_rows_are_drawn_narrowly():
    encoder = CausalEncoder(**CONFIG | {"width": 64}, new_rows=200)
    encoder.build()
    rows = encoder.embeddings.new.word_rows.numpy()
    assert abs(rows.mean()) < 1e-3
    assert rows.std() == pytest.approx(0.02, rel=0.05)


def gradients(encoder: CausalEncoder, inputs: dict) -> dict:
    with tf.GradientTape() as tape:
        for weight in encoder.weights:
            tape.watch(weight.value)
        loss = tf.reduce_sum(encoder(inputs, training=True)["pooled"] ** 3)
    found = tape.gradient(loss, [weight.value for weight in encoder.trainable_weights])
    return {
        weight.path.split("/", 1)[1]: tf.convert_to_tensor(one).numpy()
        for weight, one in zip(encoder.trainable_weights, found, strict=True)
    }


def test_of_a_frozen_encoder_a_new_token_learns_its_row_alone():
    encoder, inputs = built(new_rows=2, dropout=0.3), some_inputs()
    inputs["input_word_ids"][np.arange(3), LENGTHS - 1] = 21
    set_trainable(encoder.layer_groups, ["new_embeddings"])
    found = gradients(encoder, inputs)
    assert list(found) == ["embeddings/new/words"]
    assert not found["embeddings/new/words"][0].any()
    assert found["embeddings/new/words"][1].any()


def test_groups_are_a_partition_with_the_final_norm_on_top():
    encoder = built(new_rows=1, segments=2)
    groups = dict(encoder.layer_groups)
    layers = [f"layer_{number}" for number in range(3)]
    assert list(groups) == ["embeddings", *layers, "new_embeddings"]
    listed = [id(weight) for weights in groups.values() for weight in weights]
    assert sorted(listed) == sorted(map(id, encoder.weights))
    assert [w.name for w in groups["layer_2"][-2:]] == ["gamma", "beta"]
    adapted = dict(built(new_rows=1, added=BottleneckAdapters()).layer_groups)
    assert list(adapted) == ["embeddings", *layers, "adapters"]
    names = [weight.path.split("/", 1)[1] for weight in adapted["adapters"]]
    assert {"embeddings/new/words", "final_norm/gamma"} <= set(names)
    assert len(names) == 1 + 3 * (2 * 4 + 2 * 2) + 2


def test_lora_is_the_sum_of_kernels_in_a_call_and_with_the_cache():
    lora = Lora(rank=2, alpha=6.0, target=TARGETS, in_layers=(0, 2))
    encoder, inputs = built(new_rows=1, added=lora), some_inputs(segments=1)
    named = encoder.weights_by_name()
    summed = {name: weight.numpy() for name, weight in named.items() if "lora" not in name}
    for target, kernel in KERNELS.items():
        for layer in (0, 2):
            a, b = (named[f"layer_{layer}_{target}_lora/{part}"].numpy() for part in "ab")
            summed[f"layer_{layer}/{kernel}/kernel"] += 3 * a @ b
    plain = built(new_rows=1)
    for name, weight in plain.weights_by_name().items():
        weight.assign(summed.pop(name))
    assert not summed
    expected, found = plain(inputs)["layers"], encoder(inputs)["layers"]
    for state, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(state, other, atol=2e-5)
    for one in (plain, encoder):
        first, cache = one.step(part(inputs, 0, 3))
        logits, _ = one.step(part(inputs, 3, 9), cache)
        expected = expected if one is encoder else logits
    np.testing.assert_allclose(expected, logits, atol=1e-4)
    assert list(dict(encoder.layer_groups))[-1] == "lora"
    assert len(dict(encoder.layer_groups)["lora"]) == 1 + 2 * 2 * len(TARGETS)


def test_adapters_of_chosen_layers():
    settings = BottleneckAdapters(3, in_layers=(1,), activation="relu")
    groups = dict(built(added=settings).layer_groups)
    assert {weight.path.split("/")[1] for weight in groups["adapters"]} == {"layer_1"}
    assert len(groups["adapters"]) == 2 * 4 + 2 * 2
    with pytest.raises(ConfigError, match="expected dense for the family causal, got convolution"):
        built(BottleneckAdapters(3, operation="convolution"))


def test_cached_decoding_equals_the_whole_rows():
    for cuts in [[3], [1, 2, 3, 4, 5, 6, 7, 8], []]:
        encoder, inputs = built(new_rows=2, segments=2), some_inputs(22)
        inputs["input_mask"][:] = 1
        top, cache = encoder(inputs)["layers"][-1], None
        for begin, end in zip([0, *cuts], [*cuts, 9], strict=True):
            logits, cache = encoder.step(part(inputs, begin, end), cache)
            np.testing.assert_allclose(logits, encoder.logits(top[:, end - 1]), atol=1e-5)
        assert cache["mask"].shape == (3, 9)
        assert [key.shape for key, _ in cache["past"]] == [(3, 2, 9, 4)] * 3


def test_cached_decoding_after_beginnings_of_unequal_length():
    """Each row goes on after its own last token, whatever padding was between."""
    encoder, inputs = built(), some_inputs()
    logits, cache = encoder.step(inputs)
    added = np.array([[3, 5], [6, 2], [1, 9]], "int32")
    ones = np.ones((3, 1), "int32")
    for token in added.T:
        logits, cache = encoder.step({"input_word_ids": token[:, None], "input_mask": ones}, cache)
    for row, length in enumerate(LENGTHS):
        ids = np.concatenate([inputs["input_word_ids"][row, :length], added[row]])[None]
        whole = encoder({"input_word_ids": ids, "input_mask": np.ones_like(ids)})
        np.testing.assert_allclose(logits[row], encoder.logits(whole["pooled"])[0], atol=1e-5)


def test_states_can_be_given_from_any_layer():
    encoder, inputs = built(), some_inputs()
    expected = encoder(inputs)
    for number, name in enumerate(["embeddings", "layer_0", "layer_1", "layer_2"]):
        states = encoder.lower_layers(inputs, number)["layers"]
        assert len(states) == number + 1
        given = {"input_mask": inputs["input_mask"], f"states_of_{name}": states[-1]}
        found = encoder(given)
        for one, other in zip(found["layers"], expected["layers"][number:], strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(found["pooled"], expected["pooled"])


def test_gradient_checkpointing_changes_no_gradient():
    encoder, inputs = built(dropout=0.3, attention_dropout=0.3), some_inputs()
    keras.utils.set_random_seed(1)
    seeds = [variable.numpy() for variable in encoder.non_trainable_variables]
    expected = gradients(encoder, inputs)
    for variable, seed in zip(encoder.non_trainable_variables, seeds, strict=True):
        variable.assign(seed)
    encoder.gradient_checkpointing = True
    for name, gradient in gradients(encoder, inputs).items():
        np.testing.assert_allclose(gradient, expected[name], atol=1e-4, rtol=1e-4, err_msg=name)


def test_what_no_module_stores_is_not_loaded():
    encoder, other = built(new_rows=1, segments=2), built()
    new = encoder.embeddings.new.word_rows.numpy()
    arrays = {name: weight.numpy() + 1 for name, weight in other.weights_by_name().items()}
    encoder.load_weights_by_name(arrays)
    found = encoder.weights_by_name()
    np.testing.assert_array_equal(found["final_norm/beta"], arrays["final_norm/beta"])
    np.testing.assert_array_equal(encoder.embeddings.new.word_rows, new)
    with pytest.raises(ArtifactError, match=r"missing \['final_norm/beta'\]"):
        encoder.load_weights_by_name({k: v for k, v in arrays.items() if k != "final_norm/beta"})


def test_impossible_values_are_refused():
    with pytest.raises(ConfigError, match="projected_attention: .*got the family causal"):
        built(ProjectedAdapters())
    with pytest.raises(ValueError, match="width 8 is not a multiple of num_heads 3"):
        CausalEncoder(**CONFIG | {"num_heads": 3})
    with pytest.raises(ValueError, match="activation: expected one of"):
        CausalEncoder(**CONFIG, activation="relu")
