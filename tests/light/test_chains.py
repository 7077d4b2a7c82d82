"""CRFs in NumPy against the enumeration of all paths."""

import itertools

import numpy as np
import pytest

from tf_adapt.light.chains import best_path, marginals
from tf_adapt.light.layout import Chain
from tf_adapt.tasks.tag_constraints import tag_constraints

LABELS = ["O", "B-PER", "I-PER"]


def by_enumeration(logits, chain) -> tuple[tuple, np.ndarray]:
    """The best of the paths with the fewest forbidden transitions, and the marginals of all."""
    words, tags = logits.shape
    steps, allowed = np.array(chain.transitions), np.array(chain.allowed)
    paths = list(itertools.product(range(tags), repeat=words))
    scores = np.array([_score(path, logits, steps) for path in paths])
    forbidden = [
        sum(not allowed[pair] for pair in itertools.pairwise((tags, *path, tags + 1)))
        for path in paths
    ]
    best = min(range(len(paths)), key=lambda number: (forbidden[number], -scores[number]))
    weights = np.exp(scores - scores.max())
    expected = np.zeros([words, tags])
    for path, weight in zip(paths, weights / weights.sum(), strict=True):
        expected[range(words), path] += weight
    return paths[best], expected


def _score(path, logits, steps) -> float:
    return logits[range(len(path)), path].sum() + sum(
        steps[pair] for pair in itertools.pairwise(path)
    )


@pytest.mark.parametrize("scheme", ["IOB2", "IOB1"])
@pytest.mark.parametrize("words", [1, 2, 5])
def test_all_paths(words, scheme):
    for seed in range(20):
        random = np.random.default_rng(seed)
        transitions = random.normal(0, 2, [3, 3]).astype("float32").tolist()
        chain = Chain(transitions=transitions, allowed=tag_constraints(LABELS, scheme))
        logits = random.normal(0, 2, [words, 3]).astype("float32")
        path, expected = by_enumeration(logits, chain)
        assert tuple(best_path(logits, chain)) == path
        np.testing.assert_allclose(marginals(logits, chain), expected, atol=1e-6)


def test_where_no_path_is_allowed_the_fewest_forbidden_steps_win():
    nothing = [[False] * 5 for _ in range(5)]
    nothing[0][1] = True
    chain = Chain(transitions=[[0.0] * 3 for _ in range(3)], allowed=nothing)
    logits = np.array([[0, 0, 9], [0, 0, 9]], "float32")
    assert best_path(logits, chain).tolist() == [0, 1]


def test_no_words():
    chain = Chain(transitions=[[0.0] * 3 for _ in range(3)])
    assert best_path(np.zeros([0, 3]), chain).shape == (0,)
    assert marginals(np.zeros([0, 3], "float32"), chain).shape == (0, 3)
