"""The CRF in use: loss, graphs, compilation, precision, saving, and wrong arguments.

(Two devices: training/test_losses_on_two_devices.py.)
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.layers.crf import CRF

LENGTHS = (11, 0, 1, 6)


@pytest.fixture
def crf():
    return made(4)


def made(num_tags, seed=0, **config):
    crf = CRF(num_tags, **config)
    crf.build()
    random = np.random.default_rng(seed)
    for weight in crf.weights:
        weight.assign(random.normal(size=weight.shape))
    return crf


def example(num_tags=4, lengths=LENGTHS, time=11):
    random = np.random.default_rng(5)
    mask = np.arange(time) < np.array(lengths).reshape(-1, 1)
    logits = random.normal(size=(*mask.shape, num_tags)).astype("float32")
    targets = np.where(mask, random.integers(0, num_tags, size=mask.shape), -1)
    return logits, targets.astype("int32"), mask


def everything(crf, logits, targets):
    """Loss, its gradients, tags, score and marginals."""
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = crf.loss(targets, logits)
    gradients = tape.gradient(loss, [logits, *(weight.value for weight in crf.weights)])
    mask = targets >= 0
    return [loss, *gradients, *crf.decode(logits, mask), crf.marginals(logits, mask)]


def assert_equal(got, expected):
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(
            tf.convert_to_tensor(one), tf.convert_to_tensor(other), rtol=1e-5, atol=1e-6
        )


def test_by_pencil():
    crf = CRF(2)
    crf.build()
    crf.transitions.assign(np.log([[1.0, 2.0], [3.0, 1.0]]))
    crf.start_scores.assign(np.log([1.0, 5.0]))
    crf.end_scores.assign(np.log([7.0, 1.0]))
    logits = np.log([[[1.0, 1.0], [2.0, 1.0]]])
    # Paths 00, 01, 10, 11: 1·1·2·7 = 14, 1·2·1·1 = 2, 5·3·2·7 = 210, 5·1·1·1 = 5; in all 231.
    for path, weight in (([0, 0], 14), ([0, 1], 2), ([1, 0], 210), ([1, 1], 5)):
        log_likelihood = float(crf.log_likelihood(logits, [path])[0])
        assert log_likelihood == pytest.approx(np.log(weight / 231), rel=1e-6)
    tags, score = crf.decode(logits)
    assert tags.numpy().tolist() == [[1, 0]]
    assert float(score[0]) == pytest.approx(np.log(210), rel=1e-6)
    marginals = np.array([[[16, 215], [224, 7]]]) / 231
    np.testing.assert_allclose(crf.marginals(logits), marginals, rtol=1e-6)


def test_the_loss_is_the_mean_over_sentences_with_words(crf):
    logits, targets, mask = example()
    each = -crf.log_likelihood(logits, targets, mask).numpy()
    assert each[1] == 0 and (each[[0, 2, 3]] > 0).all()
    loss = crf.loss(targets, logits)
    assert (loss.shape, loss.dtype) == ((), "float32")
    assert float(loss) == pytest.approx(each.sum() / 3, rel=1e-6)
    weights = np.array([2.0, 3.0, 0.0, 0.5])
    assert float(crf.loss(targets, logits, weights)) == pytest.approx(each @ weights / 3, rel=1e-6)
    total = made(4, reduction="sum")
    assert float(total.loss(targets, logits)) == pytest.approx(each.sum(), rel=1e-6)
    weighted = float(total.loss(targets, logits, weights))
    assert weighted == pytest.approx(each @ weights, rel=1e-6)


def test_nothing_but_padding_has_loss_and_gradient_0(crf):
    logits = tf.constant([[[np.nan] * 4, [np.inf] * 4]], tf.float32)
    found = everything(crf, logits, tf.constant([[-1, -1]]))
    tags = found.pop(5)
    assert tags.numpy().tolist() == [[-1, -1]]
    for part in found:
        assert not tf.convert_to_tensor(part).numpy().any()


@pytest.mark.slow
def test_in_a_graph_of_unknown_sizes():
    random = np.random.default_rng(8)
    crf = made(4, constraints=(random.random((6, 6)) < 0.7).tolist())
    graph = tf.function(
        lambda logits, targets: everything(crf, logits, targets),
        input_signature=[
            tf.TensorSpec([None, None, 4]),
            tf.TensorSpec([None, None], tf.int32),
        ],
    )
    for lengths, time in ((LENGTHS, 11), ((3, 8), 8), ((0, 0), 0), ((), 4), ((), 0)):
        logits, targets, _ = map(tf.constant, example(4, lengths, time))
        expected = everything(crf, logits, targets)
        assert [part.shape for part in expected[-3:]] == [
            (len(lengths), time),
            (len(lengths),),
            (len(lengths), time, 4),
        ]
        assert_equal(graph(logits, targets), expected)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "float16"])
def test_an_enclosing_layer_of_any_precision_changes_nothing(policy):
    class Enclosing(keras.layers.Layer):
        def __init__(self):
            super().__init__(dtype=policy)
            self.crf = made(4, dtype=self.dtype_policy)

        def call(self, targets):
            logits = tf.constant(example()[0])
            decoded = self.crf(logits, targets >= 0)
            return [
                self.crf.loss(targets, logits),
                *self.crf.decode(logits, targets >= 0),
                self.crf.marginals(logits, targets >= 0),
                decoded["tags"],
                decoded["score"],
            ]

    logits, targets, mask = example()
    plain = made(4)
    tags, score = plain.decode(logits, mask)
    expected = [plain.loss(targets, logits), tags, score, plain.marginals(logits, mask)]
    layer = Enclosing()
    assert {weight.dtype for weight in layer.weights} == {"float32"}
    got = layer(targets)
    for one, other in zip(got, [*expected, tags, score], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_logits_of_any_float_type(crf, dtype):
    logits, targets, mask = example()
    given = tf.cast(logits, dtype)
    expected = everything(crf, tf.cast(given, tf.float32), tf.constant(targets))
    got = everything(crf, given, tf.constant(targets))
    assert got[1].dtype == dtype
    for one in [got[0], *got[2:5], *got[6:]]:
        assert one.dtype == "float32"
    del got[1], expected[1]
    assert_equal(got, expected)


def functional_model():
    words = keras.Input((None, 3))
    real = keras.Input((None,), dtype="bool")
    logits = keras.layers.Dense(4)(words)
    return keras.Model([words, real], CRF(4, np.ones((6, 6)), name="crf")(logits, mask=real))


def test_a_keras_model_is_saved_loaded_and_exported(tmp_path):
    model = functional_model()
    _, _, mask = example()
    words = np.random.default_rng(1).normal(size=(*mask.shape, 3)).astype("float32")
    expected = model([words, mask])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    model.export(tmp_path / "exported", verbose=False)
    served = tf.saved_model.load(tmp_path / "exported")
    for got in (loaded([words, mask]), served.serve([words, mask])):
        np.testing.assert_array_equal(got["tags"], expected["tags"])
        np.testing.assert_allclose(got["score"], expected["score"], rtol=1e-6)
    assert (expected["tags"].numpy()[mask] >= 0).all()
    assert (expected["tags"].numpy()[~mask] == -1).all()


def test_a_mask_of_keras_is_used(crf):
    logits = example()[0]
    masked = keras.layers.Masking(mask_value=9.0)
    logits[1, 5:] = 9.0
    tags = crf(masked(logits))["tags"].numpy()
    assert (tags[1, 5:] == -1).all() and (tags[1, :5] >= 0).all() and (tags[0] >= 0).all()


def test_it_learns_which_tag_follows_which():
    keras.utils.set_random_seed(0)
    targets = np.array([[0, 1, 2] * 4, [1, 2, 0] * 3 + [-1] * 3, [2, 0, 1] * 4])
    logits = np.zeros((3, 12, 3), "float32")
    logits[np.arange(3), 0, targets[:, 0]] = 9.0
    crf = CRF(3)
    crf.build()
    optimizer = keras.optimizers.Adam(0.2)
    optimizer.build(crf.trainable_weights)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = crf.loss(targets, logits)
        gradients = tape.gradient(loss, [weight.value for weight in crf.weights])
        optimizer.apply(gradients, crf.trainable_weights)
        return loss

    losses = [float(step()) for _ in range(100)]
    assert losses[-1] < 0.3 < 5 < losses[0]
    np.testing.assert_array_equal(crf.decode(logits, targets >= 0)[0], targets)


HOLE = np.array([[True, False, True, False]])
UNSORTED = "CRF: mask: expected every real word before all padding, got"


def test_a_real_word_after_padding(crf):
    logits = np.zeros((1, 4, 4), "float32")
    for method in (crf.decode, crf.marginals, crf.__call__, crf.log_likelihood):
        is_likelihood = method == crf.log_likelihood
        arguments = (logits, np.zeros((1, 4), int)) if is_likelihood else (logits,)
        with pytest.raises(ValueError, match=UNSORTED + r" \[\[True, False, True, False\]\]"):
            method(*arguments, mask=HOLE)
        with pytest.raises(tf.errors.InvalidArgumentError, match=UNSORTED + r"\] \[\[1 0 1 0\]\]"):
            tf.function(method)(*arguments, mask=HOLE)


def test_a_target_after_padding(crf):
    with pytest.raises(ValueError, match="every real word before all padding"):
        crf.loss([[0, -1, 2]], np.zeros((1, 3, 4), "float32"))


@pytest.mark.parametrize("tag", [4, -1])
def test_a_tag_that_is_none(crf, tag):
    logits, tags = np.zeros((1, 2, 4), "float32"), np.array([[3, tag]])
    message = "CRF: tags: expected 0 to 3 at every real word, got"
    with pytest.raises(ValueError, match=rf"{message} \[\[3, {tag}\]\]"):
        crf.log_likelihood(logits, tags)
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"{message}\] \[\[3 {tag}\]\]"):
        tf.function(crf.log_likelihood)(logits, tags)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((1, 2, 5)), [[0, 0]]), r"logits: expected shape \(None, None, 4\), got \(1, 2"),
        ((np.zeros((2, 4)), [[0, 0]]), "logits: expected shape"),
        ((np.zeros((1, 2, 4)), [[0, 0, 0]]), r"tags: expected shape \(1, 2\), got \(1, 3\)"),
        ((np.zeros((1, 2, 4)), [[0, 0]], [[True]]), r"mask: expected shape \(1, 2\), got \(1, 1\)"),
    ],
)
def test_wrong_shapes(crf, arguments, message):
    with pytest.raises(ValueError, match=message):
        crf.log_likelihood(*arguments)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_tags": 0}, "num_tags: expected a whole number of at least 1, got 0"),
        ({"num_tags": 2.5}, "num_tags: expected a whole number of at least 1, got 2.5"),
        ({"num_tags": 2, "reduction": "none"}, "expected one of mean, sum, got 'none'"),
        ({"num_tags": 2, "constraints": [[True] * 3] * 4}, "4 rows of 4, for 2 .* got 4 rows of 3"),
        ({"num_tags": 2, "constraints": [[True], []]}, "constraints: .* got 2 rows of 0, 1"),
        ({"num_tags": 2, "constraints": []}, "constraints: .* got 0 rows"),
    ],
)
def test_wrong_arguments(config, message):
    with pytest.raises(ValueError, match=message):
        CRF(**config)
