"""The CRF against what TensorFlow Addons recorded: log-likelihood, its gradients, best paths."""

import numpy as np
import tensorflow as tf

from tf_adapt.layers.crf import CRF


def test_likelihood_gradients_and_best_paths_are_those_of_addons(reference, compare):
    path = reference / "tensorflow_addons" / "crf.npz"
    with np.load(path, allow_pickle=False) as arrays:
        recorded = dict(arrays)
    logits = tf.convert_to_tensor(recorded["logits"])
    mask = np.arange(logits.shape[1]) < recorded["lengths"][:, None]
    crf = CRF(logits.shape[-1], boundary_scores=False)
    crf.build()
    crf.transitions.assign(recorded["transitions"])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        log_likelihood = crf.log_likelihood(logits, recorded["tags"], mask)
    of_logits, of_transitions = tape.gradient(log_likelihood, [logits, crf.transitions.value])
    tags, score = crf.decode(logits, mask)
    # Where there is no word, Addons pads with 0.
    got = {
        "log_likelihood": log_likelihood,
        "grad_logits": of_logits,
        "grad_transitions": tf.convert_to_tensor(of_transitions),
        "viterbi_score": score,
    }
    for name, value in got.items():
        tolerance = 1e-5 * max(1, np.abs(recorded[name]).max())
        compare(f"Addons CRF, {name}", value, recorded[name], tolerance)
    best = np.where(mask, recorded["viterbi"], -1)
    compare("Addons CRF, best paths", tags, best, 0)
