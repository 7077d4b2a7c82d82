"""The temperature that makes a classifier's probabilities fit."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

# Temperatures are sought between these.
LOWEST, HIGHEST = 0.05, 20.0
# Below it a probability is a rounding error.
SMALLEST = 1e-12


def best_temperature(probabilities: np.ndarray, targets: np.ndarray) -> float:
    """The T with the highest likelihood of the targets under `softmax(log p / T)`, which is
    `softmax(z / T)` of the logits z; T above 1 makes a model less sure.

    Shapes: probabilities `[choices, outcomes]`, targets `[choices] int`.

    Source: Guo et al. 2017, "On calibration of modern neural networks", section 4.2.
    """
    logits = np.log(np.maximum(np.asarray(probabilities, np.float64), SMALLEST))
    right = logits[np.arange(len(targets)), targets]

    def loss(log_temperature: float) -> float:
        temperature = np.exp(log_temperature)
        return float(np.mean(logsumexp(logits / temperature, axis=1) - right / temperature))

    bounds = (np.log(LOWEST), np.log(HIGHEST))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
