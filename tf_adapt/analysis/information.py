"""Mutual information between a layer's mean states and the label, with the two checks beside it."""

import numpy as np

from tf_adapt.analysis.mutual_information import FEWEST_EXAMPLES, edge
from tf_adapt.errors import DataError

# How often each check is drawn: one draw of a random label may by chance lie off the floor.
DRAWS = 5


def layer_information(states: np.ndarray, targets: np.ndarray) -> dict[str, float | list[float]]:
    """EDGE between one layer's states and the labels, and between the states and random labels.

    Classes enter as their numbers in one column, which keeps them apart where they are not too
    rare; the scores of a regression enter as they are, as a continuous variable. There the checks
    do not end at the floor but at some hundredths of a bit: only what lies above them counts.

    Shapes: states `[examples, width]`, targets `[examples]`.

    Returns:
        `bits`, and `random_labels`: the bits of `DRAWS` shufflings of the labels.

    Raises:
        DataError: as `edge`.

    Source: Peters, Ruder, Smith 2019, figure 2.
    """
    shuffled = [np.random.default_rng(seed).permutation(targets) for seed in range(DRAWS)]
    return {
        "bits": edge(states, targets),
        "random_labels": [edge(states, labels) for labels in shuffled],
    }


def random_representations(width: int, targets: np.ndarray) -> list[float]:
    """EDGE between standard normal states of the given width and the labels, of `DRAWS` draws."""
    shape = (len(targets), width)
    return [edge(np.random.default_rng(seed).normal(size=shape), targets) for seed in range(DRAWS)]


def entropy(targets: np.ndarray) -> float:
    """Entropy of classes in bits, the most that anything can tell about them: `−Σ p log2 p`."""
    shares = np.bincount(targets) / len(targets)
    shares = shares[shares > 0]
    return float(-np.sum(shares * np.log2(shares)))


def check_targets(targets: np.ndarray, what: str) -> None:
    """Checks that there is something to have information about.

    Raises:
        DataError: fewer than 20 examples, or all have the same label.
    """
    if len(targets) < FEWEST_EXAMPLES:
        raise DataError(
            f"{what}: expected at least {FEWEST_EXAMPLES} examples for mutual information, got "
            f"{len(targets)}; add some"
        )
    if np.ptp(targets) == 0:
        raise DataError(
            f"{what}: expected at least two different labels, got one, about which nothing can "
            "tell anything; add examples of another"
        )
