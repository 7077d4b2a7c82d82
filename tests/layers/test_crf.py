"""The CRF's numbers against an enumeration of all paths, in NumPy's float64."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.data.labels import scheme_tags
from tf_adapt.layers.crf import CRF
from tf_adapt.tasks.tag_constraints import tag_constraints

SIZES = [(1, 1, 1), (1, 3, 5), (2, 1, 4), (3, 4, 5), (4, 5, 3), (2, 2, 2)]  # batch, time, tags


def made(num_tags, seed=0, scale=1.0, **config):
    crf = CRF(num_tags, **config)
    crf.build()
    random = np.random.default_rng(seed)
    for weight in crf.weights:
        weight.assign(random.normal(size=weight.shape, scale=scale))
    return crf


def example(batch, time, num_tags, seed=1, scale=2.0):
    """Logits, tags and a ragged mask, with junk at padding; one row is full, one may be empty."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(batch, time, num_tags), scale=scale).astype("float32")
    tags = random.integers(0, num_tags, size=(batch, time)).astype("int32")
    lengths = random.integers(1, time + 1, size=batch)
    lengths[0], lengths[2:3] = time, 0
    mask = np.arange(time) < lengths[:, None]
    logits[~mask] = np.resize([np.nan, np.inf, -np.inf, 1e30], (~mask).sum())[:, None]
    tags[~mask] = np.resize([-1, -100, 99], (~mask).sum())
    return logits, tags, mask


def values_of(crf):
    ends = np.zeros((2, crf.num_tags))
    if crf.boundary_scores:
        ends = np.stack([crf.start_scores.numpy(), crf.end_scores.numpy()]).astype("float64")
    return crf.transitions.numpy().astype("float64"), ends[0], ends[1]


def paths_and_scores(crf, logits):
    """Every path of one sentence without padding, `[paths, words]`, and the score of each."""
    transitions, start, end = values_of(crf)
    words = len(logits)
    paths = np.array(list(itertools.product(range(crf.num_tags), repeat=words)))
    scores = start[paths[:, 0]] + end[paths[:, -1]]
    scores += logits.astype("float64")[np.arange(words), paths].sum(1)
    return paths, scores + transitions[paths[:, :-1], paths[:, 1:]].sum(1)


def counts_of(path, num_tags):
    """Derivatives of a path's score by logits, transitions, start and end."""
    one = np.eye(num_tags)[path]
    return [one, one[:-1].T @ one[1:], one[0], one[-1]]


def expectation(probabilities, paths, num_tags):
    each = [counts_of(path, num_tags) for path in paths]
    return [np.tensordot(probabilities, np.array(part), 1) for part in zip(*each, strict=True)]


def by_enumeration(crf, logits, tags, mask):
    """Log-likelihoods, their sum's gradients, marginals, best paths, their scores."""
    batch, _, num_tags = logits.shape
    log_likelihoods, best_scores = np.zeros(batch), np.zeros(batch)
    marginals, best = np.zeros(logits.shape), np.full(tags.shape, -1)
    gradients = [np.zeros(logits.shape), np.zeros((num_tags,) * 2), *np.zeros((2, num_tags))]
    for row, length in enumerate(mask.sum(1)):
        if length == 0:
            continue
        paths, scores = paths_and_scores(crf, logits[row, :length])
        gold = (paths == tags[row, :length]).all(1).argmax()
        partition = np.logaddexp.reduce(scores)
        log_likelihoods[row] = scores[gold] - partition
        expected = expectation(np.exp(scores - partition), paths, num_tags)
        marginals[row, :length] = expected[0]
        seen = counts_of(paths[gold], num_tags)
        difference = [a - b for a, b in zip(seen, expected, strict=True)]
        gradients[0][row, :length] = difference[0]
        for total, part in zip(gradients[1:], difference[1:], strict=True):
            total += part
        best[row, :length], best_scores[row] = paths[scores.argmax()], scores.max()
    return log_likelihoods, gradients, marginals, best, best_scores


def log_likelihood_and_gradients(crf, logits, tags, mask):
    with tf.GradientTape() as tape:
        tape.watch(logits := tf.convert_to_tensor(logits))
        log_likelihood = crf.log_likelihood(logits, tags, mask)
    weights = [weight.value for weight in crf.weights]
    return log_likelihood, tape.gradient(log_likelihood, [logits, *weights])


# With a scale of 300, transitions differ by more than e^300 in probability.
@pytest.mark.parametrize(
    ("scale", "boundary_scores"), [(1.0, True), (1.0, False), (30.0, True), (300.0, True)]
)
@pytest.mark.parametrize("size", SIZES)
def test_likelihood_gradients_and_marginals(size, boundary_scores, scale):
    crf = made(size[-1], scale=scale, boundary_scores=boundary_scores)
    assert len(crf.weights) == (3 if boundary_scores else 1)
    if scale == 300 and size[-1] > 2:
        assert np.ptp(crf.transitions) > 600
    logits, tags, mask = example(*size, scale=2 * scale)
    expected, wanted_gradients, marginals, _, _ = by_enumeration(crf, logits, tags, mask)
    got, gradients = log_likelihood_and_gradients(crf, logits, tags, mask)
    assert got.dtype == "float32"
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
    wanted_gradients = wanted_gradients[: 1 + len(crf.weights)]
    for gradient, wanted in zip(gradients, wanted_gradients, strict=True):
        np.testing.assert_allclose(gradient, wanted, atol=2e-6)
    np.testing.assert_allclose(crf.marginals(logits, mask), marginals, atol=1e-6)
    assert not np.asarray(gradients[0])[~mask].any()


def test_best_paths_and_their_scores():
    for size in SIZES:
        crf = made(size[-1])
        logits, tags, mask = example(*size)
        *_, best, best_scores = by_enumeration(crf, logits, tags, mask)
        tags, score = crf.decode(logits, mask)
        assert (tags.dtype, score.dtype) == ("int32", "float32")
        np.testing.assert_array_equal(tags, best)
        np.testing.assert_allclose(score, best_scores, rtol=1e-6, atol=1e-6)


def fewest_illegal_then_best(crf, logits):
    paths, scores = paths_and_scores(crf, logits)
    start, end = crf.num_tags, crf.num_tags + 1
    whole = np.pad(paths, ((0, 0), (1, 1)), constant_values=((0, 0), (start, end)))
    illegal = (~np.array(crf.constraints))[whole[:, :-1], whole[:, 1:]].sum(1)
    return paths[np.lexsort((-scores, illegal))[0]], illegal.min()


@pytest.mark.parametrize(
    ("scheme", "scale"),
    [("IOB1", 1.0), ("IOB2", 1.0), ("IOB2", 1e4), ("IOB2", 1e9), ("BIOES", 1.0)],
)
def test_constraints_act_on_the_best_path_only(scheme, scale):
    labels = scheme_tags(["X", "Y"] if scheme != "BIOES" else ["X"], scheme)
    crf = made(len(labels), constraints=tag_constraints(labels, scheme))
    free = made(len(labels))
    changed = 0
    for seed in range(5):
        logits, tags, mask = example(4, 5, len(labels), seed, scale)
        got = np.asarray(crf.decode(logits, mask)[0])
        changed += (got != np.asarray(free.decode(logits, mask)[0])).any()
        for row, length in enumerate(mask.sum(1)):
            assert (got[row, length:] == -1).all()
            if length:
                expected, illegal = fewest_illegal_then_best(crf, logits[row, :length])
                assert illegal == 0
                np.testing.assert_array_equal(got[row, :length], expected)
        for method in ("log_likelihood", "marginals"):
            arguments = (logits, tags, mask) if method == "log_likelihood" else (logits, mask)
            bound = np.asarray(getattr(crf, method)(*arguments))
            np.testing.assert_array_equal(bound, getattr(free, method)(*arguments))
    assert changed


@pytest.mark.parametrize("kept", ["no start", "no end", "only 0 to 1", "nothing"])
def test_without_a_legal_path_one_with_the_fewest_illegal_steps_is_taken(kept):
    allowed = np.ones((5, 5), bool)
    if kept == "no start":
        allowed[3] = False
    if kept == "no end":
        allowed[:, 4] = False
    if kept in ("only 0 to 1", "nothing"):
        allowed[:] = False
    if kept == "only 0 to 1":
        allowed[0, 1] = True
    crf = made(3, constraints=allowed.tolist())
    logits = np.random.default_rng(3).normal(size=(20, 4, 3), scale=3).astype("float32")
    tags, _ = crf.decode(logits)
    for row, got in zip(logits, np.asarray(tags), strict=True):
        expected, illegal = fewest_illegal_then_best(crf, row)
        assert illegal > 0
        np.testing.assert_array_equal(got, expected)


def test_a_legal_path_survives_tags_that_logits_rule_out():
    crf = made(3, constraints=tag_constraints(["O", "B-X", "I-X"], "IOB2"))
    for ruled_out in (-1e9, -1e30, -np.inf):
        logits = np.full((1, 4, 3), ruled_out, "float32")
        logits[0, :, 2] = 5.0
        logits[0, 0] = [0.0, 1.0, 9.0]
        tags, score = crf.decode(logits)
        np.testing.assert_array_equal(tags, [[1, 2, 2, 2]])
        transitions, start, end = values_of(crf)
        expected = start[1] + 1 + transitions[1, 2] + 2 * transitions[2, 2] + 15 + end[2]
        assert float(score[0]) == pytest.approx(expected, rel=1e-6)


def test_the_score_of_the_best_path_has_the_gradient_of_a_fixed_path():
    crf = made(4)
    logits, _, mask = example(3, 4, 4)
    with tf.GradientTape() as tape:
        tape.watch(words := tf.convert_to_tensor(logits))
        tags, score = crf.decode(words, mask)
        total = tf.reduce_sum(score)
    gradients = tape.gradient(total, [words, *(weight.value for weight in crf.weights)])
    expected = [np.zeros(weight.shape) for weight in gradients]
    for row, length in enumerate(mask.sum(1)):
        if length:
            parts = counts_of(np.asarray(tags)[row, :length], 4)
            expected[0][row, :length] = parts[0]
            for sum_, part in zip(expected[1:], parts[1:], strict=True):
                sum_ += part
    for got, wanted in zip(gradients, expected, strict=True):
        np.testing.assert_array_equal(tf.convert_to_tensor(got), wanted)


def test_of_equal_paths_one_is_taken_as_a_whole():
    crf = made(2, scale=0.0)
    crf.transitions.assign([[0.0, -9.0], [-9.0, 0.0]])
    tags, score = crf.decode(np.zeros((1, 7, 2), "float32"))
    np.testing.assert_array_equal(tags, np.zeros((1, 7)))
    assert float(score[0]) == 0


def float64_log_partition(crf, logits):
    transitions, start, end = values_of(crf)
    alpha = start + logits[0].astype("float64")
    for word in logits[1:].astype("float64"):
        alpha = np.logaddexp.reduce(alpha[:, None] + transitions, axis=0) + word
    return np.logaddexp.reduce(alpha + end)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_sentence_of_a_thousand_words(scale):
    crf = made(9)
    logits = np.random.default_rng(2).normal(size=(1, 1000, 9), scale=scale).astype("float32")
    tags, score = crf.decode(logits)
    got = crf.log_likelihood(logits, tags)
    assert float(got[0]) == pytest.approx(
        float(path_score(crf, logits[0], tags[0]) - float64_log_partition(crf, logits[0])),
        rel=1e-6,
        abs=1e-6,
    )
    assert float(score[0]) == pytest.approx(path_score(crf, logits[0], tags[0]), rel=1e-6)
    np.testing.assert_allclose(np.sum(crf.marginals(logits), -1), 1, atol=1e-6)


def path_score(crf, logits, tags):
    transitions, start, end = values_of(crf)
    tags = np.asarray(tags)
    words = logits.astype("float64")[np.arange(len(tags)), tags].sum()
    return start[tags[0]] + words + transitions[tags[:-1], tags[1:]].sum() + end[tags[-1]]


def test_weights_start_as_said():
    keras.utils.set_random_seed(3)
    crf = CRF(300)
    crf.build()
    assert np.std(crf.transitions) == pytest.approx(np.sqrt(2 / 600), rel=0.03)
    for weight in (crf.start_scores, crf.end_scores):
        assert np.std(weight) == pytest.approx(1, rel=0.15)
