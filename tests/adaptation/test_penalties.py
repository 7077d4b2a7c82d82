"""L2-SP and EWC against NumPy in float64: values, one step of SGD, and what must not change."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from hub_modules.native.added.settings import BottleneckAdapters
from hub_modules.native.bert import BertEncoder
from tf_adapt.adaptation.penalties import ewc, l2_sp
from tf_adapt.encoder.starting_point import StartingPoint, pretrained_weights
from tf_adapt.errors import ConfigError

RATE = 0.25

TINY = {
    "vocabulary_size": 11,
    "width": 8,
    "num_layers": 1,
    "num_heads": 2,
    "intermediate_width": 12,
    "max_positions": 7,
}


def small_model(own=None, vocabulary=11, eager=True):
    """A BERT of width 8 in a plain functional model; biases and LayerNorms not at 0 and 1."""
    keras.utils.set_random_seed(3)
    encoder = BertEncoder(
        **TINY | {"vocabulary_size": vocabulary, "num_layers": 2},
        dropout=0.0,
        attention_dropout=0.0,
    )
    names = ("input_word_ids", "input_mask", "input_type_ids")
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    output = keras.layers.Dense(3, kernel_regularizer=own, name="head")(encoder(inputs)["pooled"])
    model = keras.Model(inputs, output)
    move(model.weights, 0.1, seed=1)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(RATE), loss, run_eagerly=eager)
    return model, encoder


def move(weights, scale, seed):
    random = np.random.default_rng(seed)
    for weight in weights:
        weight.assign(values(weight) + random.normal(0, scale, weight.shape))


def values(weight):
    return weight.numpy().astype("float64")


def data(weights_of_examples=1.0):
    ids = np.array([[1, 2, 2, 0], [5, 3, 9, 2]], "int32")
    inputs = {"input_word_ids": ids, "input_mask": np.sign(ids), "input_type_ids": 0 * ids}
    return inputs, np.array([0, 2]), np.full(2, weights_of_examples)


def random_fisher(encoder):
    random = np.random.default_rng(7)
    return {
        name: random.gamma(1.0, 1.0, weight.shape)
        for name, weight in pretrained_weights(encoder).items()
    }


def pulls(model, encoder, anchors, fisher, alpha=0.0, beta=0.0, factor=0.0):
    """Value and gradients of both penalties over the weights that learn, by the formulas."""
    names = {id(weight): name for name, weight in pretrained_weights(encoder).items()}
    value, gradients = 0.0, {}
    for weight in model.trainable_weights:
        w, name = values(weight), names.get(id(weight))
        if name is None:
            strength, distance = beta, w
        else:
            strength, distance = alpha + factor * fisher.get(name, 0), w - anchors[name]
        value += np.sum(strength * distance**2) / 2
        gradients[weight.path] = strength * distance
    return value, gradients


def total(model):
    return float(sum(float(loss) for loss in model.losses))


KINDS = {
    "l2_sp": {"alpha": 0.3, "beta": 0.07},
    "ewc": {"factor": 2.5},
    "both": {"alpha": 0.3, "beta": 0.07, "factor": 2.5},
}


def attach(model, encoder, fisher, alpha=0.0, beta=0.0, factor=0.0):
    start = l2_sp(model, encoder, alpha, beta) if alpha else None
    return ewc(model, encoder, fisher, factor, start) if factor else start


def anchors_of(encoder):
    return {name: values(weight) for name, weight in pretrained_weights(encoder).items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_value_and_one_step_of_sgd(kind):
    model, encoder = small_model()
    fisher, anchors = random_fisher(encoder), anchors_of(encoder)
    attach(model, encoder, fisher, **KINDS[kind])
    if kind == "ewc":
        assert total(model) == 0
    move(model.weights, 0.5, seed=2)
    before = {weight.path: values(weight) for weight in model.weights}
    value, gradients = pulls(model, encoder, anchors, fisher, **KINDS[kind])
    assert total(model) == pytest.approx(value, rel=1e-6)
    # The data weighs nothing, so that the step is the penalty's alone.
    logs = model.train_on_batch(*data(0.0), return_dict=True)
    assert logs["loss"] == pytest.approx(value, rel=1e-6)
    for weight in model.weights:
        expected = before[weight.path] - RATE * gradients[weight.path]
        np.testing.assert_allclose(weight.numpy(), expected, atol=2e-6, err_msg=weight.path)


@pytest.mark.slow
def test_the_pull_is_added_to_the_gradient_of_the_data():
    after = []
    for penalised in (False, True):
        model, encoder = small_model(eager=False)
        anchors = anchors_of(encoder)
        if penalised:
            l2_sp(model, encoder, 0.3, 0.07)
        move(model.weights, 0.5, seed=2)
        _, gradients = pulls(model, encoder, anchors, {}, alpha=0.3, beta=0.07)
        model.train_on_batch(*data())
        after.append([values(weight) for weight in model.weights])
    for weight, plain, pulled in zip(model.weights, *after, strict=True):
        np.testing.assert_allclose(
            pulled - plain, -RATE * gradients[weight.path], atol=2e-6, err_msg=weight.path
        )


def test_evaluate_adds_the_penalty_as_keras_does():
    model, encoder = small_model()
    anchors = anchors_of(encoder)
    inputs, targets, _ = data()
    l2_sp(model, encoder)
    move(model.weights, 0.5, seed=2)
    value, _ = pulls(model, encoder, anchors, {}, alpha=0.1, beta=0.01)
    logits = model(inputs).numpy().astype("float64")
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = -logs[np.arange(2), targets].mean() + value
    assert model.evaluate(inputs, targets, verbose=0) == pytest.approx(expected, rel=1e-6)


def test_the_anchor_is_what_the_weights_were_when_the_penalty_was_attached():
    model, encoder = small_model()
    move(model.weights, 0.5, seed=2)
    anchors = anchors_of(encoder)
    l2_sp(model, encoder, 0.3, beta=0)
    assert total(model) == 0
    move(model.weights, 0.5, seed=4)
    assert total(model) == pytest.approx(pulls(model, encoder, anchors, {}, alpha=0.3)[0], rel=1e-6)


def test_attaching_again_replaces_and_keeps_a_weights_own_regularizer():
    model, encoder = small_model(own=keras.regularizers.L2(0.5))
    fisher, anchors = random_fisher(encoder), anchors_of(encoder)
    start = attach(model, encoder, fisher, alpha=9.0, beta=9.0, factor=9.0)
    name = next(iter(fisher))
    l2_sp(model, encoder, 0.3, 0.07, start)
    ewc(model, encoder, {name: fisher[name]}, 2.5, start)
    move(model.weights, 0.5, seed=2)
    only_one = {key: f * (key == name) for key, f in fisher.items()}
    value, _ = pulls(model, encoder, anchors, only_one, alpha=0.3, beta=0.07, factor=2.5)
    own = 0.5 * np.sum(values(model.get_layer("head").kernel) ** 2)
    assert total(model) == pytest.approx(value + own, rel=1e-6)
    l2_sp(model, encoder, 0.3, 0.0, start)
    value, _ = pulls(model, encoder, anchors, only_one, alpha=0.3, factor=2.5)
    assert total(model) == pytest.approx(value + own, rel=1e-6)


@pytest.mark.slow
def test_a_model_that_was_trained_before_learns_of_the_penalty():
    model, encoder = small_model(eager=False)
    inputs, targets, nothing = data(0.0)
    fit = {"sample_weight": nothing, "verbose": 0}
    model.fit(inputs, targets, **fit)
    start = l2_sp(model, encoder, 0.3)
    move(encoder.weights, 0.5, seed=2)
    before = start.distances()
    model.fit(inputs, targets, **fit)
    model.evaluate(inputs, targets, **fit)
    for group, distance in start.distances().items():
        assert distance == pytest.approx((1 - RATE * 0.3) * before[group], rel=1e-5)


def test_a_frozen_weight_costs_nothing_until_it_learns():
    model, encoder = small_model()
    fisher, anchors = random_fisher(encoder), anchors_of(encoder)
    encoder.trainable = False
    attach(model, encoder, fisher, **KINDS["both"])
    move(model.weights, 0.5, seed=2)
    wholes = []
    for learning in ([], ["layer_1"], ["layer_0", "layer_1"], ["embeddings"]):
        encoder.trainable = bool(learning)
        for name, weights in encoder.layer_groups:
            for weight in weights:
                weight.trainable = name in learning
        value, _ = pulls(model, encoder, anchors, fisher, **KINDS["both"])
        assert total(model) == pytest.approx(value, rel=1e-6)
        wholes.append(value)
    assert wholes[0] < wholes[1] < wholes[2]


@pytest.mark.slow
def test_snapshots_are_no_part_of_the_model(tmp_path):
    model, encoder = small_model()
    paths = [weight.path for weight in model.variables]
    stored = []
    for penalised in (False, True):
        if penalised:
            attach(model, encoder, random_fisher(encoder), **KINDS["both"])
        path = tf.train.Checkpoint(model=model).save(str(tmp_path / f"{penalised}"))
        stored.append(tf.train.list_variables(path))
    assert stored[0] == stored[1]
    assert [weight.path for weight in model.variables] == paths
    model.save(tmp_path / "x.keras")
    move(model.weights, 0.5, seed=2)
    copy = keras.saving.load_model(tmp_path / "x.keras")
    assert copy.losses == []
    model.load_weights(tmp_path / "x.keras")
    assert total(model) == pytest.approx(0.07 / 2 * sum(
        np.sum(values(weight) ** 2) for weight in model.get_layer("head").weights
    ), rel=1e-6)  # fmt: skip


@pytest.mark.slow
def test_snapshots_are_not_copied_into_graphs():
    model, encoder = small_model(vocabulary=100_000)
    attach(model, encoder, random_fisher(encoder), **KINDS["both"])
    step = tf.function(model.train_step).get_concrete_function(
        tf.nest.map_structure(tf.convert_to_tensor, data())
    )
    assert encoder.count_params() * 4 > 3_000_000
    assert len(step.graph.as_graph_def().SerializeToString()) < 500_000


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16"])
def test_half_precision_is_summed_in_float32(policy):
    keras.config.set_dtype_policy(policy)
    try:
        model, encoder = small_model(vocabulary=500)
    finally:
        keras.config.set_dtype_policy("float32")
    fisher, anchors = random_fisher(encoder), anchors_of(encoder)
    fisher = {name: array.astype("float32") for name, array in fisher.items()}
    attach(model, encoder, fisher, **KINDS["both"])
    move(model.weights, 0.01, seed=2)
    value, _ = pulls(model, encoder, anchors, fisher, **KINDS["both"])
    assert {loss.dtype for loss in model.losses} == {tf.float32}
    assert total(model) == pytest.approx(value, rel=1e-6)
    logs = model.train_on_batch(*data(0.0), return_dict=True)
    assert logs["loss"] == pytest.approx(value, rel=1e-6)


def test_adapters_are_new_and_the_layer_norms_beside_them_are_not():
    encoder = BertEncoder(**TINY)
    encoder.build()
    encoder.add(BottleneckAdapters(3))
    model = keras.Sequential([encoder])
    model.built = True
    new = [weight for layer in encoder.adapter_layers for weight in layer.weights]
    start = l2_sp(model, encoder, alpha=0.3, beta=0.5)
    squares = sum(np.sum(np.square(weight.numpy(), dtype="float64")) for weight in new)
    assert total(model) == pytest.approx(0.5 / 2 * squares)
    gamma = encoder.blocks[0].output_layer_norm.gamma
    gamma.assign_add(np.full(8, 2.0))
    assert total(model) == pytest.approx(0.5 / 2 * squares + 0.3 / 2 * 8 * 4)
    assert start.distances() == pytest.approx(
        {"embeddings": 0, "layer_0": 0, "pooler": 0, "adapters": np.sqrt(32)}
    )
    names = set(pretrained_weights(encoder))
    assert "layer_0/output_layer_norm/gamma" in names
    assert not any("adapter" in name for name in names)
    # What was estimated without adapters fits an encoder that has some.
    plain = BertEncoder(**TINY)
    plain.build()
    assert names == set(pretrained_weights(plain))


TASK = ta.Task("tagging", labels=["O", "B-PER", "I-PER"])
SENTENCES = [(["ann", "lee", "sings"], ["B-PER", "I-PER", "O"]), (["rain"], ["O"])]


@pytest.mark.slow
def test_models_of_ours_add_the_penalty_once(shallow_bert):
    encoder = ta.HubEncoder(shallow_bert)
    model = ta.build_model(TASK, encoder, head="crf")
    model.compile(keras.optimizers.SGD(RATE), loss=TASK.loss, run_eagerly=True)
    batches = ta.batches(SENTENCES, TASK, encoder, batch_size=2, shuffle=False)
    fisher, anchors = random_fisher(encoder), anchors_of(encoder)
    start = StartingPoint(encoder)
    move(model.weights, 0.2, seed=2)
    plain = model.evaluate(batches, verbose=0)
    l2_sp(model, encoder, 0.3, 0.07, start)
    ewc(model, encoder, fisher, 2.5, start)
    value, gradients = pulls(model, encoder, anchors, fisher, **KINDS["both"])
    assert value > 1
    assert model.evaluate(batches, verbose=0) == pytest.approx(plain + value, rel=1e-6)
    # The data weighs nothing. What stands in the group that nobody reads stays where it is.
    before = {weight.path: values(weight) for weight in model.weights}
    model.fit(batches.map(lambda inputs, targets: (inputs, targets, tf.zeros(2))), verbose=0)
    for weight in model.weights:
        expected = before[weight.path] - RATE * gradients.get(weight.path, 0)
        np.testing.assert_allclose(weight.numpy(), expected, atol=2e-6, err_msg=weight.path)
    assert encoder.unread_groups == ("pooler",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("handle", "execution"),
    [("bert_small", "native"), ("tiny", "saved_model"), ("elmo_small", "saved_model")],
)
def test_every_encoder_has_names_for_its_pretrained_weights(handle, execution, tiny_program):
    handle = tiny_program if handle == "tiny" else handle
    encoder = ta.HubEncoder(handle, execution=execution)
    named = pretrained_weights(encoder)
    grouped = [weight for _, weights in encoder.layer_groups for weight in weights]
    assert len(named) == len(grouped)
    assert {id(weight) for weight in named.values()} == {id(weight) for weight in grouped}
    again = pretrained_weights(ta.HubEncoder(handle, execution=execution))
    assert {name: w.shape for name, w in again.items()} == {n: w.shape for n, w in named.items()}


def test_weights_out_of_range_are_refused():
    model, encoder = small_model()
    fisher = random_fisher(encoder)
    for wrong in (-0.1, float("nan"), float("inf"), True, "0.1", None):
        with pytest.raises(ConfigError, match="l2_sp.alpha: expected a number above 0; leave out"):
            l2_sp(model, encoder, alpha=wrong)
        with pytest.raises(ConfigError, match="l2_sp.beta: expected a number of at least 0, got"):
            l2_sp(model, encoder, beta=wrong)
        with pytest.raises(ConfigError, match="ewc.weight: expected a number above 0"):
            ewc(model, encoder, fisher, weight=wrong)
    assert model.losses == []


def test_what_does_not_fit_together_is_refused():
    model, encoder = small_model()
    other, others_encoder = small_model()
    fisher = random_fisher(encoder)
    name = "layer_0/attention/query/kernel"
    for zero in ({"alpha": 0}, {"alpha": 0.0}):
        with pytest.raises(ConfigError, match="alpha: expected a number above 0; leave out a pen"):
            l2_sp(model, encoder, **zero)
    with pytest.raises(ConfigError, match="expected an encoder that is part of the model"):
        l2_sp(other, encoder)
    with pytest.raises(ConfigError, match="expected the starting point of this encoder"):
        l2_sp(model, encoder, start=StartingPoint(others_encoder))
    with pytest.raises(ConfigError, match="expected a built model, got one that was never called"):
        l2_sp(keras.Sequential([encoder, keras.layers.Dense(2)]), encoder)
    with pytest.raises(ConfigError, match=r"expected names .*, got \['bias', 'layer_9'\]"):
        ewc(model, encoder, {name: fisher[name], "layer_9": 1, "bias": 1})
    with pytest.raises(ConfigError, match="got none; estimate it with this encoder"):
        ewc(model, encoder, {})
    with pytest.raises(ConfigError, match=rf"{name}: expected shape \(8, 8\), got \(8,\)"):
        ewc(model, encoder, {name: np.ones(8)})
    for value in (-1e-9, np.nan, np.inf):
        with pytest.raises(ConfigError, match=f"{name}: expected finite numbers of at least 0"):
            ewc(model, encoder, fisher | {name: np.full((8, 8), value)})
    assert model.losses == []
