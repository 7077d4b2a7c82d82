"""Linear-chain CRFs in NumPy: best path and marginals, as `tf_adapt.layers.crf`. No TensorFlow."""

import numpy as np

from tf_adapt.light.layout import Chain

# Stands for infinity where differences must stay finite.
_HUGE = 1e30


def best_path(logits: np.ndarray, chain: Chain) -> np.ndarray:
    """The path with the highest score among those with the fewest forbidden transitions.

    Of equally good tags the lowest id wins. Shapes: logits `[words, tags]` → `[words] int32`.
    """
    words, tags = logits.shape
    if not words:
        return np.zeros(0, "int32")
    scores = np.clip(logits.astype("float64"), -_HUGE, _HUGE)
    scores -= scores.max(axis=1, keepdims=True)
    steps = np.clip(np.asarray(chain.transitions, "float32").astype("float64"), -_HUGE, _HUGE)
    allowed = np.ones([tags + 2] * 2, bool) if chain.allowed is None else np.array(chain.allowed)
    forbidden = (~allowed).astype(int)
    counts, best = forbidden[-2, :-2], scores[0]
    before = np.zeros([words, tags], int)
    for word in range(1, words):
        of_each = counts[:, None] + forbidden[:-2, :-2]
        counts = of_each.min(axis=0)
        reached = np.where(of_each == counts, best[:, None] + steps, -np.inf)
        before[word] = reached.argmax(axis=0)
        best = reached.max(axis=0) + scores[word]
    counts = counts + forbidden[:-2, -1]
    path = [int(np.where(counts == counts.min(), best, -np.inf).argmax())]
    for word in range(words - 1, 0, -1):
        path.append(int(before[word, path[-1]]))
    return np.array(path[::-1], "int32")


def marginals(logits: np.ndarray, chain: Chain) -> np.ndarray:
    """`p(y_t = j | logits)`: `[words, tags]` → `[words, tags] float32`. Constraints do not apply.

    Source: the forward-backward recursions, as in Lafferty, McCallum, Pereira 2001.
    """
    scores = logits.astype("float64")
    steps = np.asarray(chain.transitions, "float32").astype("float64")
    forward, backward = scores.copy(), np.zeros_like(scores)
    for word in range(1, len(scores)):
        forward[word] += _log_sum(forward[word - 1][:, None] + steps, axis=0)
    for word in range(len(scores) - 2, -1, -1):
        backward[word] = _log_sum(steps + scores[word + 1] + backward[word + 1], axis=1)
    joint = forward + backward
    return np.exp(joint - _log_sum(joint, axis=1)[:, None]).astype("float32")


def _log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    return np.logaddexp.reduce(values, axis=axis)
