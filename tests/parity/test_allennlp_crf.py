"""The CRF against what AllenNLP recorded: log-likelihood, best paths and their scores."""

import numpy as np

from tf_adapt.layers.crf import CRF


def test_likelihood_and_best_paths_are_allennlps(reference, compare):
    with np.load(reference / "allennlp" / "crf.npz", allow_pickle=False) as arrays:
        recorded = dict(arrays)
    logits, mask = recorded["logits"], recorded["mask"].astype(bool)
    has_ends = "weight:start_transitions" in recorded
    crf = CRF(logits.shape[-1], boundary_scores=has_ends)
    crf.build()
    crf.transitions.assign(recorded["weight:transitions"])
    if has_ends:
        crf.start_scores.assign(recorded["weight:start_transitions"])
        crf.end_scores.assign(recorded["weight:end_transitions"])
    total = np.sum(crf.log_likelihood(logits, recorded["tags"], mask), dtype=np.float64)
    expected = recorded["log_likelihood_sum"]
    compare("AllenNLP CRF, log-likelihood", total, expected, 1e-5 * max(1, abs(expected)))
    tags, score = crf.decode(logits, mask)
    compare("AllenNLP CRF, best paths", tags, recorded["viterbi"], 0)
    largest = max(1, np.abs(recorded["viterbi_score"]).max())
    compare("AllenNLP CRF, their scores", score, recorded["viterbi_score"], 1e-5 * largest)
