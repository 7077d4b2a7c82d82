"""Records crowd-kit's Dawid–Skene on simulated annotators, after some numbers of iterations.

Its own end is left out: it adds the log prior once for each vote, not for each item, so that what
it compares is no lower bound, and falls.

Run with an interpreter that has crowd-kit (1.4.2):
python tests/parity/recorded/crowd_kit/record.py OUT.npz
For each case `CASE:votes` `[items, sources]` (−1: abstained), and after each number of iterations
`CASE:N:posteriors` `[items, labels]`, `CASE:N:prior`, `CASE:N:confusion` `[sources, true labels,
given labels]`.
"""

import sys

import numpy as np
import pandas as pd
from crowdkit.aggregation import DawidSkene

# Items, labels, accuracies of the sources, share of votes that are given.
CASES = {"two_labels": (80, 2, (0.9, 0.75, 0.6, 0.3), 0.8), "four_labels": (120, 4, (0.8,) * 6, 1)}
ITERATIONS = (1, 5, 10)


def simulated(random, items, labels, accuracies, given):
    truth = random.choice(labels, items, p=np.arange(1, labels + 1) / (labels * (labels + 1) / 2))
    votes = np.empty([items, len(accuracies)], int)
    for source, accuracy in enumerate(accuracies):
        wrong = (truth + random.integers(1, labels, items)) % labels
        votes[:, source] = np.where(random.random(items) < accuracy, truth, wrong)
        votes[random.random(items) >= given, source] = -1
    votes[(votes < 0).all(1), 0] = 0
    return votes


def recorded(votes, iterations):
    items, sources = np.nonzero(votes >= 0)
    table = pd.DataFrame({"task": items, "worker": sources, "label": votes[items, sources]})
    model = DawidSkene(n_iter=iterations, tol=-np.inf).fit(table)
    labels = votes.max() + 1
    confusion = np.zeros([votes.shape[1], labels, labels])
    for (source, label), row in model.errors_.iterrows():
        confusion[source, :, label] = row[list(range(labels))]
    return {
        "posteriors": model.probas_.sort_index()[list(range(labels))].to_numpy(),
        "prior": model.priors_[list(range(labels))].to_numpy(),
        "confusion": confusion,
    }


random = np.random.default_rng(7)
arrays = {}
for case, values in CASES.items():
    votes = arrays[f"{case}:votes"] = simulated(random, *values)
    for iterations in ITERATIONS:
        for name, array in recorded(votes, iterations).items():
            arrays[f"{case}:{iterations}:{name}"] = array
np.savez_compressed(sys.argv[1], **arrays)
