"""Which pieces are hidden: how many, how, never the special ones, and the same for the same row."""

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.models.signals.piece_masking import mask_pieces

SPECIAL = {
    "vocab_size": 1000,
    "padding_id": 0,
    "start_of_sequence_id": 2,
    "end_of_segment_id": 3,
    "mask_id": 4,
}


def rows(count, length, seed=0):
    """`[CLS] … [SEP]` and padding; lengths differ."""
    random = np.random.default_rng(seed)
    ids = random.integers(5, 1000, size=(count, length))
    ids[:, 0] = SPECIAL["start_of_sequence_id"]
    lengths = random.integers(length // 2, length + 1, size=count)
    ids[np.arange(count), lengths - 1] = SPECIAL["end_of_segment_id"]
    mask = np.arange(length) < lengths[:, None]
    return np.where(mask, ids, 0).astype("int32"), mask.astype("int32")


def hidden(ids, mask, share=0.15, seed=(1, 2)):
    read, chosen = mask_pieces(ids, mask, SPECIAL, share, seed)
    return read.numpy(), chosen.numpy()


def within(count, total, share):
    """Whether a count lies within 4.5 standard deviations of a binomial's mean (1 in 150,000)."""
    return abs(count - total * share) < 4.5 * np.sqrt(total * share * (1 - share))


@pytest.mark.parametrize(("seed", "share"), [((1, 2), 0.15), ((123456789, 4000), 0.5)])
def test_how_many_are_hidden_and_how(seed, share):
    ids, mask = rows(400, 200)
    read, chosen = hidden(ids, mask, share, seed)
    total, count = (ids > 4).sum(), chosen.sum()
    assert total > 50_000
    assert within(count, total, share)
    became_mask = (read == 4) & chosen
    assert within(became_mask.sum(), count, 0.8)
    # A random piece is by chance the same one as before, once in 1000.
    kept = (read == ids) & chosen
    assert within(kept.sum(), count, 0.1 + 0.1 / 1000)
    random = read[chosen & ~became_mask & ~kept]
    assert within((random < 500).sum(), len(random), 0.5)
    # Places and neighbours are independent.
    both = chosen[:, :-1] & chosen[:, 1:]
    pairs = ((ids[:, :-1] > 4) & (ids[:, 1:] > 4)).sum()
    assert within(both.sum(), pairs, share**2)
    by_place = chosen[:, 1:90].sum(axis=0)
    assert all(within(number, 400, share) for number in by_place)


def test_special_tokens_and_padding_are_never_hidden():
    ids, mask = rows(300, 40)
    ids[:, 5] = SPECIAL["mask_id"]
    read, chosen = hidden(ids, mask, share=1.0)
    np.testing.assert_array_equal(chosen, (ids > 4) & (mask == 1))
    np.testing.assert_array_equal(read[~chosen], ids[~chosen])
    assert (read[chosen] != ids[chosen]).mean() > 0.85


def test_a_row_decides_for_itself():
    ids, mask = rows(6, 20)
    read, chosen = hidden(ids, mask, 0.4)
    wider_read, wider = hidden(np.pad(ids, ((0, 0), (0, 9))), np.pad(mask, ((0, 0), (0, 9))), 0.4)
    np.testing.assert_array_equal(wider[:, :20], chosen)
    np.testing.assert_array_equal(wider_read[:, :20], read)
    assert not wider[:, 20:].any()
    part_read, part = hidden(ids[3:5], mask[3:5], 0.4)
    np.testing.assert_array_equal(part, chosen[3:5])
    np.testing.assert_array_equal(part_read, read[3:5])


def test_another_seed_or_row_hides_others():
    ids, mask = rows(300, 100)
    seeds = [(1, 0), (1, 1), (2, 0), (0, 1)]
    drawn = [hidden(ids, mask, seed=seed)[1] for seed in seeds]
    total = (ids > 4).sum()
    for number, one in enumerate(drawn):
        for other in drawn[number + 1 :]:
            assert within((one & other).sum(), total, 0.15**2)
    # The order of the pieces counts too.
    turned = ids.copy()
    turned[:, [1, 2]] = turned[:, [2, 1]]
    different = hidden(turned, mask)[1][:, 3:] & drawn[0][:, 3:]
    again = hidden(ids, mask)[1][:, 3:] & hidden(ids, mask)[1][:, 3:]
    assert different.sum() < again.sum() / 2


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_rows_of_next_to_nothing(length):
    ids = np.array([[2, 9, 3, 0]], "int32")[:, :length]
    for mask in (np.ones_like(ids), np.zeros_like(ids)):
        read, chosen = hidden(ids, mask, share=1.0)
        expected = (ids == 9) & (mask == 1)
        np.testing.assert_array_equal(chosen, expected)
        assert read.shape == ids.shape


def test_a_graph_draws_what_eager_draws():
    ids, mask = rows(5, 12)
    graph = tf.function(lambda *arrays: mask_pieces(*arrays, SPECIAL, 0.5, (3, 4)))(ids, mask)
    for one, other in zip(graph, hidden(ids, mask, 0.5, (3, 4)), strict=True):
        np.testing.assert_array_equal(one, other)
