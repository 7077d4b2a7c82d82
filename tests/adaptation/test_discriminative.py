"""One learning rate a layer group: updates, freezing, clipping, state, and what is refused."""

import math
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer
from tf_adapt.adaptation.fused_adam import can_fuse
from tf_adapt.errors import ConfigError

GROUPS = ("layer_0", "layer_1", "head")
# Which groups train at each of seven steps: growing, shrinking, and back.
PHASES = ["head", "head layer_1", "layer_1", "head layer_1 layer_0", "layer_0", "head", "layer_0"]
FACTORS = {"layer_0": 0.16, "layer_1": 0.4, "head": 1.0}


def layers(dtype="float32", front="encoder"):
    """Two weights for each of three groups, as {group: [kernel, bias]}."""
    random = np.random.default_rng(0)
    made = {}
    for group in GROUPS:
        scopes = [group] if group == "head" else [front, group]
        with keras.name_scope(scopes[0]), keras.name_scope(scopes[-1]):
            kernel, bias = random.normal(size=(3, 2)), random.normal(size=2)
            made[group] = [
                keras.Variable(kernel, dtype=dtype, name="kernel"),
                keras.Variable(bias, dtype=dtype, name="offset"),
            ]
    return made


def encoder_of(made, unread=()):
    groups = [(name, weights) for name, weights in made.items() if name != "head"]
    adaptable = [name for name, _ in groups if name not in unread]
    return SimpleNamespace(layer_groups=groups, adaptable_groups=adaptable)


def flat(made):
    return [weight for weights in made.values() for weight in weights]


def gradients(steps=7):
    """One gradient a weight a step, as [step][group][weight]."""
    random = np.random.default_rng(1)
    return [
        {g: [random.normal(size=s).astype("float32") for s in ((3, 2), (2,))] for g in GROUPS}
        for _ in range(steps)
    ]


def wrapped(inner, made, decay=0.4, built=True, **options):
    optimizer = DiscriminativeOptimizer(inner, encoder_of(made), decay=decay, **options)
    if built:
        optimizer.build(flat(made))
    return optimizer


def step(optimizer, made, gradient, groups=GROUPS):
    weights = [weight for group in groups for weight in made[group]]
    values = [tf.constant(g, w.dtype) for w, g in zip(weights, of(gradient, groups), strict=True)]
    optimizer.apply(values, weights)


def of(gradient, groups):
    return [g for group in groups for g in gradient[group]]


def values(variables):
    arrays = [v if isinstance(v, np.ndarray) else v.numpy() for v in variables]
    return [np.asarray(array, "float64") for array in arrays]


def assert_same_bits(some, others):
    for one, other in zip(values(some), values(others), strict=True):
        np.testing.assert_array_equal(one, other)


def assert_close(some, others):
    for one, other in zip(values(some), values(others), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)


def sgd(momentum):
    def update(weight, gradient, rate, state, _):
        state["m"] = momentum * state.get("m", 0) - rate * gradient
        return weight + state["m"]

    return update


def adam(decay):
    def update(weight, gradient, rate, state, t):
        state["m"] = 0.9 * state.get("m", 0) + 0.1 * gradient
        state["v"] = 0.999 * state.get("v", 0) + 0.001 * gradient**2
        alpha = rate * math.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return weight - rate * decay * weight - alpha * state["m"] / (np.sqrt(state["v"]) + 1e-7)

    return update


@pytest.mark.parametrize(
    ("inner", "rule"),
    [
        (lambda: keras.optimizers.SGD(0.1), sgd(0.0)),
        (lambda: keras.optimizers.SGD(0.1, momentum=0.9), sgd(0.9)),
        (lambda: keras.optimizers.Adam(0.1), adam(0.0)),
        (lambda: keras.optimizers.AdamW(0.1, weight_decay=0.3), adam(0.3)),
    ],
    ids=["sgd", "momentum", "adam", "adamw"],
)
def test_five_steps_by_hand(inner, rule):
    made = layers()
    expected = {group: values(weights) for group, weights in made.items()}
    states = {group: [{}, {}] for group in GROUPS}
    optimizer = wrapped(inner(), made)
    for t, gradient in enumerate(gradients(5), start=1):
        step(optimizer, made, gradient)
        for group, weights in expected.items():
            for n, weight in enumerate(weights):
                rate, g = 0.1 * FACTORS[group], gradient[group][n].astype("float64")
                weights[n] = rule(weight, g, rate, states[group][n], t)
    for group, weights in expected.items():
        for got, weight in zip(values(made[group]), weights, strict=True):
            # Keras has 1 - 0.999^t in float32, in which its relative error is 6e-5 at t = 1.
            np.testing.assert_allclose(got, weight, atol=5e-6, err_msg=group)


INNERS = {
    "sgd": lambda rate: keras.optimizers.SGD(rate, momentum=0.9, nesterov=True),
    "adam": lambda rate: keras.optimizers.Adam(rate, amsgrad=True),
    "adamw": lambda rate: keras.optimizers.AdamW(rate, weight_decay=0.1),
    "lamb": lambda rate: keras.optimizers.Lamb(rate, weight_decay=0.1),
    "lion": lambda rate: keras.optimizers.Lion(rate),
    "nadam": lambda rate: keras.optimizers.Nadam(rate),
    "rmsprop": lambda rate: keras.optimizers.RMSprop(rate, momentum=0.5, centered=True),
    "adafactor": lambda rate: keras.optimizers.Adafactor(rate),
    "average": lambda rate: keras.optimizers.AdamW(
        rate, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2
    ),
}


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        *((make, "float32") for make in INNERS.values()),
        (INNERS["adamw"], "bfloat16"),
        (INNERS["nadam"], "bfloat16"),
    ],
    ids=[*INNERS, "adamw in half precision", "nadam in half precision"],
)
def test_an_optimizer_for_each_group_gives_the_same(make, dtype):
    # Adam's step in one operation rounds elsewhere.
    fused = can_fuse(make(0.05), flat(layers(dtype)))
    same = assert_close if fused else assert_same_bits
    ours, theirs = layers(dtype), layers(dtype)
    optimizer = wrapped(make(0.05), ours)
    # Rounded as ours is: the rate is a float32 variable.
    rates = {g: float(np.float32(0.05) * np.float32(f)) for g, f in FACTORS.items()}
    separate = {group: make(rate) for group, rate in rates.items()}
    for phase, gradient in zip(PHASES, gradients(), strict=True):
        step(optimizer, ours, gradient, phase.split())
        for group in phase.split():
            step(separate[group], theirs, gradient, [group])
        same(flat(ours), flat(theirs))
    optimizer.finalize_variable_values(flat(ours))
    for group, other in separate.items():
        other.finalize_variable_values(theirs[group])
    same(flat(ours), flat(theirs))
    assert int(optimizer.iterations) == 7


FROZEN = {
    "decay and momentum": {"weight_decay": 0.1},
    "average": {"weight_decay": 0.1, "use_ema": True, "ema_overwrite_frequency": 2},
    "accumulation": {"weight_decay": 0.1, "gradient_accumulation_steps": 2},
}


@pytest.mark.parametrize("options", FROZEN.values(), ids=FROZEN)
def test_frozen_weights_and_their_slots_keep_their_bits(options):
    made = layers()
    optimizer = wrapped(keras.optimizers.SGD(0.1, momentum=0.9, **options), made)
    for gradient in gradients(4):
        step(optimizer, made, gradient)
    slots = [v for v in optimizer.variables if "layer_0" in v.path and "accumul" not in v.path]
    assert slots
    still = [*made["layer_0"], *slots]
    before = values(still)
    # The head's bias alone of its group, as where only LayerNorms learn.
    partly = [*made["layer_1"], made["head"][1]]
    for gradient in gradients(6):
        moved = [tf.constant(g) for g in (*gradient["layer_1"], gradient["head"][1])]
        kernel = values(made["head"][:1])
        optimizer.apply(moved, partly)
        assert_same_bits(made["head"][:1], kernel)
        assert_same_bits(still, before)
    for gradient in gradients(2):
        step(optimizer, made, gradient, ["layer_0"])
    assert all(np.all(w != b) for w, b in zip(values(made["layer_0"]), before[:2], strict=True))


def test_finalizing_averages_what_has_learned_and_nothing_else():
    made = layers()
    inner = keras.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.25)
    optimizer = wrapped(inner, made)
    start, average = values(flat(made)), None
    for gradient in gradients(3):
        step(optimizer, made, gradient, ["head"])
        now = values(made["head"])[0]
        average = now if average is None else 0.25 * average + 0.75 * now
    optimizer.finalize_variable_values(flat(made))
    np.testing.assert_allclose(values(made["head"])[0], average, atol=1e-6)
    assert_same_bits(flat(made)[:4], start[:4])


def test_a_late_weight_starts_as_with_a_new_optimizer():
    made = layers()
    optimizer = wrapped(keras.optimizers.Adam(0.01), made)
    kernel, bias = made["layer_1"]
    for gradient in gradients(5):
        optimizer.apply([tf.constant(gradient["layer_1"][0])], [kernel])
    before = values([bias])[0]
    gradient = gradients(1)[0]["layer_1"][1]
    optimizer.apply([tf.constant(gradient)], [bias])
    # Adam's first step is as long as the rate, whatever the gradient.
    expected = before - 0.01 * 0.4 * np.sign(gradient)
    np.testing.assert_allclose(values([bias])[0], expected, atol=1e-6)


def test_the_global_norm_is_that_of_all_groups_that_train():
    for groups in (GROUPS, ("layer_1", "head")):
        made, gradient = layers(), gradients(1)[0]
        before = {group: values(weights) for group, weights in made.items()}
        optimizer = wrapped(keras.optimizers.SGD(1.0, global_clipnorm=0.5), made)
        assert optimizer.global_clipnorm == 0.5
        step(optimizer, made, gradient, groups)
        norm = math.sqrt(sum(np.sum(g.astype("float64") ** 2) for g in of(gradient, groups)))
        for group in groups:
            expected = [
                w - FACTORS[group] * g * 0.5 / norm
                for w, g in zip(before[group], gradient[group], strict=True)
            ]
            for got, value in zip(values(made[group]), expected, strict=True):
                np.testing.assert_allclose(got, value, atol=1e-6)


@pytest.mark.parametrize("clip", [None, 0.5])
def test_a_word_used_twice_has_one_gradient(clip):
    """The sum of both uses: for the norm, and for what Adam squares."""
    used_twice = tf.IndexedSlices([[3.0], [4.0], [1.0]], [0, 0, 1], dense_shape=[3, 1])
    for rate, inner in ((1.0, keras.optimizers.SGD), (0.01, keras.optimizers.Adam)):
        table = keras.Variable(np.zeros((3, 1)), name="table")
        optimizer = wrapped(inner(rate, global_clipnorm=clip), {"layer_0": [table]})
        optimizer.apply([used_twice], [table])
        total = np.array([7.0, 1.0, 0.0]) * (0.5 / math.sqrt(50) if clip else 1)
        expected = total if rate == 1.0 else 0.01 * np.sign(total)
        np.testing.assert_allclose(table.numpy()[:, 0], -0.4 * expected, atol=1e-6)


@pytest.mark.parametrize(
    ("option", "clipped"),
    [
        ({"clipvalue": 0.1}, lambda g: np.clip(g, -0.1, 0.1)),
        ({"clipnorm": 0.1}, lambda g: g * min(1, 0.1 / np.linalg.norm(g))),
    ],
)
def test_clipping_comes_before_the_rate(option, clipped):
    made, gradient = layers(), gradients(1)[0]
    before = values(made["layer_1"])
    step(wrapped(keras.optimizers.SGD(1.0, **option), made), made, gradient)
    for got, old, g in zip(values(made["layer_1"]), before, gradient["layer_1"], strict=True):
        np.testing.assert_allclose(got, old - 0.4 * clipped(g.astype("float64")), atol=1e-6)


def test_accumulating_twice_is_one_step_with_the_mean():
    made, other = layers(), layers()
    clip = {"global_clipnorm": 0.5}
    parts = wrapped(keras.optimizers.AdamW(0.1, gradient_accumulation_steps=2, **clip), made)
    whole = wrapped(keras.optimizers.AdamW(0.1, **clip), other)
    parts_of = gradients(6)
    for first, second in zip(parts_of[::2], parts_of[1::2], strict=True):
        mean = {g: [(a + b) / 2 for a, b in zip(first[g], second[g], strict=True)] for g in GROUPS}
        before = values(flat(made))
        step(parts, made, first)
        assert_same_bits(flat(made), before)
        step(parts, made, second)
        step(whole, other, mean)
    for got, expected in zip(values(flat(made)), values(flat(other)), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-6)


# Of twelve batches; every fourth one moves what trains then.
ACCUMULATED = [
    *2 * ["head"], *2 * ["head layer_1"],
    "layer_1", "layer_0", "head layer_0 layer_1", "head layer_0",
    *4 * ["layer_1"],
]  # fmt: skip
# Which of the batches the mean is of, by hand: for each of the three updates, each group.
MEANS = [
    {"head": [0, 1, 2, 3], "layer_1": [2, 3]},
    {"head": [6, 7], "layer_0": [5, 6, 7]},
    {"layer_1": [8, 9, 10, 11]},
]


@pytest.mark.parametrize(
    ("name", "limit"), [("momentum", 0.5), ("adamw", None), ("adamw", 0.5), ("amsgrad", None)]
)
def test_a_phase_that_begins_between_two_updates(name, limit):
    """Each weight moves by the mean of what it got since the last update: neither shrunk by
    batches in which it was frozen, nor with anything from before."""
    makers = {
        "momentum": lambda rate, **more: keras.optimizers.SGD(rate, momentum=0.9, **more),
        "adamw": lambda rate, **more: keras.optimizers.AdamW(rate, weight_decay=0.1, **more),
        "amsgrad": lambda rate, **more: keras.optimizers.Adam(rate, amsgrad=True, **more),
    }
    ours, theirs, parts = layers(), layers(), gradients(12)
    joint = {"gradient_accumulation_steps": 4, "global_clipnorm": limit}
    optimizer = wrapped(makers[name](0.05, **joint), ours)
    separate = {group: makers[name](0.05 * factor) for group, factor in FACTORS.items()}
    for number, (phase, part) in enumerate(zip(ACCUMULATED, parts, strict=True)):
        before = values(flat(ours))
        step(optimizer, ours, part, phase.split())
        if number % 4 != 3:
            assert_same_bits(flat(ours), before)
            continue
        means = {
            group: [np.mean([parts[n][group][i] for n in of_batches], axis=0) for i in range(2)]
            for group, of_batches in MEANS[number // 4].items()
        }
        norm = math.sqrt(sum(np.sum(g**2) for those in means.values() for g in those))
        scale = min(1.0, limit / norm) if limit else 1.0
        for group, mean in means.items():
            step(separate[group], theirs, {group: [g * scale for g in mean]}, [group])
        assert_close(flat(ours), flat(theirs))
    assert int(optimizer.iterations) == 3


def test_sums_that_are_dropped_are_in_no_mean():
    made, parts = layers(), gradients(6)
    optimizer = wrapped(keras.optimizers.SGD(1.0, gradient_accumulation_steps=3), made)
    before = values(made["head"])
    for part in parts[:2]:
        step(optimizer, made, part)
    optimizer.drop_partial_sums()
    step(optimizer, made, parts[2])
    for got, old, g in zip(values(made["head"]), before, parts[2]["head"], strict=True):
        np.testing.assert_allclose(got, old - g, atol=1e-6)
    before = values(made["head"])
    for part in parts[3:]:
        step(optimizer, made, part)
    for number, (got, old) in enumerate(zip(values(made["head"]), before, strict=True)):
        mean = np.mean([part["head"][number] for part in parts[3:]], axis=0)
        np.testing.assert_allclose(got, old - mean, atol=1e-6)


def test_the_rest_moves_what_learns_then():
    """By the mean of what each got, clipped together, within constraints; then nothing is left."""
    made, (first, second) = layers(), gradients(2)
    made["head"][1].constraint = keras.constraints.NonNeg()
    joint = {"gradient_accumulation_steps": 5, "global_clipnorm": 0.5}
    optimizer = wrapped(keras.optimizers.SGD(1.0, **joint), made, decay=None)
    step(optimizer, made, first, ["layer_1", "head"])
    step(optimizer, made, second, ["layer_0", "head"])
    for weight in made["layer_1"]:
        weight.trainable = False
    before = {group: values(weights) for group, weights in made.items()}
    means = {
        "layer_0": of(second, ["layer_0"]),
        "head": [np.mean(pair, 0) for pair in zip(first["head"], second["head"], strict=True)],
    }
    norm = math.sqrt(sum(np.sum(g**2) for those in means.values() for g in those))
    for _ in range(2):
        optimizer.update_rest()
        assert_same_bits(made["layer_1"], before["layer_1"])
        for group, mean in means.items():
            moved = [w - 0.5 / norm * g for w, g in zip(before[group], mean, strict=True)]
            if group == "head":
                moved[1] = np.maximum(moved[1], 0)
            assert_close(made[group], moved)
        assert (int(optimizer.iterations), int(optimizer._iterations)) == (1, 2)
    assert not any(np.any(v.numpy()) for v in optimizer.variables if "accumulat" in v.path)
    # A group of which nothing learns any more ends without an update.
    step(optimizer, made, first, ["layer_0"])
    for weight in made["layer_0"]:
        weight.trainable = False
    before = values(made["layer_0"])
    optimizer.update_rest()
    assert_same_bits(made["layer_0"], before)


def test_a_file_of_before_the_rest_was_an_update():
    made = layers()
    inner = keras.optimizers.SGD(0.1, momentum=0.9, gradient_accumulation_steps=2)
    optimizer = wrapped(inner, made)
    for gradient in gradients(3):
        step(optimizer, made, gradient)
    kept = [v.numpy() for v in optimizer.variables if v is not optimizer._missing]
    restored = DiscriminativeOptimizer.from_config(optimizer.get_config())
    restored.build(flat(layers()))
    restored.load_own_variables({str(number): value for number, value in enumerate(kept)})
    assert int(restored.iterations) == 1
    assert_same_bits(restored.variables, optimizer.variables)


def test_weight_decay_leaves_out_what_it_is_told():
    for where in ("inner before", "list", "names"):
        made = layers()
        inner = keras.optimizers.SGD(0.1, weight_decay=0.5)
        if where == "inner before":
            inner.exclude_from_weight_decay(var_names=["offset"])
        optimizer = wrapped(inner, made, built=False)
        if where == "list":
            optimizer.exclude_from_weight_decay(var_list=[b for _, b in made.values()])
        if where == "names":
            optimizer.exclude_from_weight_decay(var_names=["offset"])
        before = {group: values(weights) for group, weights in made.items()}
        still = {group: [np.zeros((3, 2)), np.zeros(2)] for group in GROUPS}
        step(optimizer, made, still)
        for group, (kernel, bias) in made.items():
            shrunk = before[group][0] * (1 - 0.5 * 0.1 * FACTORS[group])
            np.testing.assert_allclose(values([kernel])[0], shrunk, atol=1e-7)
            assert_same_bits([bias], before[group][1:])


def test_loss_scaling_divides_and_skips_what_is_not_finite():
    made, other = layers(), layers()
    scaled = keras.optimizers.LossScaleOptimizer(
        wrapped(keras.optimizers.Adam(0.1, global_clipnorm=0.5), made, built=False),
        initial_scale=8.0,
    )
    scaled.build(flat(made))
    plain = wrapped(keras.optimizers.Adam(0.1, global_clipnorm=0.5), other)
    first, second = gradients(2)
    for gradient in (first, second):
        times_8 = {group: [8 * g for g in those] for group, those in gradient.items()}
        step(scaled, made, times_8, ["layer_1", "head"])
        step(plain, other, gradient, ["layer_1", "head"])
    assert_same_bits(flat(made), flat(other))
    slots = values(scaled.inner_optimizer.variables)
    step(scaled, made, first | {"head": [g * np.inf for g in first["head"]]})
    assert_same_bits(flat(made), flat(other))
    assert_same_bits(scaled.inner_optimizer.variables, slots)
    scaled.learning_rate = 0.5
    assert scaled.inner_optimizer.rates()["layer_1"] == pytest.approx(0.2)


def a_quarter():
    return 0.25


def test_rates_follow_schedules_and_assignments():
    made = layers()
    line = keras.optimizers.schedules.PolynomialDecay(1.0, 4, end_learning_rate=0.0)
    optimizer = wrapped(keras.optimizers.SGD(line), made, decay=0.5)
    for rate, gradient in zip([1.0, 0.75, 0.5, 0.25], gradients(4), strict=True):
        expected = {"layer_0": rate / 4, "layer_1": rate / 2, "head": rate}
        assert optimizer.rates() == pytest.approx(expected)
        before = values(made["layer_0"])
        step(optimizer, made, gradient, ["layer_0"])
        for got, old, g in zip(values(made["layer_0"]), before, gradient["layer_0"], strict=True):
            np.testing.assert_allclose(got, old - rate / 4 * g, atol=1e-6)
    set_later = wrapped(keras.optimizers.SGD(1.0), made, decay=0.5)
    set_later.learning_rate = 0.5
    assert set_later.rates() == {"layer_0": 0.125, "layer_1": 0.25, "head": 0.5}
    called = wrapped(keras.optimizers.SGD(a_quarter), made, decay=0.5)
    assert called.rates()["layer_0"] == 0.0625


@pytest.mark.parametrize(
    ("way", "inner"),
    [
        ("variables", keras.optimizers.AdamW),
        ("store", keras.optimizers.AdamW),
        ("store", keras.optimizers.Nadam),
        ("set_weights", keras.optimizers.AdamW),
        ("checkpoint", keras.optimizers.Nadam),
    ],
)
def test_a_restored_optimizer_goes_on_bit_by_bit(way, inner, tmp_path):
    def fresh():
        made = layers()
        options = {"gradient_accumulation_steps": 2, "use_ema": True, "ema_overwrite_frequency": 2}
        return made, wrapped(inner(0.1, **options), made)

    (made, optimizer), (other, restored) = fresh(), fresh()
    phases = list(zip(PHASES, gradients(), strict=True))
    for number, (phase, gradient) in enumerate(phases[:4]):
        step(optimizer, made, gradient, phase.split())
        if number == 0:
            optimizer.update_rest()
    optimizer.learning_rate = 0.05
    state = [variable.numpy() for variable in optimizer.variables]
    if way == "variables":
        for variable, value in zip(restored.variables, state, strict=True):
            variable.assign(value)
    elif way == "store":
        store = {}
        optimizer.save_own_variables(store)
        restored.load_own_variables(store)
    elif way == "set_weights":
        restored.set_weights(state)
    else:
        path = tf.train.Checkpoint(optimizer=optimizer).save(tmp_path / "checkpoint")
        tf.train.Checkpoint(optimizer=restored).restore(path).assert_consumed()
    for weight, value in zip(flat(other), flat(made), strict=True):
        weight.assign(value)
    for phase, gradient in phases[4:]:
        step(optimizer, made, gradient, phase.split())
        step(restored, other, gradient, phase.split())
    assert_same_bits(flat(made), flat(other))
    assert_same_bits(optimizer.variables, restored.variables)


def test_the_config_is_complete():
    made = layers()
    inner = keras.optimizers.AdamW(0.1, weight_decay=0.3, beta_1=0.7, global_clipnorm=0.5)
    optimizer = wrapped(inner, made, name="mine")
    optimizer.learning_rate = 0.05
    config = keras.saving.serialize_keras_object(optimizer)
    copy = keras.saving.deserialize_keras_object(config)
    assert copy.get_config() == optimizer.get_config()
    assert copy.name == "mine" and copy.factors == pytest.approx(FACTORS)
    # Another process may call the encoder `encoder_7`: its groups are found all the same.
    other = layers(front="encoder_7")
    copy.build(flat(other))
    assert [w.path for w in copy.groups["layer_1"]] == [
        "encoder_7/layer_1/kernel",
        "encoder_7/layer_1/offset",
    ]
    again = layers()
    same = wrapped(
        keras.optimizers.AdamW(0.05, weight_decay=0.3, beta_1=0.7, global_clipnorm=0.5), again
    )
    for gradient in gradients(3):
        step(copy, other, gradient)
        step(same, again, gradient)
    assert_same_bits(flat(other), flat(again))


def test_what_cannot_be_wrapped_is_refused():
    made = layers()
    encoder = encoder_of(made)
    built = keras.optimizers.Adam(0.1)
    built.build(flat(made))
    nested = [
        keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam()),
        wrapped(keras.optimizers.Adam(), made),
    ]
    if hasattr(keras.optimizers, "MultiOptimizer"):
        nested.append(keras.optimizers.MultiOptimizer(lambda _: keras.optimizers.Adam()))
    for inner in nested:
        with pytest.raises(ConfigError, match="got .*Optimizer; give what is inside it"):
            DiscriminativeOptimizer(inner, encoder)
    with pytest.raises(ConfigError, match="Adam which is built .* make another one"):
        DiscriminativeOptimizer(built, encoder)
    with pytest.raises(ConfigError, match="expected a Keras optimizer .* got 'adam'"):
        DiscriminativeOptimizer("adam", encoder)
    with pytest.raises(ConfigError, match="encoder: expected a HubEncoder, got None"):
        DiscriminativeOptimizer(keras.optimizers.Adam(), None)


def test_a_weight_it_was_not_built_over_is_refused():
    made = layers()
    optimizer = wrapped(keras.optimizers.Adam(), made, built=False)
    optimizer.build(made["head"])
    with pytest.raises(ConfigError, match="2 weights learn .*layer_1/kernel.*optimizer.build"):
        step(optimizer, made, gradients(1)[0], ["layer_1", "head"])


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "nadam", "average"])
def test_weights_that_are_added_learn_as_if_known_from_the_start(name):
    make = INNERS[name]
    made, other = layers(), layers()
    grown = wrapped(make(0.05), made, built=False)
    grown.build(made["head"])
    whole = wrapped(make(0.05), other)
    for phase, gradient in zip(PHASES, gradients(), strict=True):
        grown.build([weight for group in phase.split() for weight in made[group]])
        step(grown, made, gradient, phase.split())
        step(whole, other, gradient, phase.split())
        assert_same_bits(flat(made), flat(other))
    assert len(grown.variables) == len(whole.variables)


def test_biases_and_layer_norms_do_not_decay():
    for name in ("bias", "gamma", "beta"):
        kept, decayed = (keras.Variable(np.ones(2), name=other) for other in (name, "kernel"))
        encoder = encoder_of({"layer_0": [kept, decayed]})
        optimizer = DiscriminativeOptimizer(keras.optimizers.SGD(0.1, weight_decay=0.5), encoder)
        optimizer.build([kept, decayed])
        optimizer.apply([tf.zeros(2), tf.zeros(2)], [kept, decayed])
        np.testing.assert_array_equal(kept.numpy(), [1, 1])
        np.testing.assert_allclose(decayed.numpy(), [0.95, 0.95], rtol=1e-6)
