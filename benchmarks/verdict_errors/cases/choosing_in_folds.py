"""Folds whose setting is chosen in the first repeat."""

from itertools import product

import numpy as np

from benchmarks.verdict_errors.cases.folds import (
    FOLDS,
    PENALTY,
    REPEATS,
    WIDTH,
    examples,
    sample,
)
from benchmarks.verdict_errors.columns import Share
from tf_adapt.statistics.alpha_spending import LEVELS
from tf_adapt.statistics.two_cells import compare_cells

ABOUT = (
    "Learners as in `folds`, with 60 features, two repeats of five folds, and two penalties to "
    "choose from on a tenth of a fold's training texts: *first*, as a comparison does, in the "
    "first repeat, whose chosen runs are scored, and the second has the penalty of the fold of the "
    "same number, which was chosen on texts that it scores itself; *every*: in each fold of each "
    "repeat; *never*: one penalty, for both cells. Columns as there, *misled* on 1,000 others."
)
COLUMNS = {
    "decided": Share(),
    "falsely decided": Share(5.0),
    "wrong": Share(2.5),
    "misled": Share(),
}
ROWS = [
    {"texts": texts, "chosen": chosen, "behind": behind}
    for behind, texts, chosen in product((0.0, 0.3), (100, 200), ("never", "first", "every"))
]
PENALTIES, FEATURES, HELD_OUT, OTHERS = (PENALTY, 30.0), 60, 10, 1000


def simulated(random, texts, chosen, behind) -> dict[str, bool | None]:
    """One set of labelled examples, of which each is scored in each repeat."""
    views, labels = examples(random, texts + OTHERS, behind)
    folds = np.stack([random.permutation(texts) % FOLDS for _ in range(REPEATS)])
    cells, truth = [], []
    for view in views:
        answers, others, kept = np.zeros((REPEATS, texts)), [], [PENALTIES[:1]] * FOLDS
        for repeat, fold in product(range(REPEATS), range(FOLDS)):
            left = folds[repeat] == fold
            chooses = chosen == "every" or (chosen == "first" and not repeat)
            tried = PENALTIES if chooses else kept[fold]
            penalty, right = _best(random, view, labels, np.flatnonzero(~left), tried)
            kept[fold] = (penalty,)
            answers[repeat, left] = right[:texts][left]
            others.append(right[texts:].mean())
        cells.append(sample(answers, folds))
        truth.append(np.mean(others))
    test = compare_cells(*cells)
    decided, best = test.p <= LEVELS[0], int(test.difference < 0)
    return {
        "decided": decided and best == 0 if behind else None,
        "falsely decided": None if behind else decided,
        "wrong": decided and best == 1 if behind else None,
        "misled": truth[best] < max(truth) - 0.02,
    }


def _best(random, view, labels, train, penalties) -> tuple[float, np.ndarray]:
    """The penalty with the most right answers on a part of train, and which answers are right."""
    hidden = np.maximum(view @ random.normal(size=(WIDTH, FEATURES)) / WIDTH**0.5, 0)
    dev, kept = np.split(random.permutation(train), [len(train) // HELD_OUT])
    seen, signs = hidden[kept], 2 * labels[kept] - 1
    products, target = seen.T @ seen, seen.T @ signs
    tried = [
        (hidden @ np.linalg.solve(products + penalty * np.eye(FEATURES), target) > 0) == labels
        for penalty in penalties
    ]
    best = int(np.argmax([right[dev].mean() for right in tried]))
    return penalties[best], tried[best]
