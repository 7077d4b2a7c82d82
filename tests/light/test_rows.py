"""How rows are cut into batches, against all ways to cut them."""

import itertools

import numpy as np
import pytest

from tf_adapt.light.rows import CALL, MOST_ROWS, MOST_TOKENS, batches


def cost(cut, lengths) -> int:
    return sum(CALL + len(batch) * max(lengths[row] for row in batch) for batch in cut)


def all_cuts(order):
    """Every way to cut rows, in their order, into batches."""
    for cuts in itertools.product([False, True], repeat=len(order) - 1):
        places = [0, *(place + 1 for place, is_cut in enumerate(cuts) if is_cut), len(order)]
        yield [order[start:end] for start, end in itertools.pairwise(places)]


@pytest.mark.parametrize("seed", range(5))
def test_no_other_cut_costs_less(seed):
    lengths = np.random.default_rng(seed).integers(1, 60, 9).tolist()
    found = batches(lengths)
    assert sorted(row for batch in found for row in batch) == list(range(9))
    order = sorted(range(9), key=lengths.__getitem__)
    assert cost(found, lengths) == min(cost(cut, lengths) for cut in all_cuts(order))


def test_bounds_and_what_is_at_them():
    assert batches([]) == []
    assert batches([10**6]) == [[0]]
    assert list(map(len, batches([0] * (2 * MOST_ROWS)))) == [MOST_ROWS, MOST_ROWS]
    assert sorted(map(len, batches([MOST_TOKENS // 2] * 3))) == [1, 2]
