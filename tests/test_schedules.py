import pytest

from tf_adapt.schedules import linear_decay


def test_warm_up_then_the_line_to_zero():
    rate = linear_decay(peak=1.0, total_steps=10, warmup_steps=4)
    expected = [0.0, 0.25, 0.5, 0.75, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
    assert [rate(step) for step in range(11)] == pytest.approx(expected)


def test_without_warm_up():
    rate = linear_decay(peak=2e-5, total_steps=4, warmup_steps=0)
    expected = [2e-5, 1.5e-5, 1e-5, 0.5e-5, 0.0, 0.0]
    assert [rate(step) for step in range(6)] == pytest.approx(expected)


def test_nothing_but_warm_up():
    rate = linear_decay(peak=1.0, total_steps=4, warmup_steps=4)
    assert [rate(step) for step in range(4)] == pytest.approx([0.0, 0.25, 0.5, 0.75])
