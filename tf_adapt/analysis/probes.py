"""Diagnostic classifiers: linear models from a layer's mean hidden states to the label."""

from collections import Counter

import numpy as np

from tf_adapt.errors import DataError

# L2 penalty on the weights, relative to the summed loss; of equal scores the strongest is selected.
PENALTIES = (10000.0, 1000.0, 100.0, 10.0, 1.0)
FOLDS = 5
FEWEST_EXAMPLES = 20
_SEED = 0


def probe(
    train: np.ndarray,
    train_targets: np.ndarray,
    dev: np.ndarray,
    dev_targets: np.ndarray,
    metric: str,
) -> dict[str, float]:
    """Fits a linear model on train and scores it on dev.

    Logistic regression for classes, ridge regression for `pearson`. Features are standardised with
    the means and deviations of the training data; the penalty, one of `PENALTIES`, has the best
    mean score over five (stratified) folds of train.

    Shapes: train, dev `[examples, width]`; targets `[examples]`, class ids or regression targets.

    Args:
        metric: "accuracy", "matthews" or "pearson".

    Returns:
        `score` on dev, and the selected `penalty`.

    Raises:
        DataError: as `check_targets`.

    Source: Peters, Ruder, Smith 2019, figure 1 (which states neither standardisation nor penalty).
    """
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    check_targets(train_targets, metric, "train")
    if metric == "pearson":
        model, folds = Ridge(), KFold(FOLDS, shuffle=True, random_state=_SEED)
        choices = {"model__alpha": list(PENALTIES)}
    else:
        model = LogisticRegression(max_iter=1000)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=_SEED)
        choices = {"model__C": [1 / penalty for penalty in PENALTIES]}
    search = GridSearchCV(
        Pipeline([("standardise", StandardScaler()), ("model", model)]),
        choices,
        scoring=make_scorer(lambda true, predicted: score(true, predicted, metric)),
        cv=folds,
    )
    # The matrices are small: synchronising threads would take longer than computing.
    with threadpool_limits(1, user_api="blas"):
        search.fit(np.asarray(train, "float64"), train_targets)
    predicted = search.predict(np.asarray(dev, "float64"))
    return {
        "score": score(dev_targets, predicted, metric),
        "penalty": PENALTIES[int(search.best_index_)],
    }


def score(true: np.ndarray, predicted: np.ndarray, metric: str) -> float:
    """The dataset's metric; 0 if a correlation is undefined, as in `tf_adapt.tasks.metrics`."""
    from sklearn.metrics import accuracy_score, matthews_corrcoef

    if metric == "accuracy":
        return float(accuracy_score(true, predicted))
    if metric == "matthews":
        return float(matthews_corrcoef(true, predicted))
    if np.ptp(true) == 0 or np.ptp(predicted) == 0:
        return 0.0
    return float(np.corrcoef(true, predicted)[0, 1])


def constant_score(train_targets: np.ndarray, dev_targets: np.ndarray, metric: str) -> float:
    """The score of a constant prediction, train's most frequent class; 0 for a correlation."""
    if metric != "accuracy":
        return 0.0
    return float(np.mean(dev_targets == np.bincount(train_targets).argmax()))


def check_targets(targets: np.ndarray, metric: str, what: str) -> None:
    """Checks that a probe can be fitted on a split.

    Raises:
        DataError: fewer than 20 examples, or fewer than two classes with five examples each.
    """
    if len(targets) < FEWEST_EXAMPLES:
        raise DataError(
            f"{what}: expected at least {FEWEST_EXAMPLES} examples to fit a probe on, got "
            f"{len(targets)}; add some"
        )
    if metric == "pearson":
        return
    enough = [label for label, count in Counter(targets.tolist()).items() if count >= FOLDS]
    if len(enough) < 2:
        raise DataError(
            f"{what}: expected at least two labels with {FOLDS} examples each, so that every fold "
            f"has both, got {len(enough)}; add examples of the others"
        )
