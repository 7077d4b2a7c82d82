"""How much frozen states tell of the targets, without training an encoder: five measures.

Features are `[examples, width]`; targets `[examples]`, class ids, or numbers (`classes` False). For
measures of classes numbers are cut into `BINS` parts of equal size.
"""

import warnings

import numpy as np

BINS = 5
NEIGHBOURS = 5
FOLDS = 5
PENALTIES = tuple(10.0**power for power in range(-2, 6))
DISTORTION = 1e-4  # of TransRate
Folds = list[tuple[np.ndarray, np.ndarray]]
_STEPS, _CLOSE, _LARGEST, _SEED = 1000, 1e-12, 1e12, 0


def log_me(features: np.ndarray, targets: np.ndarray, classes: bool) -> float:
    """The log evidence of a Bayesian linear regression, per example, at the precisions that
    maximise it; of classes the mean over one-against-the-rest targets.

    Source: You et al. 2021, "LogME". The published implementation leaves the term of the
    directions without examples out where there are fewer examples than dimensions.
    """
    if not classes:
        return best_log_evidence(features, targets)
    columns = [(targets == label).astype(np.float64) for label in np.unique(targets)]
    decomposed = _decomposed(features)
    return float(np.mean([_best(decomposed, column) for column in columns]))


def best_log_evidence(features: np.ndarray, targets: np.ndarray) -> float:
    """`log_evidence` at the fixed point `α = γ / |m|²`, `β = (n − γ) / |Fm − y|²`, with
    `γ = Σ βσ² / (α + βσ²)` over the singular values σ of F."""
    return _best(_decomposed(features), np.asarray(targets, np.float64))


def log_evidence(features: np.ndarray, targets: np.ndarray, alpha: float, beta: float) -> float:
    """`log N(y; 0, I / β + F Fᵀ / α) / n`: `½ (n ln β + D ln α − n ln 2π − β |Fm − y|² − α |m|² −
    ln |αI + β FᵀF|) / n` with m the posterior mean of the weights."""
    return _evidence(_parts(_decomposed(features), np.asarray(targets, np.float64)), alpha, beta)


def h_score(features: np.ndarray, targets: np.ndarray, classes: bool) -> float:
    """`tr(cov(F)⁻¹ cov(E[F | y]))`, with the covariance after Ledoit and Wolf, and the second one
    less by the same shrinkage.

    Source: Ibrahim et al. 2021, "Newer is not always better: rethinking transferability metrics".
    """
    from sklearn.covariance import LedoitWolf

    labels = _classes(targets, classes)
    centred = np.asarray(features, np.float64) - features.mean(axis=0)
    shrunk = LedoitWolf(assume_centered=True).fit(centred)
    means = np.zeros_like(centred)
    for label in np.unique(labels):
        means[labels == label] = centred[labels == label].mean(axis=0)
    between = means.T @ means / len(means) * (1 - shrunk.shrinkage_)
    return float(np.trace(np.linalg.pinv(shrunk.covariance_, hermitian=True) @ between))


def trans_rate(features: np.ndarray, targets: np.ndarray, classes: bool) -> float:
    """`R(Z) − Σ R(Z_c) / C` over the C classes, with `R(Z) = ½ ln |I + ZᵀZ / (nε)|` of centred
    features, in nats.

    Source: Huang et al. 2022, "Frustratingly easy transferability estimation".
    """
    labels = _classes(targets, classes)
    centred = np.asarray(features, np.float64) - features.mean(axis=0)
    of_classes = [coding_rate(centred[labels == label]) for label in np.unique(labels)]
    return coding_rate(centred) - float(np.mean(of_classes))


def coding_rate(features: np.ndarray) -> float:
    """`½ ln |I + ZᵀZ / (nε)|`, from the singular values of Z."""
    sigma = np.linalg.svd(features, compute_uv=False)
    return float(np.log1p(sigma**2 / (len(features) * DISTORTION)).sum() / 2)


def linear_probe(
    features: np.ndarray, targets: np.ndarray, classes: bool, parts: Folds
) -> np.ndarray:
    """The answers of a ridge regression on standardised features (of classes on ±1), each by a
    model of the other folds, whose penalty has the least leave-one-out error of its own: everything
    in closed form.

    Shapes: → `[examples]`.

    Args:
        parts: `folds` of the same targets.
    """
    from sklearn.linear_model import RidgeClassifierCV, RidgeCV

    model = RidgeClassifierCV(PENALTIES) if classes else RidgeCV(PENALTIES)
    return _out_of_fold(model, features, targets, parts)


def nearest_neighbours(
    features: np.ndarray, targets: np.ndarray, classes: bool, parts: Folds
) -> np.ndarray:
    """The answers of the five nearest examples of the other folds, of standardised features; as
    `linear_probe`."""
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    model = KNeighborsClassifier if classes else KNeighborsRegressor
    # A fold that holds a large group may leave fewer.
    count = min(NEIGHBOURS, *(len(others) for others, _ in parts))
    return _out_of_fold(model(count), features, targets, parts)


def folds(targets: np.ndarray, groups: np.ndarray, classes: bool) -> Folds:
    """The places of each fold's others and its own, with about as many examples of each class in
    every fold.

    No two folds share a group: else its examples would answer for each other.

    Args:
        groups: of each example, `FOLDS` of them or more.
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    if len(np.unique(groups)) == len(groups):
        by_example = StratifiedKFold if classes else KFold
        cut = by_example(FOLDS, shuffle=True, random_state=_SEED).split(targets, targets)
    else:
        by_group = StratifiedGroupKFold if classes else GroupKFold
        cut = by_group(FOLDS).split(targets, targets, groups)
    with warnings.catch_warnings():
        # Some folds lack the examples of a rare label.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(cut)


def _out_of_fold(model, features: np.ndarray, targets: np.ndarray, parts: Folds) -> np.ndarray:
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        pipeline = make_pipeline(StandardScaler(), model)
        return cross_val_predict(pipeline, np.asarray(features, np.float64), targets, cv=parts)


def _classes(targets: np.ndarray, classes: bool) -> np.ndarray:
    """Class ids; of numbers the fifth in which each is."""
    if classes:
        return targets
    edges = np.quantile(targets, np.arange(1, BINS) / BINS)
    return np.searchsorted(np.unique(edges), targets, side="right")


def _decomposed(features: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Left singular vectors, singular values, and the number of columns."""
    left, sigma, _ = np.linalg.svd(np.asarray(features, np.float64), full_matrices=False)
    return left, sigma, features.shape[1]


def _parts(decomposed: tuple, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, int]:
    """σ², the targets along the left singular vectors, squared, what of them is in none, n."""
    left, sigma, _ = decomposed
    along = (left.T @ targets) ** 2
    return sigma**2, along, max(0.0, float(targets @ targets - along.sum())), len(targets)


def _best(decomposed: tuple, targets: np.ndarray) -> float:
    parts = _parts(decomposed, targets)
    squares, along, rest, count = parts
    alpha = beta = 1.0
    before = -np.inf
    for _ in range(_STEPS):
        scale = alpha + beta * squares
        gamma = float((beta * squares / scale).sum())
        weights = float((beta**2 * squares * along / scale**2).sum())
        error = float((along * (alpha / scale) ** 2).sum()) + rest
        if not weights or not error:  # nothing to find, or everything found
            break
        alpha, beta = gamma / weights, (count - gamma) / error
        if max(alpha, beta) > _LARGEST:  # as good as that
            break
        now = _evidence(parts, alpha, beta)
        if abs(now - before) < _CLOSE * abs(now):
            break
        before = now
    return _evidence(parts, alpha, beta)


def _evidence(parts: tuple, alpha: float, beta: float) -> float:
    squares, along, rest, count = parts
    scale = alpha + beta * squares
    error = float((along * (alpha / scale) ** 2).sum()) + rest
    weights = float((beta**2 * squares * along / scale**2).sum())
    # ln |αI + βFᵀF| less D ln α: directions without examples cancel.
    determinant = float(np.log(scale / alpha).sum())
    fit = count * np.log(beta / (2 * np.pi)) - beta * error - alpha * weights
    return float((fit - determinant) / (2 * count))
