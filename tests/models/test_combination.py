"""One answer of several models against NumPy, and for CRFs against all paths."""

import itertools

import numpy as np
import pytest

import tf_adapt as ta
from tf_adapt.models.combination import Combination
from tf_adapt.tasks.tag_schemes import can_follow

TAGS = ("O", "B-PER", "I-PER")
TAGGING = ta.Task("tagging", labels=TAGS)
WORDS = ta.Task("classification", labels=["a", "b", "c"])
WEIGHTS = (0.5, 0.2, 0.3)
# Two sentences, of four words and of one.
SPLITS = np.array([0, 4, 5])


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.fixture
def probabilities() -> np.ndarray:
    """`[models, examples, labels]`"""
    return softmax(np.random.default_rng(0).normal(0, 2, (3, 50, 3))).astype("float32")


def of_labels(probabilities: np.ndarray) -> list[dict]:
    return [{"label": one.argmax(-1), "probabilities": one} for one in probabilities]


def test_the_mean_of_probabilities(probabilities):
    found = Combination(WORDS, [None] * 3, weights=WEIGHTS)(of_labels(probabilities))
    mean = np.average(probabilities.astype("float64"), axis=0, weights=WEIGHTS)
    np.testing.assert_allclose(found["probabilities"], mean, atol=1e-6)
    assert found["label"].numpy().tolist() == mean.argmax(-1).tolist()
    assert (found["label"].numpy() != probabilities[0].argmax(-1)).any()


def test_the_mean_of_scores_and_of_label_sets(probabilities):
    scores = probabilities[..., 0]
    task = ta.Task("regression")
    found = Combination(task, [None] * 3)([{"score": one} for one in scores])
    np.testing.assert_allclose(found["score"], scores.mean(0), atol=1e-6)
    task = ta.Task("multilabel_classification", labels=["a", "b", "c"])
    answers = [{"probabilities": one} for one in probabilities]
    found = Combination(task, [None] * 3, weights=WEIGHTS)(answers)
    assert found.keys() == {"probabilities"}
    mean = np.average(probabilities.astype("float64"), axis=0, weights=WEIGHTS)
    np.testing.assert_allclose(found["probabilities"], mean, atol=1e-6)


def test_votes(probabilities):
    found = Combination(WORDS, [None] * 3, True, WEIGHTS)(of_labels(probabilities))
    votes = np.zeros((50, 3))
    for weight, one in zip(WEIGHTS, probabilities, strict=True):
        votes[np.arange(50), one.argmax(-1)] += weight
    np.testing.assert_allclose(found["probabilities"], votes, atol=1e-6)
    # 0.5 against 0.2 + 0.3 is a tie.
    mean = np.average(probabilities.astype("float64"), axis=0, weights=WEIGHTS)
    tied = np.isclose(votes, votes.max(-1, keepdims=True))
    assert (tied.sum(-1) > 1).any() and (tied.sum(-1) == 1).any()
    expected = np.where(tied, mean, -1).argmax(-1)
    assert found["label"].numpy().tolist() == expected.tolist()
    assert (expected != mean.argmax(-1)).any()


def test_a_tie_of_votes_goes_to_the_larger_probability():
    """Three thirds, one for each label: no vote decides, and b has the largest sum."""
    rows = np.array([[[0.4, 0.35, 0.25]], [[0.1, 0.6, 0.3]], [[0.2, 0.38, 0.42]]], "float32")
    found = Combination(WORDS, [None] * 3, votes=True)(of_labels(rows))
    assert found["label"].numpy().tolist() == [1]
    np.testing.assert_allclose(found["probabilities"], [[1 / 3] * 3], atol=1e-6)


@pytest.fixture
def taggers() -> tuple[list[dict], list]:
    """Two CRFs and a tagger without one: their answers (labels are those of no decoding), and
    their transitions."""
    random = np.random.default_rng(2)
    logits = random.normal(0, 2, (3, 5, 3)).astype("float32")
    answers = [{"label": one.argmax(-1), "probabilities": softmax(one)} for one in logits]
    for number in (0, 1):
        answers[number]["logits"] = logits[number]
    return answers, [*random.normal(0, 1, (2, 3, 3)).astype("float32"), None]


def all_paths(answers: list[dict], transitions: list, weights) -> tuple[list, np.ndarray]:
    """The best legal path and the marginals, from the score of every path."""
    best, marginals = [], np.zeros((5, 3))
    for start, end in itertools.pairwise(SPLITS):
        scores = {}
        for path in itertools.product(range(3), repeat=end - start):
            total = 0.0
            for answer, own, weight in zip(answers, transitions, weights, strict=True):
                given = answer.get("logits", np.log(answer["probabilities"]))
                total += weight * sum(given[start + t, tag] for t, tag in enumerate(path))
                if own is not None:
                    total += weight * sum(own[pair] for pair in itertools.pairwise(path))
            scores[path] = total
        legal = [path for path in scores if is_legal(path)]
        assert len(legal) < len(scores)
        best += max(legal, key=scores.get)
        whole = sum(np.exp(score) for score in scores.values())
        for path, score in scores.items():
            for t, tag in enumerate(path):
                marginals[start + t, tag] += np.exp(score) / whole
    return best, marginals


def is_legal(path) -> bool:
    tags = ["O", *(TAGS[tag] for tag in path)]
    return all(can_follow(a, b, "IOB2") for a, b in itertools.pairwise(tags))


@pytest.mark.parametrize("weights", [WEIGHTS, (0.0, 0.4, 0.6), (1.0, 0.0, 0.0)])
def test_crfs_are_one_crf_with_the_mean_scores(taggers, weights):
    answers, transitions = taggers
    combination = Combination(TAGGING, transitions)
    combination.assign(weights)
    found = combination(answers, SPLITS)
    tags, marginals = all_paths(answers, transitions, weights)
    assert found["label"].numpy().tolist() == tags
    np.testing.assert_allclose(found["probabilities"], marginals, atol=1e-5)
    np.testing.assert_allclose(found["probabilities"].numpy().sum(-1), 1, atol=1e-5)


def test_without_the_crfs_each_word_has_its_largest_probability(taggers):
    """The weights of the CRFs are 0: the third tagger answers alone, also against the scheme."""
    answers, transitions = taggers
    answers[0] = answers[1] = {"logits": np.full((5, 3), np.nan), "probabilities": None}
    found = Combination(TAGGING, transitions, weights=(0.0, 0.0, 1.0))(answers, SPLITS)
    assert found["label"].numpy().tolist() == answers[2]["label"].tolist()
    np.testing.assert_array_equal(found["probabilities"], answers[2]["probabilities"])
    assert not is_legal(answers[2]["label"][:4])


@pytest.mark.slow
def test_sentences_without_words(taggers):
    """A served row of padding only: nothing is decoded, and the others are as without it."""
    answers, transitions = taggers
    combination = Combination(TAGGING, transitions, weights=WEIGHTS)
    whole = combination(answers, SPLITS)
    found = combination(answers, np.array([0, 0, 4, 5, 5]))
    assert found["label"].numpy().tolist() == whole["label"].numpy().tolist()
    np.testing.assert_allclose(found["probabilities"], whole["probabilities"], atol=1e-6)
    nothing = [{name: values[:0] for name, values in one.items()} for one in answers]
    found = combination(nothing, np.array([0, 0]))
    assert found["label"].shape == (0,) and found["probabilities"].shape == (0, 3)
