"""Adapters in the native encoders: numbers, start, layer groups, gradients, loading."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import ELMO
from scipy.special import erf, softmax

from hub_modules.load import load_module
from hub_modules.native.added.adapters import BottleneckAdapter
from hub_modules.native.added.projected_attention import ProjectedAttention
from hub_modules.native.added.settings import (
    BottleneckAdapters,
    Lora,
    ProjectedAdapters,
    TaskAttention,
)
from hub_modules.native.bert import BertEncoder
from hub_modules.native.causal import CausalEncoder
from hub_modules.native.elmo import ElmoEncoder
from hub_modules.native.relative.modern_bert import ModernBertEncoder
from hub_modules.native.weights import count_parameters, set_trainable
from tf_adapt.errors import ArtifactError, ConfigError

BERT = {
    "vocabulary_size": 50,
    "width": 8,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_width": 16,
    "max_positions": 12,
}
# Encoder, its configuration, the kind of adapters.
ALL = {
    "bert, bottleneck": (BertEncoder, BERT, BottleneckAdapters),
    "bert, projected": (BertEncoder, BERT, ProjectedAdapters),
    "elmo, bottleneck": (ElmoEncoder, ELMO, BottleneckAdapters),
}
GELU = {
    "gelu_exact": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
}


def given(encoder, added):
    encoder.build()
    encoder.add(added)
    return encoder


def built(kind, spread=None, size=3, **changes):
    """An encoder with adapters; with `spread`, normally distributed weights throughout."""
    layer, config, adapters = ALL[kind]
    added = changes.pop("added", None) or adapters(size)
    encoder = given(layer(**config | changes), added)
    random = np.random.default_rng(4)
    for weight in encoder.weights if spread else ():
        if weight.dtype == "float32":
            weight.assign(random.normal(0, spread, weight.shape))
    return encoder


def bert_inputs():
    ids = np.random.default_rng(1).integers(1, 50, (2, 5)).astype("int32")
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "int32")
    return {"input_word_ids": ids, "input_mask": mask, "input_type_ids": np.zeros_like(ids)}


def elmo_inputs():
    ids = np.random.default_rng(1).integers(1, 257, (2, 5, 50)).astype("int32")
    ids[1, 3:] = 0
    return {"character_ids": ids}


def inputs(encoder):
    return bert_inputs() if isinstance(encoder, BertEncoder) else elmo_inputs()


class NumpyBert:
    """The blocks of a BERT with adapters, from the formulas, in float64."""

    def __init__(self, encoder):
        self.encoder = encoder
        self.weights = {n: np.float64(w.numpy()) for n, w in encoder.weights_by_name().items()}
        self.gelu = GELU[encoder.activation]

    def dense(self, name, x):
        return x @ self.weights[f"{name}/kernel"] + self.weights[f"{name}/bias"]

    def layer_norm(self, name, x):
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(-1, keepdims=True) + self.encoder.layer_norm_epsilon)
        return centred / scale * self.weights[f"{name}/gamma"] + self.weights[f"{name}/beta"]

    def attention(self, name, x, mask, heads):
        query, key, value = (self.dense(f"{name}/{part}", x) for part in ("query", "key", "value"))
        mixed, width = np.empty_like(query), query.shape[-1] // heads
        for row, real in enumerate(mask.astype(bool)):
            for head in range(heads):
                part = np.s_[row, :, head * width : (head + 1) * width]
                scores = query[part] @ key[part].T / np.sqrt(width)
                scores[:, ~real] = -np.inf
                mixed[part] = softmax(scores, axis=-1) @ value[part]
        return mixed

    def adapter(self, name, x, read):
        if f"{name}/up/bias" not in self.weights:
            return x
        read = read if getattr(self.encoder.added, "parallel", False) else x
        return x + self.dense(f"{name}/up", self.gelu(self.dense(f"{name}/down", read)))

    def projected(self, index, x, mask, heads):
        if "projected_attention/up/bias" not in self.weights:
            return 0
        narrow = self.dense("projected_attention/down", x)
        mixed = self.attention(f"projected_attention/layer_{index}", narrow, mask, heads)
        return self.gelu(self.dense("projected_attention/up", mixed))

    def block(self, index, x, mask, heads=None):
        name = f"layer_{index}"
        attended = self.attention(f"{name}/attention", x, mask, self.encoder.num_heads)
        attended = self.dense(f"{name}/attention/output", attended)
        attended = self.adapter(f"{name}/attention_adapter", attended, x)
        h = self.layer_norm(f"{name}/attention_layer_norm", x + attended)
        inner = self.dense(f"{name}/output", self.gelu(self.dense(f"{name}/intermediate", h)))
        inner = self.adapter(f"{name}/output_adapter", inner, h)
        inner = inner + self.projected(index, x, mask, heads)
        return self.layer_norm(f"{name}/output_layer_norm", h + inner)


def test_bert_with_adapters_computes_the_formulas():
    parallel = {"added": BottleneckAdapters(15, parallel=True)}
    cases = [("bert, bottleneck", {}), ("bert, projected", {}), ("bert, bottleneck", parallel)]
    for kind, more in cases:
        for activation in ["gelu_exact", "gelu_tanh"]:
            # A size of 15 has five heads of width 3.
            encoder = built(kind, spread=0.5, activation=activation, size=15, **more)
            found = [np.float64(layer) for layer in encoder(bert_inputs())["layers"]]
            formulas, mask = NumpyBert(encoder), bert_inputs()["input_mask"]
            states = found[0]
            for index, layer in enumerate(found[1:]):
                states = formulas.block(index, states, mask, heads=5)
                for row, length in enumerate((5, 3)):
                    np.testing.assert_allclose(layer[row, :length], states[row, :length], atol=3e-6)


@pytest.mark.parametrize(
    ("of", "more"),
    [(CausalEncoder, {}), (ModernBertEncoder, {"global_layers": [0], "local_attention": 4})],
)
def test_parallel_adapters_of_a_pre_norm_block_read_what_its_parts_read(of, more):
    encoder = given(of(**BERT | more | {"num_layers": 3}), BottleneckAdapters(3, parallel=True))
    random = np.random.default_rng(4)
    for weight in encoder.weights:
        weight.assign(random.normal(0, 0.5, weight.shape))
    for block in encoder.blocks:  # what is behind the parts is nothing but the adapters
        for layer in (block.attention.output_projection, block.output_projection):
            for weight in layer.weights:
                weight.assign(weight * 0)
    packed = bert_inputs()
    mask = tf.constant(packed["input_mask"], tf.bool)
    layers = encoder(packed)["layers"]
    for index, block in enumerate(encoder.blocks[:-1]):
        x = layers[index]
        first, second = block.attention_adapter, block.output_adapter
        norm, nothing = block.attention_layer_norm, tf.zeros_like(x)
        h = x + first(nothing, mask, x if norm is None else norm(x))
        expected = h + second(nothing, mask, block.output_layer_norm(h))
        for row, length in enumerate((5, 3)):
            found = np.asarray(layers[index + 1])[row, :length]
            np.testing.assert_allclose(found, expected[row, :length], atol=1e-5)


def test_parallel_adapters_of_an_elmo_are_refused():
    encoder = ElmoEncoder(**ELMO)
    encoder.build()
    with pytest.raises(ConfigError, match="parallel .*expected false for the family elmo"):
        encoder.add(BottleneckAdapters(3, parallel=True))


def test_heads_of_projected_attention():
    for size, heads in [(204, 6), (64, 4), (100, 5), (33, 3), (7, 1)]:
        assert ProjectedAttention(8, size, 1, "gelu_exact", 0.0).num_heads == heads


def test_elmo_with_adapters_computes_the_formula_and_the_next_layer_reads_it(monkeypatch):
    adapted, plain = built("elmo, bottleneck", spread=0.4), ElmoEncoder(**ELMO)
    plain.build()
    weights = {n: np.float64(w.numpy()) for n, w in adapted.weights_by_name().items()}
    plain.load_weights_by_name({n: w for n, w in weights.items() if "adapter" not in n})

    def adapter(index, states, direction):
        w = {n: weights[f"lstm_{index}_adapter/{direction}/{n}"] for n in PARTS}
        inner = GELU["gelu_exact"](states @ w["down/kernel"] + w["down/bias"])
        return states + inner @ w["up/kernel"] + w["up/bias"]

    # The plain encoder's second layer is made to read what NumPy makes of its first one's output.
    run = plain.lstms[1].call

    def reads_adapted(states, state, lengths):
        both = [adapter(0, np.float64(states[d]), name) for d, name in enumerate(DIRECTIONS)]
        return run(tf.constant(np.stack(both), tf.float32), state, lengths)

    monkeypatch.setattr(plain.lstms[1], "call", reads_adapted)
    got, base = adapted(elmo_inputs()), plain(elmo_inputs())
    np.testing.assert_array_equal(got["layers"][0], base["layers"][0])
    for index in range(2):
        states = np.float64(base["layers"][index + 1])
        both = [
            adapter(index, states[..., :6], "forward"),
            adapter(index, states[..., 6:], "backward"),
        ]
        expected = np.concatenate(both, axis=-1)
        for row, length in enumerate((5, 3)):
            found = got["layers"][index + 1][row]
            np.testing.assert_allclose(found[:length], expected[row, :length], atol=1e-5)
            assert not np.any(found[length:])


PARTS = ("down/kernel", "down/bias", "up/kernel", "up/bias")
DIRECTIONS = ("forward", "backward")


@pytest.mark.slow
def test_a_fresh_adapter_is_nearly_the_identity():
    keras.utils.set_random_seed(0)
    plain = load_module("bert_small")
    tokens = plain.preprocessor.tokenize(tf.constant(["The cat sat on the mat .", "Hello Paris"]))
    packed = plain.preprocessor.pack([tokens])
    states = plain.encoder(packed)["layers"]
    for adapters, bound in ((BottleneckAdapters(), 1e-3), (ProjectedAdapters(), 2e-3)):
        adapted = load_module("bert_small").encoder
        adapted.add(adapters)
        adapted = adapted(packed)["layers"]
        differences = [np.abs(one - two).max() for one, two in zip(states, adapted, strict=True)]
        assert differences[0] == 0
        assert 0 < max(differences[1:]) < bound


def test_parameters_by_pencil():
    bottleneck, projected = built("bert, bottleneck"), built("bert, projected")
    d, m, layers = 8, 3, 2
    norms = (2 * layers + 1) * 2 * d
    counts = dict(bottleneck.layer_groups), dict(projected.layer_groups)
    adapters = layers * 2 * (2 * d * m + d + m)
    assert count_parameters(counts[0]["adapters"]) == adapters + norms == 316
    shared = d * m + m + m * d + d
    adapters = shared + layers * 3 * (m * m + m)
    assert count_parameters(counts[1]["adapters"]) == adapters + norms == 211
    d = 6
    group = dict(built("elmo, bottleneck").layer_groups)["adapters"]
    assert count_parameters(group) == layers * 2 * (2 * d * m + d + m) == 180


def test_the_groups_are_a_partition_with_the_adapters_last():
    for kind in ALL:
        encoder, (layer, config, _) = built(kind), ALL[kind]
        plain = layer(**config)
        plain.build()
        names = [name for name, _ in plain.layer_groups]
        assert [name for name, _ in encoder.layer_groups] == [*names, "adapters"]
        listed = [id(weight) for _, weights in encoder.layer_groups for weight in weights]
        assert sorted(listed) == sorted(map(id, encoder.weights))
        named = encoder.weights_by_name()
        group = set(map(id, dict(encoder.layer_groups)["adapters"]))
        in_group = {name for name, weight in named.items() if id(weight) in group}
        new = set(named) - set(plain.weights_by_name())
        norms = {name for name in named if "layer_norm" in name}
        assert in_group == new | norms
        assert len(norms) == (10 if config is BERT else 0)


def fitted(encoder):
    """What a step of Adam on a model of the encoder and a dense layer leaves as it was."""
    packed = inputs(encoder)
    arguments = {
        name: keras.Input(value.shape[1:], dtype="int32", name=name)
        for name, value in packed.items()
    }
    states = keras.ops.mean(encoder(arguments)["layers"][-1], axis=1)
    model = keras.Model(arguments, keras.layers.Dense(1, dtype="float32")(states))
    # Eagerly: one step is not worth a graph.
    model.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=True)
    named = encoder.weights_by_name()
    before = {name: weight.numpy() for name, weight in named.items()}
    model.fit(packed, np.array([[3.0], [-2.0]]), batch_size=2, verbose=0)
    return {name for name, weight in named.items() if np.array_equal(before[name], weight.numpy())}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "policy"),
    [*((kind, "float32") for kind in ALL), ("bert, bottleneck", "mixed_bfloat16")],
)
def test_where_only_adapters_learn_all_of_them_move_and_nothing_else(kind, policy):
    encoder = built(kind, dtype=policy)
    set_trainable(encoder.layer_groups, ["adapters"])
    learning = set(map(id, dict(encoder.layer_groups)["adapters"]))
    frozen = {n for n, weight in encoder.weights_by_name().items() if id(weight) not in learning}
    # One number more for all scores of a query changes no attention weight: key biases may stay.
    assert {name for name in fitted(encoder) if not name.endswith("key/bias")} == {
        name for name in frozen if not name.endswith("key/bias")
    }
    assert len(frozen) > 10


def gradients(encoder):
    """Gradient of every weight, trainable or not, by its name."""
    weights = {name: weight.value for name, weight in encoder.weights_by_name().items()}
    with tf.GradientTape() as tape:
        tape.watch(weights)
        loss = tf.reduce_sum(encoder(inputs(encoder), training=True)["layers"][-1][:, 0] ** 2)
    return tape.gradient(loss, weights)


def test_nothing_flows_below_the_first_weight_that_learns():
    for kind in ALL:
        encoder = built(kind, spread=0.5)
        set_trainable(encoder.layer_groups, ["adapters"])
        without = {name for name, gradient in gradients(encoder).items() if gradient is None}
        bottom = ("word_embeddings", "position_embeddings", "token_type_embeddings")
        if "bert" in kind:
            assert {n for n in without if "pooler" not in n} == {f"embeddings/{n}" for n in bottom}
        else:
            assert {name.split("/")[0] for name in without} == {"char_cnn", "lstm_0"}
        set_trainable(encoder.layer_groups, ["layer_1"] if "bert" in kind else ["lstm_1"])
        found = {name.split("/")[0] for name, one in gradients(encoder).items() if one is not None}
        assert found <= {"layer_1", "lstm_1", "lstm_1_adapter", "projected_attention"}
        assert found


def test_dropout_runs_where_adapters_learn_and_only_there():
    for kind in ["bert, bottleneck", "bert, projected"]:
        encoder = built(kind, spread=0.5, dropout=0.5, attention_dropout=0.5)
        set_trainable(encoder.layer_groups, ["pooler"])
        quiet, noisy = (encoder(bert_inputs(), training=mode) for mode in (False, True))
        np.testing.assert_array_equal(quiet["layers"][-1], noisy["layers"][-1])
        set_trainable(encoder.layer_groups, ["adapters"])
        noisy = encoder(bert_inputs(), training=True)
        for one, other in zip(quiet["layers"], noisy["layers"], strict=True):
            assert np.abs(one - other).max() > 0.01


def test_a_module_fills_all_but_the_adapters():
    for kind in ALL:
        encoder, (layer, config, _) = built(kind), ALL[kind]
        start = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
        plain = layer(**config)
        plain.build()
        arrays = {
            name: np.full(weight.shape, 0.5, "float32")
            for name, weight in plain.weights_by_name().items()
        }
        encoder.load_weights_by_name(arrays)
        for name, weight in encoder.weights_by_name().items():
            np.testing.assert_array_equal(weight, arrays.get(name, start[name]))
        some = next(iter(arrays))
        with pytest.raises(ArtifactError, match=f"missing.*{some}"):
            encoder.load_weights_by_name({n: a for n, a in arrays.items() if n != some})
        new = next(name for name in start if name not in arrays)
        with pytest.raises(ArtifactError, match=f"unknown.*{new}"):
            encoder.load_weights_by_name(arrays | {new: start[new]})


def test_a_convolution_is_keras_own_with_padding_at_zero():
    adapter = BottleneckAdapter(6, 4, "relu", "convolution")
    adapter.build()
    random = np.random.default_rng(2)
    for weight in adapter.weights:
        weight.assign(random.normal(size=weight.shape))
    theirs = keras.layers.Conv1D(4, 3, padding="same", activation="relu")
    theirs.build((None, None, 6))
    theirs.set_weights([adapter.down.kernel.numpy().reshape(3, 6, 4), adapter.down.bias])
    states = random.normal(size=(2, 5, 6)).astype("float32")
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
    expected = states + adapter.up(theirs(states * mask[..., None]))
    np.testing.assert_allclose(adapter(states, mask), expected, atol=1e-5)
    # A device may get no text at the end of an epoch.
    assert adapter(states[:0], mask[:0]).shape == (0, 5, 6)


CHOSEN = BottleneckAdapters(3, in_layers=(1,), activation="relu", operation="convolution")


def test_chosen_layers_have_adapters_and_nothing_flows_below():
    for layer in [BertEncoder, ElmoEncoder]:
        config = BERT if layer is BertEncoder else ELMO
        encoder, plain = given(layer(**config), CHOSEN), layer(**config)
        plain.build()
        random = np.random.default_rng(4)
        for weight in encoder.weights:
            if weight.dtype == "float32":
                weight.assign(random.normal(0, 0.5, weight.shape))
        named = encoder.weights_by_name()
        plain.load_weights_by_name({n: named[n].numpy() for n in plain.weights_by_name()})
        got, base = encoder(inputs(encoder))["layers"], plain(inputs(encoder))["layers"]
        for index in (0, 1):
            np.testing.assert_array_equal(got[index], base[index])
        assert np.abs(got[2] - base[2]).max() > 0.01
        group = set(map(id, dict(encoder.layer_groups)["adapters"]))
        inside = [name for name, weight in named.items() if id(weight) in group]
        parts = {"/".join(name.split("/")[:2]) for name in inside}
        if layer is BertEncoder:
            names = (
                "attention_adapter",
                "output_adapter",
                "attention_layer_norm",
                "output_layer_norm",
            )
            assert parts == {f"layer_1/{name}" for name in names}
        else:
            assert parts == {"lstm_1_adapter/forward", "lstm_1_adapter/backward"}
        set_trainable(encoder.layer_groups, ["adapters"])
        reached = {
            name.split("/")[0] for name, one in gradients(encoder).items() if one is not None
        }
        assert reached == ({"layer_1"} if layer is BertEncoder else {"lstm_1_adapter"})


def test_relu_and_convolutions_in_bert_compute_the_formulas():
    encoder = built("bert, bottleneck", spread=0.5, added=CHOSEN)
    layers, formulas = encoder(bert_inputs())["layers"], NumpyBert(encoder)
    mask = bert_inputs()["input_mask"]

    def adapter(name, x, _):
        if f"{name}/up/bias" not in formulas.weights:
            return x
        around = np.pad(x * mask[..., None], ((0, 0), (1, 1), (0, 0)))
        read = np.concatenate([around[:, :-2], around[:, 1:-1], around[:, 2:]], axis=-1)
        return x + formulas.dense(f"{name}/up", np.maximum(formulas.dense(f"{name}/down", read), 0))

    formulas.adapter = adapter
    states = np.float64(layers[0])
    for index in (0, 1):
        states = formulas.block(index, states, mask)
        for row, length in enumerate((5, 3)):
            found = np.asarray(layers[index + 1])[row, :length]
            np.testing.assert_allclose(found, states[row, :length], atol=3e-6)


def test_each_task_has_the_attention_of_a_bert_with_one():
    """Which computes the formulas: see above."""
    shared = given(BertEncoder(**BERT), TaskAttention(("left", "right"), size=3))
    named = shared.weights_by_name()
    random = np.random.default_rng(5)
    for weight in named.values():
        weight.assign(random.normal(0, 0.5, weight.shape))
    outputs = []
    for task in ("left", "right"):
        one = given(BertEncoder(**BERT), ProjectedAdapters(3))
        for name, weight in one.weights_by_name().items():
            weight.assign(named[name.replace("projected_attention", f"{task}_attention")])
        found = shared(bert_inputs(), task=task)
        for state, expected in zip(found["layers"], one(bert_inputs())["layers"], strict=True):
            np.testing.assert_array_equal(state, expected)
        outputs.append(found["pooled"])
    assert np.abs(outputs[0] - outputs[1]).max() > 0.01
    own = {name for name in named if "left_attention" in name or "right_attention" in name}
    group = {id(weight) for weight in dict(shared.layer_groups)["adapters"]}
    assert {name for name, weight in named.items() if id(weight) in group} == own


def test_a_task_without_its_attention_is_refused():
    shared = given(BertEncoder(**BERT), TaskAttention(("left", "right"), size=3))
    for task in (None, "middle"):
        with pytest.raises(ConfigError, match=f"one of left, right, whose own.*got {task!r}"):
            shared(bert_inputs(), task=task)
    with pytest.raises(ConfigError, match="task: expected none, whose own.*got 'left'"):
        BertEncoder(**BERT)(bert_inputs(), task="left")
    for tasks, size, problem in (
        ((), 3, "tasks: expected a list of names"),
        (("a", "a"), 3, "tasks: expected a list of names"),
        (("a/b", "c"), 3, "tasks: expected a list of names"),
        ("ab", 3, "tasks: expected a list of names.*got 'ab'"),
        (("a", "b"), True, "task_attention: expected a whole number of at least 1, got True"),
        (("a", "b"), 0, "task_attention: expected a whole number of at least 1, got 0"),
    ):
        with pytest.raises(ConfigError, match=problem):
            TaskAttention(tasks, size)
    with pytest.raises(ConfigError, match="the families bert, which.*got the family elmo"):
        given(ElmoEncoder(**ELMO), TaskAttention(("a", "b")))


def test_impossible_adapters_are_refused():
    for added in (ProjectedAdapters(), Lora()):
        with pytest.raises(ConfigError, match="got the family elmo; take adapters, bitfit or fine"):
            given(ElmoEncoder(**ELMO), added)
    for size in (0, 2.5):
        with pytest.raises(ConfigError, match="size: expected a whole number.*got"):
            BottleneckAdapters(size)
    for message, settings in {
        "activation: expected gelu or relu, got 'tanh'": {"activation": "tanh"},
        "operation: expected dense or convolution, got 'pooling'": {"operation": "pooling"},
        "size: expected .* at least 1, got 0": {"size": 0},
        r"in_layers .* from 0 to 1, each once, got \[2\]": {"in_layers": [2]},
        r"in_layers .* got \[\]": {"in_layers": []},
        r"in_layers .* got \[True\]": {"in_layers": [True]},
    }.items():
        with pytest.raises(ConfigError, match=message):
            given(ElmoEncoder(**ELMO), BottleneckAdapters(**settings))
