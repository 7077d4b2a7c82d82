"""The losses of a distillation, by NumPy in float64 and by pencil."""

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.training.distilling.state_distances import relation_divergence, unexplained_share


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def divergence_by_numpy(student, teacher, heads):
    """MiniLM v2, equations 3 to 5, head by head and position by position."""
    total = 0.0
    for ours, theirs in zip(student, teacher, strict=True):
        found = []
        for text in range(len(theirs)):
            for head in range(heads):
                rows = []
                for vectors in (theirs[text], ours[text]):
                    width = vectors.shape[-1] // heads
                    part = vectors[:, head * width : (head + 1) * width].astype(np.float64)
                    rows.append(softmax(part @ part.T / np.sqrt(width)))
                for p, q in zip(*rows, strict=True):
                    found.append(sum(a * np.log(a / b) for a, b in zip(p, q, strict=True)))
        total += np.mean(found)
    return total


def test_relations_by_numpy():
    random = np.random.default_rng(0)
    student = random.normal(size=(3, 2, 5, 12)).astype("float32")
    teacher = random.normal(size=(3, 2, 5, 18)).astype("float32")  # of another width
    found = relation_divergence(list(student), list(teacher), 6)
    np.testing.assert_allclose(found, divergence_by_numpy(student, teacher, 6), rtol=1e-5)
    assert abs(float(relation_divergence(list(teacher), list(teacher), 6))) < 1e-6


def test_the_unexplained_share_by_pencil():
    teacher = tf.constant([[[0.0, 5.0], [2.0, 5.0]], [[4.0, 5.0], [2.0, 5.0]]])
    # The mean is (2, 5), the spread 4 + 0 + 4 + 0.
    assert float(unexplained_share(teacher, teacher)) == 0
    assert float(unexplained_share(tf.constant([2.0, 5.0]) + 0 * teacher, teacher)) == 1
    assert float(unexplained_share(teacher + 1, teacher)) == 1  # 4 vectors, each 1 + 1 away
    scaled = unexplained_share(1000 * (teacher + 1), 1000 * teacher)
    assert float(scaled) == pytest.approx(1)


def test_the_teacher_gets_no_gradient_of_relations():
    student, teacher = tf.Variable(tf.ones([1, 2, 4])), tf.Variable([[[1.0] * 4, [2.0] * 4]])
    with tf.GradientTape() as tape:
        loss = relation_divergence([student], [teacher], 2)
    by_student, by_teacher = tape.gradient(loss, [student, teacher])
    assert by_teacher is None and np.abs(by_student).max() > 0
