"""The diagonal Fisher information against closed forms, enumeration, and Keras' own gradients."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.adaptation.fisher import (
    accumulated_fisher,
    fisher_diagonal,
    load_fisher,
    save_fisher,
    task_fisher,
)
from tf_adapt.adaptation.likelihoods import categorical_log_likelihood, sampled_targets
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ArtifactError, ConfigError

# A mean of so many standard errors off would be seen once in 16,000 numbers.
SIGMAS = 4


def logistic_regression(sampled):
    """`p = sigmoid(w · x)`, as a softmax over (0, w · x); examples (x, y)."""
    weight = keras.Variable(np.array([0.5, -1.0, 2.0], "float32"))

    def log_likelihood(example, seed):
        x, y = example
        score = tf.tensordot(tf.convert_to_tensor(weight), x, 1)
        logits = tf.stack([0.0, score])[None]
        y = sampled_targets(logits, tf.constant([True]), seed) if sampled else y[None]
        return categorical_log_likelihood(logits, y)

    return weight, log_likelihood


def logistic_data(number):
    random = np.random.default_rng(0)
    x = random.normal(size=(number, 3)).astype("float32")
    p = 1 / (1 + np.exp(-x.astype("float64") @ [0.5, -1.0, 2.0]))
    return x, p, (p < 0.5).astype("int32")  # labels that the model does not believe


def test_of_a_logistic_regression_with_the_labels_it_is_exact():
    weight, log_likelihood = logistic_regression(sampled=False)
    x, p, y = logistic_data(50)
    examples = tf.data.Dataset.from_tensor_slices((x, y))
    got = fisher_diagonal(log_likelihood, {"w": weight}, examples, examples=50)["w"]
    expected = np.mean((p - y)[:, None] ** 2 * x.astype("float64") ** 2, axis=0)
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    first = fisher_diagonal(log_likelihood, {"w": weight}, examples, examples=10)["w"]
    expected = np.mean((p - y)[:10, None] ** 2 * x[:10].astype("float64") ** 2, axis=0)
    np.testing.assert_allclose(first, expected, rtol=1e-5)


@pytest.mark.slow
def test_of_a_logistic_regression_drawn_outcomes_estimate_the_closed_form():
    weight, log_likelihood = logistic_regression(sampled=True)
    x, p, y = logistic_data(2000)
    examples = tf.data.Dataset.from_tensor_slices((x, y))
    got = fisher_diagonal(log_likelihood, {"w": weight}, examples, examples=2000, seed=1)["w"]
    p, squares = p[:, None], x.astype("float64") ** 2
    expected = np.mean(p * (1 - p) * squares, axis=0)
    # Of one example (y − p)² x² has this variance over the draw of y.
    variance = (p * (1 - p) ** 4 + (1 - p) * p**4 - (p * (1 - p)) ** 2) * squares**2
    error = np.sqrt(np.sum(variance, axis=0)) / 2000
    assert np.all(error < 0.1 * expected)  # sharp enough to tell it from the labels' value
    assert np.all(np.abs(got - expected) < SIGMAS * error)
    assert np.all(np.mean((p - y[:, None]) ** 2 * squares, axis=0) > expected + 2 * SIGMAS * error)


def test_the_seed_decides_the_draws():
    weight, log_likelihood = logistic_regression(sampled=True)
    x, _, y = logistic_data(20)
    drawn = [
        fisher_diagonal(log_likelihood, {"w": weight}, zip(x, y, strict=True), seed=seed)["w"]
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert np.any(drawn[0] != drawn[2])


@pytest.mark.slow
def test_several_positions_of_an_example_are_one_outcome():
    """Against all 9 outcomes of two positions with three classes, one position being padding."""
    table = np.array([[0.3, -0.2, 1.0], [0.5, 0.1, -0.7]])
    weight = keras.Variable(table.astype("float32"))
    features = np.array([[1.0, 2.0], [7.0, 7.0], [-0.5, 1.5]])
    real = np.array([True, False, True])
    p = np.exp(features @ table)
    p /= p.sum(-1, keepdims=True)
    squares, probabilities = [], []
    for outcome in itertools.product(range(3), repeat=2):
        score = np.zeros((2, 3))
        for position, label in zip((0, 2), outcome, strict=True):
            score += np.outer(features[position], np.eye(3)[label] - p[position])
        squares.append(score**2)
        probabilities.append(p[0, outcome[0]] * p[2, outcome[1]])
    squares, probabilities = np.array(squares), np.array(probabilities)[:, None, None]
    assert probabilities.sum() == pytest.approx(1)
    expected = np.sum(probabilities * squares, axis=0)
    error = np.sqrt(np.sum(probabilities * (squares - expected) ** 2, axis=0) / 3000)

    def log_likelihood(x, seed):
        logits = tf.matmul(x, tf.convert_to_tensor(weight))[None]
        return categorical_log_likelihood(logits, sampled_targets(logits, real[None], seed))

    draws = itertools.repeat(features.astype("float32"))
    got = fisher_diagonal(log_likelihood, {"w": weight}, draws, examples=3000)["w"]
    assert np.all(np.abs(got - expected) < SIGMAS * error)


@pytest.mark.parametrize("padding", [0.0, np.nan, np.inf])
def test_padding_has_no_part(padding):
    logits = tf.Variable([[[1.0, 2.0], [padding, 0.0]]])
    with tf.GradientTape() as tape:
        value = categorical_log_likelihood(logits, tf.constant([[0, -1]]))
    assert float(value) == pytest.approx(-np.log(1 + np.e), rel=1e-6)
    share = np.e / (1 + np.e)
    np.testing.assert_allclose(tape.gradient(value, logits), [[[share, -share], [0, 0]]], atol=1e-7)
    drawn = sampled_targets(logits, tf.constant([[False, False]]), tf.constant([0, 0]))
    assert drawn.numpy().tolist() == [[-1, -1]]


def test_rows_of_an_embedding_that_are_read_twice_add_up_before_the_square():
    table = keras.Variable(np.array([[0.2], [0.7], [-0.4]], "float32"))
    ids = np.array([2, 0, 2])

    def log_likelihood(ids, seed):
        score = tf.reduce_sum(keras.ops.take(table, ids, axis=0))
        return tf.math.log_sigmoid(score)

    got = fisher_diagonal(log_likelihood, {"table": table}, [ids])["table"]
    slope = 1 / (1 + np.exp(0.2 - 0.4 - 0.4))
    np.testing.assert_allclose(got, [[slope**2], [0], [(2 * slope) ** 2]], rtol=1e-6)


def test_a_weight_that_is_not_read_has_none():
    weight, log_likelihood = logistic_regression(sampled=False)
    x, _, y = logistic_data(2)
    other = keras.Variable(np.ones([2, 2], "float32"))
    got = fisher_diagonal(log_likelihood, {"w": weight, "o": other}, zip(x, y, strict=True))
    assert np.all(got["w"] > 0)
    np.testing.assert_array_equal(got["o"], np.zeros([2, 2]))


def test_examples_of_many_lengths_are_traced_at_most_twice():
    weight, traces = keras.Variable(np.array([0.5], "float32")), []

    def log_likelihood(x, seed):
        traces.append(x.shape)
        return tf.reduce_sum(tf.math.log_sigmoid(x * tf.convert_to_tensor(weight)))

    fisher_diagonal(log_likelihood, {"w": weight}, [np.ones(n, "float32") for n in range(1, 9)])
    assert len(traces) == 2


TASKS = {
    "classification": (
        "linear",
        ta.Task("classification", labels=["no", "yes", "so"]),
        [("a good film", "yes"), ("dull", "no"), ("the the what", "so")],
    ),
    "multilabel": (
        "linear",
        ta.Task("multilabel_classification", labels=["long", "good"]),
        [("a good film", ["good", "long"]), ("dull", []), ("the the what", ["long"])],
    ),
    "tagging": (
        "linear_tagger",
        ta.Task("tagging", labels=["O", "B-PER", "I-PER"]),
        [(["ann", "lee"], ["B-PER", "I-PER"]), (["it", "is"], ["O", "O"])],
    ),
}
TASKS["crf"] = ("crf", *TASKS["tagging"][1:])


def task_model(name, handle):
    head, task, records = TASKS[name]
    keras.utils.set_random_seed(0)
    model = ta.build_model(task, ta.HubEncoder(handle), head=head)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    model.head.dense.kernel.assign(
        np.random.default_rng(0).normal(size=model.head.dense.kernel.shape)
    )
    return model, ta.batches(records, task, model.encoder, batch_size=1, shuffle=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["multilabel", "tagging", pytest.param("crf", marks=pytest.mark.large)]
)
def test_of_a_task_against_steps_of_sgd(name, shallow_bert):
    """A step of SGD at rate 1 on one example adds the slope of its mean log-likelihood."""
    model, batches = task_model(name, shallow_bert)
    weights = pretrained_weights(model.encoder)
    got = task_fisher(model, batches, sampled=False)
    read = {key for key, weight in weights.items() if weight.trainable}
    # The pooler is read of the first alone.
    assert set(got) == read and (name == "multilabel" or len(read) < len(weights))
    model.compile(keras.optimizers.SGD(1.0), loss=model.task.loss, run_eagerly=True)
    start = [weight.numpy() for weight in model.weights]
    squares = {key: [] for key in read}
    for inputs, targets in batches:
        parts = targets.numpy().size if name != "crf" else 1
        model.train_on_batch(inputs, targets)
        before = {w.path: value for w, value in zip(model.weights, start, strict=True)}
        for key in read:
            slope = (weights[key].numpy() - before[weights[key].path]).astype("float64")
            squares[key].append((parts * slope) ** 2)
        for weight, value in zip(model.weights, start, strict=True):
            weight.assign(value)
    for key, values in squares.items():
        expected = np.mean(values, axis=0)
        np.testing.assert_allclose(got[key], expected, rtol=2e-3, atol=1e-6, err_msg=key)
    assert max(np.max(values) for values in got.values()) > 1e-3


DRAWS = 150
OUTCOMES = {
    "classification": ["no", "yes", "so"],
    "multilabel": [[], ["long"], ["good"], ["long", "good"]],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTCOMES)
def test_drawn_outcomes_of_a_task(name, shallow_bert):
    """Against the sum over all labels or sets, each weighed by the model's own probability."""
    model, _ = task_model(name, shallow_bert)
    model.head.dense.kernel.assign(model.head.dense.kernel / 4)  # so that no outcome is sure
    task, text, weight = model.task, "a good film", "layer_0/output/bias"

    def estimated(labels, **options):
        batches = ta.batches([(text, one) for one in labels], task, model.encoder, batch_size=1)
        return task_fisher(model, batches, **options)[weight].astype("float64")

    every = [estimated([outcome], sampled=False) for outcome in OUTCOMES[name]]
    scores = dict(zip(task.labels, ta.predict(model, [text])[0].scores, strict=True))
    p = np.array(
        [
            scores[one]
            if name == "classification"
            else np.prod([s if label in one else 1 - s for label, s in scores.items()])
            for one in OUTCOMES[name]
        ]
    )[:, None]
    assert p.min() > 0.01 and p.sum() == pytest.approx(1)
    expected = np.sum(p * every, axis=0)
    error = np.sqrt(np.sum(p * (every - expected) ** 2, axis=0) / DRAWS)
    got = estimated(OUTCOMES[name][:1] * DRAWS, examples=DRAWS)
    assert np.all(np.abs(got - expected) < SIGMAS * error + 1e-9)
    assert np.any(np.abs(every[0] - expected) > 2 * SIGMAS * error)


@pytest.mark.slow
def test_what_cannot_be_estimated_is_refused(shallow_bert):
    model, batches = task_model("classification", shallow_bert)
    task, encoder = model.task, model.encoder
    pair = TASKS["classification"][2][1:]
    with pytest.raises(ConfigError, match="expected batches of one example, got 2"):
        task_fisher(model, ta.batches(pair, task, encoder, batch_size=2))
    with pytest.raises(ConfigError, match="expected labelled examples, got some without"):
        task_fisher(model, ta.batches(["dull"], task, encoder, batch_size=1))
    with pytest.raises(ConfigError, match="expected at least one example, got none"):
        task_fisher(model, [])
    with pytest.raises(ConfigError, match="expected at least 1 example, got 0"):
        task_fisher(model, batches, examples=0)
    with pytest.raises(ConfigError, match=r"expected weights that learn, got \['w'\] frozen"):
        frozen = keras.Variable(np.ones(3, "float32"), trainable=False)
        fisher_diagonal(lambda x, seed: 0.0, {"w": frozen}, [1.0])
    with pytest.raises(ConfigError, match="expected a model on one device.*outside of the strat"):
        with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
            spread = keras.Variable(np.ones(3, "float32"))
        fisher_diagonal(lambda x, seed: 0.0, {"w": spread}, [1.0])
    encoder.trainable = False
    with pytest.raises(ConfigError, match="expected weights that learn.*make the encoder train"):
        task_fisher(model, batches)
    crf, sentences = task_model("crf", shallow_bert)
    with pytest.raises(ConfigError, match="expected sampled=False .* for a CRF"):
        task_fisher(crf, sentences)
    regression = ta.build_model(ta.Task("pair_regression"), ta.HubEncoder(shallow_bert))
    with pytest.raises(ConfigError, match="expected a task with labels, got pair_regression"):
        task_fisher(regression, [])


def test_a_chain_of_tasks_against_numpy():
    random = np.random.default_rng(4)
    tasks = [
        {name: random.random((2, 3)).astype("float32") for name in names}
        for names in (("a", "b"), ("a", "b"), ("a", "c"))
    ]
    chain = tasks[0]
    for fisher in tasks[1:]:
        chain = accumulated_fisher(fisher, chain, 0.9)
    expected = {
        "a": 0.81 * tasks[0]["a"] + 0.9 * tasks[1]["a"] + tasks[2]["a"],
        "b": 0.81 * tasks[0]["b"] + 0.9 * tasks[1]["b"],
        "c": tasks[2]["c"],
    }
    assert chain.keys() == expected.keys()
    for name, array in expected.items():
        assert chain[name].dtype == np.float32
        np.testing.assert_allclose(chain[name], array, rtol=1e-6)


def test_without_weight_of_the_tasks_before_it_is_that_of_the_last():
    before, last = {"a": np.ones(2, "float32"), "b": np.ones(2, "float32")}, {"a": np.eye(2)[0]}
    found = accumulated_fisher(last, before, 0.0)
    assert found.keys() == {"a"}
    np.testing.assert_array_equal(found["a"], last["a"])
    for gamma in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError, match="gamma: expected a number from 0 to 1"):
            accumulated_fisher(last, before, gamma)


def test_files_come_back_exactly_or_not_at_all(tmp_path):
    fisher = {
        "layer_0/attention/query/kernel": np.random.default_rng(0).gamma(1.0, size=(3, 4)),
        "pooler/bias": np.zeros(4, "float32"),
    }
    path = tmp_path / "new" / "fisher.npz"
    save_fisher(path, fisher)
    again = load_fisher(path)
    assert list(again) == list(fisher)
    for name, values in fisher.items():
        np.testing.assert_array_equal(again[name], values)
        assert again[name].dtype == values.dtype
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[150] ^= 1
    np.save(tmp_path / "array.npy", np.ones(3))
    objects = tmp_path / "objects.npz"
    np.savez(objects, a=np.array([{}], dtype=object))
    for damaged in (
        content[: len(content) // 2],
        bytes(flipped),
        b"",
        (tmp_path / "array.npy").read_bytes(),
        objects.read_bytes(),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ArtifactError, match="fisher.npz: expected arrays written by save_fish"):
            load_fisher(path)
    with pytest.raises(ArtifactError, match="expected arrays written by save_fisher"):
        load_fisher(tmp_path / "missing.npz")
