"""Mutual information of a layer's mean hidden states and the labels, with two checks."""

import numpy as np

from tf_adapt.analysis.mutual_information import FEWEST_EXAMPLES, edge
from tf_adapt.errors import DataError

# The number of draws of each check: a single one may lie above the floor by chance.
DRAWS = 5


def layer_information(states: np.ndarray, targets: np.ndarray) -> dict[str, float | list[float]]:
    """EDGE estimates for one layer's hidden states with the labels, and with shuffled labels.

    Class ids form one column, in which EDGE separates classes that are not too rare. Targets of a
    regression are continuous; for them the checks are not at the floor but at some hundredths of a
    bit, and only values above the checks count as information.

    Shapes: states `[examples, width]`, targets `[examples]`.

    Returns:
        `bits`, and `random_labels`: the bits for `DRAWS` permutations of the labels.

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
    """EDGE estimates in bits for standard normal states and the labels, `DRAWS` draws.

    Shapes: targets `[examples]`; the states are `[examples, width]`.
    """
    shape = (len(targets), width)
    return [edge(np.random.default_rng(seed).normal(size=shape), targets) for seed in range(DRAWS)]


def entropy(targets: np.ndarray) -> float:
    """Entropy of class ids in bits, the upper bound of mutual information: `−Σ p log2 p`."""
    shares = np.bincount(targets) / len(targets)
    shares = shares[shares > 0]
    return float(-np.sum(shares * np.log2(shares)))


def check_targets(targets: np.ndarray, what: str) -> None:
    """Checks that mutual information with the labels can be estimated.

    Args:
        what: names the split in messages.

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
