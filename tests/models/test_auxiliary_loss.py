"""Auxiliary losses in a model that trains: how much is added, when, and to what."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import with_output_layer, without_dropout

import tf_adapt as ta
from tf_adapt.errors import ConfigError
from tf_adapt.models.language_objectives import language_model_objective
from tf_adapt.models.signals.auxiliary_loss import AuxiliaryLoss, annealed
from tf_adapt.training.resolving.compiled_model import precision

TASK = ta.Task("classification", labels=["no", "yes"])
DATA = [("a good film", "yes"), ("b", "no"), ("what is the time", "yes"), ("c d", "no")]


@keras.saving.register_keras_serializable("tests")
class Constant(keras.layers.Layer):
    """1 at a text's first real position, 3 at its second, 0 at the others; −1 at padding."""

    def call(self, inputs, encoder=None, encoded=None, training=None):
        assert training and encoded["layers"]
        mask = tf.cast(inputs["input_mask"], tf.float32)
        values = tf.one_hot(0, tf.shape(mask)[1]) + 3 * tf.one_hot(1, tf.shape(mask)[1])
        return tf.where(mask > 0, values[None], -1.0)


@pytest.fixture(scope="module")
def module(shallow_bert, tmp_path_factory):
    return with_output_layer(shallow_bert, tmp_path_factory.mktemp("auxiliary") / "bert")


def made(module, *auxiliaries, optimizer=None, seed=0):
    keras.utils.set_random_seed(seed)
    encoder = ta.HubEncoder(module)
    auxiliaries = [one(encoder) for one in auxiliaries]
    model = ta.build_model(TASK, encoder, auxiliaries=auxiliaries, head_dropout=0.0)
    model.compile(
        optimizer or keras.optimizers.SGD(0.0), TASK.loss, metrics=TASK.metrics, jit_compile=False
    )
    return model


def batches(model, size=4):
    return ta.batches(DATA, TASK, model.encoder, batch_size=size, shuffle=False)


def test_annealing_by_pencil():
    # 0.2 · (1/2)^(t/4): a half life of four steps, then constant.
    for step, expected in ((0, 0.2), (2, 0.2 * 0.7071068), (4, 0.1), (400, 0.1)):
        assert float(annealed(0.2, 0.1, 4, step)) == pytest.approx(expected, rel=1e-6)
    # SiATL: from e^-1.6 to e^-2.3 over 15 epochs, here of 10 steps.
    first, last = np.exp(-1.6), np.exp(-2.3)
    assert float(annealed(first, last, 150, 75)) == pytest.approx(np.exp(-1.95), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [None, "float16"])
def test_what_is_added_in_training_and_only_there(shallow_bert, tmp_path, policy):
    module = without_dropout(with_output_layer(shallow_bert, tmp_path / "bert"))
    rule = {"weight": 0.5, "final_weight": 0.125, "anneal_steps": 2}
    with precision(policy):
        model = made(module, lambda encoder: AuxiliaryLoss(Constant(), **rule))
    data = batches(model)
    inputs, targets = next(iter(data))
    lengths = tf.reduce_sum(inputs["a"]["input_mask"], axis=1).numpy()
    mean = 4 * len(lengths) / lengths.sum()
    alone = float(TASK.loss(targets, model(inputs)))
    assert model.evaluate(data, verbose=0)[0] == pytest.approx(alone, rel=1e-3)
    added = []
    for _ in range(4):
        model.reset_metrics()
        added.append(model.train_on_batch(inputs, targets)[0] - alone)
    weights = [0.5, 0.25, 0.125, 0.125]
    np.testing.assert_allclose(added, [weight * mean for weight in weights], rtol=2e-3)


@pytest.mark.slow
def test_a_language_model_beside_the_task(module):
    def language_model(encoder):
        return AuxiliaryLoss(language_model_objective(encoder), weight=0.2)

    model = made(module, language_model, optimizer=keras.optimizers.Adam(1e-3))
    model.run_eagerly = True
    before = [weight.numpy() for weight in model.weights]
    history = model.fit(batches(model, 2), epochs=2, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    moved = {
        weight.path
        for old, weight in zip(before, model.weights, strict=True)
        if np.any(old != weight.numpy())
    }
    assert moved == {weight.path for weight in model.trainable_weights}
    output = model.auxiliaries[0].objective.output_layer
    assert {weight.path for weight in output.weights} <= moved
    # A frozen encoder stays as it is; the output layer learns.
    model.encoder.trainable = False
    assert {id(w) for w in output.weights} <= {id(w) for w in model.trainable_weights}
    assert not model.encoder.trainable_weights


def test_plain_keras_saves_and_loads_it(module, tmp_path):
    def language_model(encoder):
        return AuxiliaryLoss(language_model_objective(encoder), 0.2, 0.1, 10)

    model = made(module, language_model)
    model.save(tmp_path / "x.keras")
    copy = keras.saving.load_model(tmp_path / "x.keras")
    assert copy.auxiliaries[0].get_config() == model.auxiliaries[0].get_config()
    for one, other in zip(model.weights, copy.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.slow
def test_an_export_leaves_it_out(module, tmp_path):
    def language_model(encoder):
        return AuxiliaryLoss(language_model_objective(encoder))

    model = made(module, language_model)
    folder = ta.export(model, tmp_path / "1")
    names = [name for name, _ in tf.train.list_variables(str(folder / "variables/variables"))]
    served = [name for name in names if name.startswith("variables/")]
    unused = len(model.auxiliaries[0].variables)
    assert unused == 6 and len(served) == len(model.variables) - unused
    answer = tf.saved_model.load(str(folder)).signatures["serving_default"](
        text=tf.constant([text for text, _ in DATA])
    )
    expected = [one.scores for one in ta.predict(model, [text for text, _ in DATA])]
    np.testing.assert_allclose(answer["scores"], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight": 0.0}, "weight: expected a number above 0, got 0.0"),
        ({"final_weight": -1.0, "anneal_steps": 2}, "final_weight: expected a number above 0"),
        ({"final_weight": 0.1}, "anneal_steps: expected a number above 0 together with final_we"),
        ({"anneal_steps": 3}, "anneal_steps: .* got 3 with None"),
        ({"final_weight": 0.1, "anneal_steps": 0}, "anneal_steps: expected a number above 0"),
    ],
)
def test_weights_that_cannot_be(arguments, message):
    with pytest.raises(ConfigError, match=message):
        AuxiliaryLoss(Constant(), **arguments)


def test_a_module_without_output_layer(shallow_bert):
    with pytest.raises(ConfigError, match="needs the output layer.*module convert"):
        language_model_objective(ta.HubEncoder(shallow_bert))
