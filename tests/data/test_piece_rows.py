"""Rows of pieces: every piece of a pass once, in rows of the three lengths, alone and as pairs."""

import numpy as np

from tf_adapt.data.packing.piece_rows import PieceRows, pieces_of_a_batch

START, END = 1, 2


def rows(count=4000, batch_size=2, length=35, seed=0):
    pieces = np.arange(10, 10 + count, dtype=np.int32)
    return PieceRows(pieces, batch_size, length, START, END, seed)


def test_rows_of_a_batch_by_hand():
    found = rows()
    shapes = [found.batch(step)[0].shape for step in range(6)]
    # 32 pieces of content, in 1, 2 and 4 parts; single texts have two special pieces, pairs three.
    assert shapes == [(2, 34), (4, 18), (8, 10), (2, 35), (4, 19), (8, 11)]
    for step in range(6):
        ids, segments = found.batch(step)
        assert ids.dtype == segments.dtype == np.int32
        for row, places in zip(ids.tolist(), segments.tolist(), strict=True):
            content = [number for number in row if number not in (START, END)]
            assert content == list(range(content[0], content[0] + len(content)))
            assert row[0] == START and row[-1] == END and len(row) == len(content) + 2 + (step > 2)
            ends = [place for place, number in enumerate(row) if number == END]
            # `[CLS] a [SEP]` is segment 0, `b [SEP]` segment 1.
            assert places == [int(place > ends[0]) for place in range(len(row))]
            assert step < 3 or len(content) // 4 < ends[0] <= 1 + len(content) - len(content) // 4


def test_a_pass_reads_each_block_once_and_the_next_another_order():
    found = rows()
    passes = []
    for number in range(2):
        steps = range(number * found.batches, (number + 1) * found.batches)
        firsts = [row[1] for step in steps for row in found.batch(step)[0]]
        content = [n for step in steps for n in found.batch(step)[0].ravel() if n > END]
        assert len(set(content)) == len(content) == found.batches * 2 * 32
        passes.append(firsts)
    assert passes[0] != passes[1]


def test_batches_are_a_function_of_seed_and_step():
    one, other, third = rows(), rows(), rows(seed=1)
    last = one.batch(70)
    for step in (70, 3, 70):
        for a, b in zip(one.batch(step), other.batch(step), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.batch(70)[0], last[0])
    assert (one.batch(0)[0] != third.batch(0)[0]).any()


def test_a_text_of_one_batch():
    found = rows(count=pieces_of_a_batch(2, 35))
    assert found.batches == 1 and found.batch(0)[0].shape == (2, 34)
