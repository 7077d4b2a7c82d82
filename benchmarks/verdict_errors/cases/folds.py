"""Small data: one split of a tenth, and folds in which every example is scored."""

import numpy as np

from benchmarks.verdict_errors.columns import Share
from tf_adapt.statistics.alpha_spending import LEVELS
from tf_adapt.statistics.two_cells import CellSample, compare_cells, sample_of_values

ABOUT = (
    "Learners, not answers, are simulated: two cells see two noisy views of the same examples, of "
    "two classes, through random features that a seed draws, and are fitted by ridge regression. "
    "The views are alike, so that the cells are equal over all training sets though not on each "
    "(*behind* 0), or the second one is noisier. *before*: a tenth is scored, five seeds; *after*: "
    "two repeats of five folds. *decided*: rightly, or where the cells are equal falsely; *wrong*: "
    "decided for the cell that is behind; *misled*: the cell with the better mean, which is "
    "recommended, is more than two points worse on 5,000 other examples."
)
COLUMNS = {
    "decided before": Share(),
    "decided after": Share(),
    "falsely decided before": Share(5.0),
    "falsely decided after": Share(5.0),
    "wrong before": Share(2.5),
    "wrong after": Share(2.5),
    "misled before": Share(),
    "misled after": Share(),
}
ROWS = [
    {"texts": texts, "features": features, "behind": behind}
    for behind in (0.0, 0.3, 0.6)
    for texts in (100, 200, 400, 1000)
    for features in (10, 60)
]
WIDTH, MEANS, OTHERS, FLIPPED, PENALTY = 15, 3, 5000, 0.1, 3.0
FOLDS, REPEATS, SEEDS = 5, 2, 5


def simulated(random, texts, features, behind) -> dict[str, bool | None]:
    """One set of labelled examples, compared in both ways."""
    views, labels = examples(random, texts + OTHERS, behind)
    folds = np.stack([random.permutation(texts) % FOLDS for _ in range(REPEATS)])
    held_out = random.permutation(texts) % 10 == 0
    before, after, truth = [], [], []
    for view in views:
        known = view[:texts], labels[:texts]
        split = [_right(random, *known, held_out, features) for _ in range(SEEDS)]
        before.append(sample(np.stack(split)[:, held_out]))
        answers, others = np.zeros((REPEATS, texts)), []
        for repeat, of_repeat in enumerate(folds):
            for fold in range(FOLDS):
                left = of_repeat == fold
                right = _right(random, view, labels, left, features)
                answers[repeat, left] = right[:texts][left]
                others.append(right[texts:].mean())
        after.append(sample(answers, folds))
        truth.append(np.mean(others))
    return _told("before", before, truth, behind) | _told("after", after, truth, behind)


def examples(random, count: int, behind: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Two views of labelled examples, `[count, WIDTH]` each, and their labels."""
    labels = random.integers(0, 2, count)
    means = np.zeros(WIDTH)
    means[:MEANS] = 0.6
    signs = (2 * labels - 1)[:, None]
    views = [
        (signs * means * (1 - lost) + random.normal(size=(count, WIDTH))).astype(np.float32)
        for lost in (0.0, behind)
    ]
    # Some are hard for every cell.
    return views, np.where(random.random(count) < FLIPPED, 1 - labels, labels)


def _right(random, view, labels, left_out, features: int) -> np.ndarray:
    """Which answers are right, of a cell that is fitted on the examples that are not left out."""
    hidden = view @ (random.normal(size=(WIDTH, features)) / WIDTH**0.5).astype(view.dtype)
    np.maximum(hidden, 0, out=hidden)
    train = np.flatnonzero(~left_out)
    seen, signs = hidden[train], (2 * labels[train] - 1).astype(view.dtype)
    weights = np.linalg.solve(
        seen.T @ seen + PENALTY * np.eye(features, dtype=view.dtype), seen.T @ signs
    )
    return (hidden @ weights > 0) == labels


def sample(right: np.ndarray, folds: np.ndarray | None = None) -> CellSample:
    """The sample of a cell that is right on some items: `[seeds, items]`, or repeats of folds."""
    values = right.astype(np.float64)
    return sample_of_values(values.mean(1), values, folds)


def _told(when: str, cells: list[CellSample], truth: list, behind: float) -> dict:
    test = compare_cells(*cells)
    decided = test.p <= LEVELS[0]
    best = int(test.difference < 0)
    return {
        f"decided {when}": decided and best == 0 if behind else None,
        f"falsely decided {when}": None if behind else decided,
        f"wrong {when}": decided and best == 1 if behind else None,
        f"misled {when}": truth[best] < max(truth) - 0.02,
    }
