"""Votes of several sources on labels: their aggregate, and how far they agree.

Votes are `[items, sources] int`: the id of a label, or −1 where a source abstained.
"""

import numpy as np

from tf_adapt.errors import DataError

ABSTAINED = -1
FEWEST_SOURCES = 2


def checked_votes(votes, num_labels: int | None = None) -> tuple[np.ndarray, int]:
    """The votes as an array, and the number of labels: by default the highest id plus 1.

    Raises:
        DataError: they are no table of ids of at least two sources, or an item has no vote.
    """
    votes = np.asarray(votes)
    if votes.ndim != 2 or not np.issubdtype(votes.dtype, np.integer) or not votes.size:
        raise DataError(
            "votes: expected whole numbers of the shape [items, sources], got "
            f"{votes.dtype} of the shape {list(votes.shape)}; give each label its id, and -1 where "
            "a source abstained"
        )
    if votes.shape[1] < FEWEST_SOURCES:
        raise DataError(f"votes: expected at least {FEWEST_SOURCES} sources, got {votes.shape[1]}")
    labels = int(votes.max()) + 1 if num_labels is None else num_labels
    if votes.min() < ABSTAINED or votes.max() >= labels:
        raise DataError(
            f"votes: expected ids from 0 to {labels - 1}, or -1, got {votes.min()} to {votes.max()}"
        )
    without = np.flatnonzero((votes == ABSTAINED).all(axis=1))
    if len(without):
        raise DataError(
            f"votes: expected at least one vote for each item, got none for item {without[0]} "
            f"({len(without)} such items); leave them out"
        )
    return votes, labels


def vote_counts(votes: np.ndarray, num_labels: int) -> np.ndarray:
    """The number of votes for each label: `[items, labels] int`."""
    items, sources = np.nonzero(votes != ABSTAINED)
    counts = np.zeros([len(votes), num_labels], int)
    np.add.at(counts, (items, votes[items, sources]), 1)
    return counts


def majority(votes, num_labels: int | None = None) -> np.ndarray:
    """The label that most sources give each item, as probabilities; a tie is shared equally.

    Shapes: votes `[items, sources] int`, −1 where a source abstained → `[items, labels]`.

    Raises:
        DataError: as `checked_votes`.
    """
    counts = vote_counts(*checked_votes(votes, num_labels))
    most = counts == counts.max(axis=1, keepdims=True)
    return most / most.sum(axis=1, keepdims=True)


def agreement(votes: np.ndarray, num_labels: int) -> float | None:
    """The share of the pairs of votes for one item that agree; None without pairs."""
    counts = vote_counts(votes, num_labels)
    given = counts.sum(axis=1)
    pairs = (given * (given - 1)).sum()
    return float((counts * (counts - 1)).sum() / pairs) if pairs else None


def confusion_of(votes: np.ndarray, posteriors: np.ndarray) -> np.ndarray:
    """The confusion matrix of each source: `[sources, labels, labels]`, true labels first.

    `θ_kl = Σ_i T_ik n_il / Σ_l' Σ_i T_ik n_il'` with the posteriors T and a source's votes n. The
    numerator of a label that the source gives at all is at least 1e-10; rows of a source without
    votes are 0.
    """
    items, sources = np.nonzero(votes != ABSTAINED)
    labels = posteriors.shape[1]
    given = votes[items, sources]
    sums = np.zeros([votes.shape[1], labels, labels])  # [sources, given labels, true labels]
    np.add.at(sums, (sources, given), posteriors[items])
    used = np.zeros([votes.shape[1], labels], bool)
    used[sources, given] = True
    sums = np.where(used[..., None], np.maximum(sums, 1e-10), 0.0)
    totals = sums.sum(axis=1, keepdims=True)
    shares = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    return shares.transpose(0, 2, 1)


def entropies(posteriors: np.ndarray) -> np.ndarray:
    """The entropy of each item's probabilities in nats: `[items]`."""
    logs = np.log(np.where(posteriors > 0, posteriors, 1.0))
    return -(posteriors * logs).sum(axis=1)


def estimated_accuracies(votes: np.ndarray, posteriors: np.ndarray) -> np.ndarray:
    """The expected share of correct votes of each source, `Σ_k π_k θ_kk`: `[sources]`.

    θ is its confusion matrix, π_k the mean posterior of a label.
    """
    diagonals = np.diagonal(confusion_of(votes, posteriors), axis1=1, axis2=2)
    return (diagonals * posteriors.mean(axis=0)).sum(axis=1)
