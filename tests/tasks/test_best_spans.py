"""The best answers, against an enumeration of all spans."""

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.errors import ConfigError
from tf_adapt.tasks.best_spans import LOWEST, NONE, best_answers, best_spans
from tf_adapt.tasks.span_search import SpanSearch, check_reader


def windows_of(lengths: list[int], rng: np.random.Generator) -> tuple:
    """Random logits of rows with that many words, of 2 characters each."""
    width = max(lengths)
    logits = rng.normal(size=(len(lengths), 1 + width, 2)).astype("float32")
    real = np.arange(width) < np.array(lengths)[:, None]
    logits[:, 1:][~real] = -1e9
    first = np.where(real, 3 * np.arange(width), -1).astype("int32")
    inputs = {
        "first_char": first,
        "end_char": np.where(real, first + 2, -1).astype("int32"),
        "starts": real & (rng.random(real.shape) < 0.7),
    }
    return logits, inputs


def enumerated(logits, inputs, row: int, longest: int) -> list[tuple[float, int, int]]:
    """Every allowed span of a row: score, start and end, best first."""
    words = int((inputs["first_char"][row] >= 0).sum())
    spans = [
        (
            float(logits[row, 1 + i, 0] + logits[row, 1 + j, 1]),
            int(inputs["first_char"][row, i]),
            int(inputs["end_char"][row, j]),
        )
        for i in range(words)
        for j in range(i, min(i + longest, words))
        if inputs["starts"][row, i]
    ]
    return sorted(spans, reverse=True)


@pytest.mark.parametrize("longest", [1, 3, 30])
@pytest.mark.parametrize("n_best", [1, 4, 50])
def test_all_spans_of_a_window(longest, n_best):
    rng = np.random.default_rng(longest)
    logits, inputs = windows_of([6, 1, 4, 0], rng)
    tensors = {name: tf.constant(array) for name, array in inputs.items()}
    found = best_spans(tf.constant(logits), tensors, SpanSearch(8, longest, n_best))
    assert found["score"].shape == (4, n_best)
    for row in range(4):
        expected = enumerated(logits, inputs, row, longest)
        scores = [one for one, _, _ in expected]
        count = min(n_best, len(expected))
        np.testing.assert_allclose(found["score"][row, :count], scores[:count], rtol=1e-5)
        assert (found["score"][row, count:].numpy() == np.float32(LOWEST)).all()
        spans = zip(found["start"][row].numpy(), found["end"][row].numpy(), strict=True)
        assert list(spans)[:count] == [one[1:] for one in expected[:count]]
        if expected:
            total = np.log(np.sum(np.exp(scores)))
            np.testing.assert_allclose(found["total"][row], total, rtol=1e-5)
    np.testing.assert_allclose(found["none"], logits[:, 0].sum(-1), rtol=1e-6)


@pytest.mark.parametrize("threshold", [None, -1.0, 0.0, 3.0])
def test_answers_over_the_windows_of_each_question(threshold):
    rng = np.random.default_rng(5)
    logits, inputs = windows_of([6, 3, 5, 2, 4], rng)
    search = SpanSearch(8, 3, 4, threshold)
    tensors = {name: tf.constant(array) for name, array in inputs.items()}
    rows = best_spans(tf.constant(logits), tensors, search)
    found = {name: one.numpy() for name, one in best_answers(rows, [0, 3, 4, 5], search).items()}
    for question, part in enumerate([range(3), range(3, 4), range(4, 5)]):
        spans = sorted(
            (s for row in part for s in enumerated(logits, inputs, row, 3)), reverse=True
        )
        none = min(float(logits[row, 0].sum()) for row in part)
        weights = np.exp([score for score, _, _ in spans])
        total = weights.sum() + (0 if threshold is None else np.exp(none))
        count = min(4, len(spans))
        starts = found["start"][question], found["end"][question]
        assert list(zip(*starts, strict=True))[:count] == [one[1:] for one in spans[:count]]
        assert (found["start"][question, count:] == NONE).all()
        np.testing.assert_allclose(
            found["probability"][question, :count], weights[:count] / total, rtol=1e-4
        )
        np.testing.assert_allclose(found["margin"][question], none - spans[0][0], rtol=1e-4)
        says_none = threshold is not None and none - spans[0][0] > threshold
        assert found["is_none"][question] == says_none
        expected = 0.0 if threshold is None else np.exp(none) / total
        np.testing.assert_allclose(found["none"][question], expected, rtol=1e-4)


def test_where_no_span_is_allowed():
    logits, inputs = windows_of([2], np.random.default_rng(5))
    tensors = {name: tf.constant(array) for name, array in inputs.items()}
    tensors["starts"] = tf.zeros_like(tensors["starts"])
    search = SpanSearch(8, 3, 4, None)
    found = best_answers(best_spans(tf.constant(logits), tensors, search), [0, 1], search)
    assert found["start"].numpy().tolist() == [[NONE] * 4]
    assert found["probability"].numpy().tolist() == [[0] * 4]


@pytest.mark.parametrize("name", ["stride", "longest_answer", "n_best"])
def test_numbers_below_one(name):
    with pytest.raises(ConfigError, match=f"{name}: expected at least 1, got 0"):
        SpanSearch(**{name: 0})


@pytest.mark.parametrize("family", ["causal", "sentence", "words"])
def test_encoders_that_do_not_read_both_texts(family):
    with pytest.raises(ConfigError, match=f"for span_extraction .*got one of the family {family}"):
        check_reader(family)
