"""The loss against a teacher's answers: NumPy, no pull at equality, padding, placeholders."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.data.packing.prepared import LABELLED, TEACHER
from tf_adapt.errors import ConfigError
from tf_adapt.models.signals.teaching import Teaching, soft_losses

LABELS = ["a", "b", "c"]
TASKS = {
    "classification": ta.Task("classification", LABELS),
    "multilabel_classification": ta.Task("multilabel_classification", LABELS),
    "regression": ta.Task("regression"),
    "tagging": ta.Task("tagging", ["O", "B-X", "I-X"]),
}
SHAPES = {"regression": (4,), "tagging": (4, 5, 3)}


def drawn(kind, seed):
    return np.random.default_rng(seed).normal(0, 2, SHAPES.get(kind, (4, 3))).astype("float32")


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def kl(p, q):
    return (p * np.log(p / q)).sum(-1)


def by_numpy(kind, teacher, student, temperature):
    """S of each example or word, in float64."""
    teacher, student = teacher.astype("float64"), student.astype("float64")
    if kind == "regression":
        return (teacher - student) ** 2
    if kind == "multilabel_classification":
        found = 0.0
        for label in range(3):
            p, q = (
                np.stack([share, 1 - share], -1)
                for share in (
                    1 / (1 + np.exp(-one[:, label] / temperature)) for one in (teacher, student)
                )
            )
            found = found + temperature**2 * kl(p, q) / 3
        return found
    return temperature**2 * kl(softmax(teacher / temperature), softmax(student / temperature))


@pytest.mark.parametrize("kind", TASKS)
def test_soft_losses_against_numpy(kind):
    teacher, student = drawn(kind, 0), drawn(kind, 1)
    for temperature in (1.0, 2.0, 5.0):
        found = soft_losses(TASKS[kind], tf.constant(teacher), tf.constant(student), temperature)
        expected = by_numpy(kind, teacher, student, temperature)
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


def test_by_pencil():
    # p = (3/4, 1/4), q = (1/2, 1/2): KL = 3/4 ln 3/2 + 1/4 ln 1/2, at T = 2 times 4.
    teacher, student = tf.constant([[2 * np.log(3.0), 0.0]]), tf.constant([[0.0, 0.0]])
    found = soft_losses(TASKS["classification"], teacher, student, 2.0)
    assert float(found[0]) == pytest.approx(4 * 0.130812, rel=1e-5)


@pytest.mark.parametrize("kind", TASKS)
def test_an_identical_student_is_not_pulled(kind):
    same = tf.constant(drawn(kind, 0))
    other = tf.constant(drawn(kind, 1))
    for student, is_zero in ((same, True), (other, False)):
        with tf.GradientTape() as tape:
            tape.watch(student)
            loss = tf.reduce_sum(soft_losses(TASKS[kind], same, student, 2.0))
        largest = float(tf.reduce_max(tf.abs(tape.gradient(loss, student))))
        assert largest < 1e-6 if is_zero else largest > 0.1


class Logits(keras.layers.Layer):
    """A head whose outputs are one weight, whatever the text."""

    def __init__(self, values):
        super().__init__()
        self.values = self.add_weight(shape=values.shape, initializer="zeros", name="values")
        self.values.assign(values)
        self.built = True

    def call(self, encoded, inputs=None, training=None):
        rows = tf.shape(encoded[0]["mask"])[0]
        return tf.convert_to_tensor(self.values)[:rows]


TARGETS = {
    "classification": np.array([0, 2, 1, 0], "int32"),
    "regression": np.array([0.5, -1.0, 2.0, 0.0], "float32"),
    "tagging": np.array(
        [[0, 1, 2, -1, -1], [0, 0, 1, 2, 0], [1, -1, -1, -1, -1], [0, 0, -1, -1, -1]], "int32"
    ),
}


ALL, THREE, NONE = None, [1, 1, 0, 1], [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("kind", "weight", "labelled"),
    [
        ("classification", 0.3, ALL),
        ("classification", 0.3, NONE),
        ("classification", 1.0, THREE),
        ("regression", 0.3, ALL),
        ("regression", 0.3, THREE),
        ("tagging", 0.3, ALL),
        ("tagging", 0.3, THREE),
        ("tagging", 0.3, NONE),
    ],
)
def test_the_loss_of_a_step_against_numpy(shallow_bert, kind, weight, labelled):
    """Each example counts alike: w · S + (1 − w) · L with a label, w · S without one."""
    task, teacher, student = TASKS[kind], drawn(kind, 0), drawn(kind, 1)
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    model = ta.build_model(task, encoder, Logits(student))
    model.teaching = Teaching(task, 2.0, weight)
    model.compile(keras.optimizers.SGD(0.1), task.loss, metrics=task.metrics, jit_compile=False)
    inputs = dict(encoder.preprocessor(["a", "b c", "what", "is it"]))
    y = tf.constant(TARGETS[kind])
    plain = float(model.compute_loss({"a": inputs}, y, tf.constant(student), training=False))
    inputs[TEACHER] = tf.constant(teacher)
    if labelled is not None:
        inputs[LABELLED] = tf.constant(labelled, "float32")
    before = model.head.values.numpy()
    model.train_step(({"a": inputs}, y))
    gradient = (before - model.head.values.numpy()) / 0.1

    soft = by_numpy(kind, teacher, student, 2.0)
    real = TARGETS[kind] >= 0 if kind == "tagging" else np.ones(4, bool)
    kept = np.ones(4) if labelled is None else np.array(labelled, "float64")
    own = own_losses(kind, student.astype("float64"), real)
    rows = kept[:, None] if kind == "tagging" else kept
    expected = (weight * soft + (1 - weight) * rows * own)[real].mean()
    found = float(model.compute_loss({"a": inputs}, y, tf.constant(student)))
    assert found == pytest.approx(expected, rel=1e-5)
    assert plain == pytest.approx(own[real].mean(), rel=1e-5)
    # The step's own gradient, by differences of the formula in float64.
    numbers = np.random.default_rng(3).choice(student.size, 3, replace=False)
    for place in (np.unravel_index(number, student.shape) for number in numbers):
        values = []
        for step in (1e-5, -1e-5):
            moved = student.astype("float64")
            moved[place] += step
            soft = by_numpy(kind, teacher, moved, 2.0)
            own = own_losses(kind, moved, real)
            values.append((weight * soft + (1 - weight) * rows * own)[real].mean())
        slope = (values[0] - values[1]) / 2e-5
        assert gradient[place] == pytest.approx(slope, rel=2e-3, abs=2e-5)


def own_losses(kind, student, real):
    if kind == "regression":
        return (student - TARGETS[kind]) ** 2
    share = np.take_along_axis(softmax(student), np.maximum(TARGETS[kind], 0)[..., None], -1)
    return np.where(real, -np.log(share[..., 0]), 0.0)


def test_metrics_of_training_count_labelled_examples_only(shallow_bert):
    task = TASKS["classification"]
    student = np.eye(3, dtype="float32")[[0, 1, 1, 0]]
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    model = ta.build_model(task, encoder, Logits(student))
    model.teaching = Teaching(task)
    model.compile(keras.optimizers.SGD(0.0), task.loss, metrics=task.metrics, jit_compile=False)
    inputs = dict(encoder.preprocessor(["a", "b c", "what", "is it"]))
    inputs[TEACHER], inputs[LABELLED] = tf.constant(student), tf.constant([1.0, 1.0, 1.0, 0.0])
    # Right, wrong, right; the fourth would be right.
    data = tf.data.Dataset.from_tensors(({"a": inputs}, tf.constant([0, 2, 1, 0])))
    assert model.fit(data, verbose=0).history["accuracy"] == [pytest.approx(2 / 3)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": 0.0}, "temperature: expected a number above 0, got 0.0"),
        ({"temperature": float("nan")}, "temperature: expected a number above 0, got nan"),
        ({"weight": 0.0}, "weight: expected a number above 0, up to 1, got 0.0"),
        ({"weight": 1.5}, "weight: expected a number above 0, up to 1, got 1.5"),
    ],
)
def test_values_that_cannot_be(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Teaching(TASKS["classification"], **arguments)
