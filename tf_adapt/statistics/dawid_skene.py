"""Dawid and Skene's model of noisy sources, fitted by expectation maximisation."""

from dataclasses import dataclass

import numpy as np

from tf_adapt.statistics.votes import (
    ABSTAINED,
    checked_votes,
    confusion_of,
    entropies,
    vote_counts,
)

ITERATIONS = 100
# Convergence: the gain of the lower bound of the log-likelihood, for each vote.
LEAST_GAIN = 1e-5
LEAST_PRIOR = 1e-10


@dataclass(frozen=True)
class DawidSkene:
    """The result of `dawid_skene`.

    Attributes:
        posteriors: `[items, labels]`, the probability of each label.
        prior: `[labels]`, the mean of the posteriors.
        confusion: `[sources, labels, labels]`: how often a source gives each label (last axis) to
            items of each true label. Rows of a label that nobody gives are 0.
    """

    posteriors: np.ndarray
    prior: np.ndarray
    confusion: np.ndarray


def dawid_skene(votes, num_labels: int | None = None, iterations: int = ITERATIONS) -> DawidSkene:
    """The probable label of each item, and the confusion matrix of each source, from votes alone.

    Sources are taken to be independent given the true label: `P(votes of item i | label k) =
    Π_w θ^w_{k, vote of w}`. From the shares of the votes as posteriors T, the M step (`π_k = mean_i
    T_ik` and the confusion matrices θ, see `tf_adapt.statistics.votes.confusion_of`) and the E step
    (`T_ik ∝ π_k Π_w θ^w`) take turns, until the lower bound of the log-likelihood gains less than
    1e-5 for each vote.

    Shapes: votes `[items, sources] int`: ids of labels, −1 where a source abstained.

    Args:
        num_labels: by default the highest id plus 1. A label that nobody gives has probability 0.
        iterations: the most iterations.

    Raises:
        DataError: the votes are no table of ids, of fewer than two sources, or an item has none.

    Source: Dawid, Skene 1979, "Maximum likelihood estimation of observer error-rates using the EM
    algorithm".

    Examples:
        >>> import tf_adapt as ta
        >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 0]]
        >>> found = ta.dawid_skene(votes)
        >>> found.posteriors.argmax(axis=1).tolist()
        [0, 1, 0, 1, 0]
    """
    votes, labels = checked_votes(votes, num_labels)
    given = np.unique(votes[votes != ABSTAINED])
    numbers = np.full(labels + 1, ABSTAINED)  # its last entry is that of -1
    numbers[given] = np.arange(len(given))
    fitted = _fitted(numbers[votes], len(given), iterations)
    posteriors, prior = np.zeros([len(votes), labels]), np.zeros(labels)
    confusion = np.zeros([votes.shape[1], labels, labels])
    posteriors[:, given], prior[given] = fitted.posteriors, fitted.prior
    confusion[:, given[:, None], given] = fitted.confusion
    return DawidSkene(posteriors, prior, confusion)


def _fitted(votes: np.ndarray, labels: int, iterations: int) -> DawidSkene:
    counts = vote_counts(votes, labels)
    posteriors = counts / counts.sum(axis=1, keepdims=True)
    prior, confusion = posteriors.mean(axis=0), confusion_of(votes, posteriors)
    bound = -np.inf
    for _ in range(iterations):
        joint = _log_joint(votes, prior, confusion)
        shifted = np.exp(joint - joint.max(axis=1, keepdims=True))
        posteriors = shifted / shifted.sum(axis=1, keepdims=True)
        prior, confusion = posteriors.mean(axis=0), confusion_of(votes, posteriors)
        before = bound
        joint = _log_joint(votes, prior, confusion)
        bound = ((posteriors * joint).sum() + entropies(posteriors).sum()) / counts.sum()
        if bound - before < LEAST_GAIN:
            break
    return DawidSkene(posteriors, prior, confusion)


def _log_joint(votes: np.ndarray, prior: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """`log π_k + Σ_w log θ^w_{k, vote}`: `[items, labels]`."""
    items, sources = np.nonzero(votes != ABSTAINED)
    joint = np.tile(np.log(np.maximum(prior, LEAST_PRIOR)), (len(votes), 1))
    np.add.at(joint, items, np.log(confusion[sources, :, votes[items, sources]]))
    return joint
