"""Schedules against full lists worked out by hand, and as Keras schedules."""

import math

import keras
import numpy as np
import pytest

from tf_adapt.adaptation.schedules import Constant, CosineDecay, LinearDecay, SlantedTriangular
from tf_adapt.errors import ConfigError

ALL = [
    Constant(0.5, warmup_steps=3),
    LinearDecay(0.5, 12, warmup_steps=3),
    CosineDecay(0.5, 12, warmup_steps=3),
    SlantedTriangular(0.5, 12, cut_fraction=0.25),
    SlantedTriangular(0.5, 15, denominator="ulmfit"),
]


def rates(schedule, steps):
    return [schedule.rate(step) for step in range(steps)]


def test_linear_warm_up_then_the_line_to_zero():
    expected = [0.0, 0.25, 0.5, 0.75, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
    schedule = LinearDecay(peak=1.0, total_steps=10, warmup_steps=4)
    assert rates(schedule, 11) == pytest.approx(expected)


def test_linear_without_warm_up():
    expected = [2e-5, 1.5e-5, 1e-5, 0.5e-5, 0.0, 0.0]
    assert rates(LinearDecay(peak=2e-5, total_steps=4), 6) == pytest.approx(expected)


def test_nothing_but_warm_up():
    expected = [0.0, 0.25, 0.5, 0.75]
    assert rates(LinearDecay(1.0, total_steps=4, warmup_steps=4), 4) == pytest.approx(expected)
    assert rates(CosineDecay(1.0, total_steps=4, warmup_steps=4), 4) == pytest.approx(expected)


def test_constant():
    assert rates(Constant(3.0), 3) == [3.0, 3.0, 3.0]
    assert rates(Constant(3.0, warmup_steps=3), 5) == pytest.approx([0.0, 1.0, 2.0, 3.0, 3.0])


def test_cosine():
    half = math.sqrt(0.5)
    expected = [0.0, 0.5, 1.0, (1 + half) / 2, 0.5, (1 - half) / 2, 0.0, 0.0]
    schedule = CosineDecay(1.0, total_steps=6, warmup_steps=2)
    assert rates(schedule, 8) == pytest.approx(expected)


@pytest.mark.parametrize("denominator", ["ulmfit", "allennlp"])
def test_slanted_triangular_at_the_published_points(denominator):
    schedule = SlantedTriangular(1.0, 100, denominator=denominator)
    found = [schedule.rate(step) for step in (0, 5, 10, 55, 100)]
    assert found == pytest.approx([0.03125, 0.515625, 1.0, 0.515625, 0.03125])


def test_slanted_triangular_in_full():
    # cut 2 of 8 steps; ratio 5 makes the lowest rate 0.2: heights 0, 1/2, 1, 5/6 … 1/6, 0.
    heights = [0, 1 / 2, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6, 0]
    schedule = SlantedTriangular(1.0, 8, cut_fraction=0.25, ratio=5)
    assert rates(schedule, 9) == pytest.approx([(1 + 4 * height) / 5 for height in heights])


@pytest.mark.parametrize("denominator", ["ulmfit", "allennlp"])
def test_slanted_triangular_is_never_below_its_lowest_rate(denominator):
    for total in (1, 2, 5, 9, 15, 39, 95):
        found = rates(SlantedTriangular(1.0, total, denominator=denominator), total + 1)
        assert min(found) >= 1 / 32 and max(found) <= 1
        assert found[0] == pytest.approx(1 / 32)


def test_the_two_denominators_differ_where_the_cut_was_rounded():
    # T = 15: cut 1; as printed the fall takes 9 steps, in AllenNLP's form 14.
    printed = SlantedTriangular(1.0, 15, ratio=32, denominator="ulmfit")
    ending = SlantedTriangular(1.0, 15, ratio=32, denominator="allennlp")
    assert printed.rate(10) == pytest.approx(1 / 32)
    assert ending.rate(8) == pytest.approx((1 + 31 / 2) / 32)
    assert ending.rate(15) == pytest.approx(1 / 32)


@pytest.mark.parametrize("schedule", ALL, ids=lambda schedule: type(schedule).__name__)
def test_a_keras_schedule_gives_the_same_rates(schedule):
    keras_rates = [float(schedule(np.int64(step))) for step in range(16)]
    np.testing.assert_allclose(keras_rates, rates(schedule, 16), rtol=1e-6, atol=1e-8)
    optimizer = keras.optimizers.SGD(schedule)
    copy = keras.optimizers.SGD.from_config(optimizer.get_config())._learning_rate
    assert type(copy) is type(schedule) and copy.get_config() == schedule.get_config()
    weight = keras.Variable([0.0])
    for step in range(4):
        before = float(weight.numpy()[0])
        optimizer.apply([np.ones(1, "float32")], [weight])
        assert before - float(weight.numpy()[0]) == pytest.approx(schedule.rate(step), abs=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(0.0), "peak: expected a rate above 0, got 0.0"),
        (lambda: LinearDecay(1.0, 0), "total_steps: expected .* at least 1, got 0"),
        (lambda: CosineDecay(1.0, 5, -1), "warmup_steps: .* at least 0, got -1"),
        (lambda: SlantedTriangular(1.0, 5, 1.0), "cut_fraction: .* got 1.0"),
        (lambda: SlantedTriangular(1.0, 5, ratio=0.5), "ratio: .* got 0.5"),
        (lambda: SlantedTriangular(1.0, 5, denominator="T"), "denominator: .*allennlp, got 'T'"),
    ],
)
def test_arguments_out_of_range_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
