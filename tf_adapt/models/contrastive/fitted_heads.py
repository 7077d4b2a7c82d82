"""Heads in closed form, on what they read of the training texts."""

import warnings

import keras
import numpy as np

from tf_adapt.errors import DataError

MOST_STEPS = 1000
# The logit of a label without a training example, whose probability is 0 in float32.
NEVER = -200.0


def fit_logistic(head: keras.layers.Layer, vectors: np.ndarray, labels: np.ndarray) -> None:
    """Makes a linear head the logistic regression of scikit-learn with its defaults, as SetFit's.

    Shapes: vectors `[texts, width]`, labels `[texts] int`.

    Raises:
        DataError: all labels are equal.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    known = np.unique(labels)
    if len(known) < 2:
        raise DataError(
            "train: expected examples of at least two labels for adaptation: contrastive, got one; "
            "add examples of another"
        )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steps: those of L-BFGS are enough in practice
        model = LogisticRegression(max_iter=MOST_STEPS).fit(vectors.astype(np.float64), labels)
    weights, biases = model.coef_, model.intercept_
    if len(known) == 2:  # the log odds of the second label
        weights, biases = (np.concatenate([-part, part]) / 2 for part in (weights, biases))
    kernel, bias = (np.zeros(weight.shape) for weight in (head.dense.kernel, head.dense.bias))
    kernel[:, known] = weights.T
    bias[:] = NEVER
    bias[known] = biases
    head.dense.set_weights([kernel, bias])


def fit_line(head: keras.layers.Layer, cosines: np.ndarray, scores: np.ndarray) -> None:
    """Makes a head on a similarity the line with the least squared error.

    Shapes: cosines and scores `[pairs]`.
    """
    features = np.stack([cosines, np.ones_like(cosines)], axis=1).astype(np.float64)
    (slope, intercept), *_ = np.linalg.lstsq(features, scores.astype(np.float64), rcond=None)
    head.dense.set_weights([np.array([[slope]]), np.array([intercept])])
