"""EDGE against the published programs' recorded values, and against closed forms."""

import numpy as np
import pytest

from tf_adapt.analysis.mutual_information import VERSIONS, edge
from tf_adapt.errors import ConfigError, DataError

# Recorded with the published programs 4.2.0, 4.3.1, 4.4.1: (examples, dimensions, shift) → bits.
FLOOR = 0.001
RECORDED = {
    (1000, 2, 0): (FLOOR, FLOOR, FLOOR),
    (1000, 2, 0.25): (0.1741, 0.1862, 0.2222),
    (1000, 2, 0.5): (0.4437, 0.4601, 0.4862),
    (1000, 2, 1): (0.8173, 0.8335, 0.8511),
    (1000, 2, 2): (0.9953, 0.9955, 0.9977),
    (1000, 16, 0): (FLOOR, FLOOR, 0.0107),
    (1000, 16, 0.25): (0.0181, 0.0146, 0.3497),
    (1000, 16, 0.5): (0.4159, 0.3264, 0.8108),
    (1000, 16, 1): (0.8327, 0.7465, 0.9956),
    (1000, 64, 0): (FLOOR, FLOOR, 0.2103),
    (1000, 64, 0.5): (0.5210, 0.4719, 0.9930),
    (1000, 768, 0): (FLOOR, FLOOR, 0.9758),
    (1000, 768, 0.25): (0.1102, 0.0463, 0.9938),
    (1000, 768, 0.5): (0.5393, 0.3818, 0.9997),
    (1000, 768, 1): (0.9067, 0.8805, 0.9997),
    (1000, 768, 2): (0.9997, 0.9997, 0.9997),
    (872, 768, 0): (FLOOR, FLOOR, 0.9781),
    (872, 768, 0.25): (0.0660, 0.0211, 0.9940),
    (872, 768, 0.5): (0.5302, 0.3764, 0.9997),
    (872, 768, 1): (0.9262, 0.8928, 0.9997),
    (408, 768, 0.5): (0.3168, 0.2089, 0.9975),
    (1043, 768, 0.5): (0.5071, 0.3432, 0.9996),
    (3000, 768, 0.5): (0.2534, 0.0891, 0.9998),
    (3000, 768, 1): (0.7057, 0.4975, 0.9998),
}
RANDOM_LABELS = {
    10: (0.2697, 0.1729, 3.3155),
    5: (0.0377, 0.0147, 2.3187),
    3: (FLOOR, FLOOR, 1.5763),
}


def shifted(examples: int, dimensions: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    states = random.normal(size=(examples, dimensions))
    labels = random.randint(0, 2, examples)
    return states + shift * (2 * labels - 1)[:, None], labels


@pytest.mark.slow
def test_every_recorded_value():
    for case in RECORDED:
        states, labels = shifted(*case)
        found = [edge(states, labels, version) for version in VERSIONS]
        assert found == pytest.approx(RECORDED[case], abs=1e-4)


def test_recorded_values_of_random_labels():
    for classes in RANDOM_LABELS:
        random = np.random.RandomState(0)
        states, labels = random.normal(size=(872, 768)), random.randint(0, classes, 872)
        found = [edge(states, labels, version) for version in VERSIONS]
        assert found == pytest.approx(RANDOM_LABELS[classes], abs=1e-4)


def test_the_default_is_the_version_of_the_papers_time():
    states, labels = shifted(1000, 16, 0.5)
    assert edge(states, labels) == edge(states, labels, "4.3.1")


def test_a_signal_in_one_of_many_dimensions_is_missed():
    states, labels = shifted(1000, 768, 0)
    states[:, 0] += 16 * (2 * labels - 1)
    assert edge(states, labels) == FLOOR


def test_gaussian_pairs_of_known_correlation():
    for correlation in [0.9, 0.99]:
        random = np.random.default_rng(0)
        first, noise = random.normal(size=(2, 5000))
        second = correlation * first + np.sqrt(1 - correlation**2) * noise
        assert edge(first, second) == pytest.approx(-np.log2(1 - correlation**2) / 2, abs=0.25)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_discrete_variable_tells_its_entropy_about_itself(version):
    for shares in ([0.5, 0.5], [0.2, 0.8], [0.25] * 4, [0.7, 0.2, 0.1]):
        values = np.repeat(np.arange(len(shares)), (np.array(shares) * 1000).round().astype(int))
        entropy = -sum(share * np.log2(share) for share in shares)
        assert edge(values, values, version) == pytest.approx(entropy, abs=1e-9)


def test_independence_ends_at_the_floor():
    random = np.random.default_rng(3)
    assert edge(random.normal(size=(600, 40)), random.integers(0, 2, 600)) == FLOOR
    assert edge(random.normal(size=(600, 40)), np.zeros(600)) == pytest.approx(FLOOR)


def test_numpys_global_generator_is_neither_used_nor_moved():
    states, labels = shifted(100, 8, 1)
    np.random.seed(1)
    before = edge(states, labels)
    drawn = np.random.random()
    np.random.seed(1)
    assert np.random.random() == drawn
    np.random.seed(2)
    assert edge(states, labels) == before


def test_shapes_scales_and_precision_do_not_matter():
    states, labels = shifted(300, 8, 1)
    expected = edge(states, labels)
    assert edge(states, labels[:, None]) == expected
    assert edge(states.astype("float32"), labels.astype("float32")) == pytest.approx(expected, 0.02)
    # A coordinate that never varies adds nothing but a dimension.
    assert edge(np.hstack([states, np.ones((300, 1))]), labels) > 0.3


REFUSED = [
    (np.ones((19, 2)), np.ones(19), "at least 20 examples, got 19"),
    (np.ones((30, 2)), np.ones(29), "got 30 and 29"),
    (np.full((30, 2), np.nan), np.ones(30), "finite numbers"),
]


def test_what_cannot_be_estimated_is_refused():
    for first, second, message in REFUSED:
        with pytest.raises(DataError, match=message):
            edge(first, second)


def test_twenty_examples_are_enough():
    states, labels = shifted(20, 4, 3)
    assert FLOOR <= edge(states, labels) <= 1


def test_an_unknown_version_is_refused():
    with pytest.raises(ConfigError, match=r"4\.2\.0, 4\.3\.1, 4\.4\.1, got '4\.5'"):
        edge(np.ones((30, 2)), np.ones(30), "4.5")
