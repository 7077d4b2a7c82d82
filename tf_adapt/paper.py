"""Scores of "To Tune or Not to Tune?" (Peters, Ruder, Smith 2019, arXiv 1903.05987).

Scores × 100, as printed; a pair is (❄ feature extraction, 🔥 fine-tuning). Span F1 is conlleval's:
the metric `span_f1`.
"""

FROZEN, TUNED, ALIKE = "feature_extraction", "fine_tuning", "alike"
SYMBOLS = {FROZEN: "❄", TUNED: "🔥"}
FAMILIES = ("elmo", "bert")
KINDS = ("classification", "pair_classification", "pair_regression", "tagging")
MODELS = {"elmo": "ELMo", "bert": "BERT-base"}

# Table 1, guidelines, by family and the paper's group of tasks.
TABLE_1 = {
    ("elmo", "sequence labelling"): ALIKE,
    ("elmo", "classification"): ALIKE,
    ("elmo", "sentence pairs"): FROZEN,
    ("bert", "sequence labelling"): ALIKE,
    ("bert", "classification"): ALIKE,
    ("bert", "sentence pairs"): TUNED,
}
TABLE_1_ANY_MODEL = {
    FROZEN: "add many task parameters",
    TUNED: "add minimal task parameters",
}
GROUPS = {
    "tagging": "sequence labelling",
    "classification": "classification",
    "pair_classification": "sentence pairs",
    "pair_regression": "sentence pairs",
}

# How many seeds a score of table 2 is the mean of, by kind of task.
SEEDS = {"classification": 1, "pair_classification": 1, "pair_regression": 1, "tagging": 5}
# Which tables say more of a kind of task with a family.
FURTHER_TABLES = {
    ("pair_classification", "elmo"): (3,),
    ("pair_regression", "elmo"): (3,),
    ("pair_classification", "bert"): (4, 6),
    ("pair_regression", "bert"): (4,),
    ("tagging", "elmo"): (5,),
}

# Table 2: dataset → (kind of task, metric); then the test scores.
TABLE_2_DATASETS = {
    "CoNLL-2003": ("tagging", "span F1"),
    "SST-2": ("classification", "accuracy"),
    "MNLI": ("pair_classification", "accuracy, matched"),
    "SICK-E": ("pair_classification", "accuracy"),
    "SICK-R": ("pair_regression", "Pearson"),
    "MRPC": ("pair_classification", "accuracy"),
    "STS-B": ("pair_regression", "Pearson"),
}
TABLE_2 = {
    "elmo": {
        "CoNLL-2003": (91.7, 91.9),
        "SST-2": (91.8, 91.2),
        "MNLI": (79.6, 76.4),
        "SICK-E": (86.3, 83.3),
        "SICK-R": (86.1, 83.3),
        "MRPC": (76.0, 74.7),
        "STS-B": (75.9, 75.5),
    },
    "bert": {
        "CoNLL-2003": (92.2, 92.4),
        "SST-2": (93.0, 93.5),
        "MNLI": (84.6, 84.6),
        "SICK-E": (84.8, 85.8),
        "SICK-R": (86.4, 88.7),
        "MRPC": (78.1, 84.8),
        "STS-B": (82.9, 87.1),
    },
}
# The first row of table 2: Skip-thoughts ❄ (Kiros et al. 2015), a sentence module; no score for the
# others.
SKIP_THOUGHTS = {"SST-2": 81.8, "MNLI": 62.9, "SICK-R": 86.6, "MRPC": 75.8, "STS-B": 71.8}
# The project's names of table 2's datasets.
NAMED_DATASETS = {
    "conll2003": "CoNLL-2003",
    "sst2": "SST-2",
    "sst2_sentences": "SST-2",
    "mnli": "MNLI",
    "sick_e": "SICK-E",
    "sick_r": "SICK-R",
    "mrpc": "MRPC",
    "stsb": "STS-B",
}
# The heads of table 2 (section 3): (kind of task, family) → (❄, 🔥).
HEADS = {
    ("classification", "elmo"): ("bcn", "linear"),
    ("classification", "bert"): ("bcn", "linear"),
    ("pair_classification", "elmo"): ("esim", "bi_attention"),
    ("pair_classification", "bert"): ("esim", "linear"),
    ("pair_regression", "elmo"): ("esim", "bi_attention"),
    ("pair_regression", "bert"): ("esim", "linear"),
    ("tagging", "elmo"): ("bilstm_crf", "crf"),
    ("tagging", "bert"): ("bilstm", "linear_tagger"),
}
# Table 3: ELMo 🔥 on pairs, dev: (with bi-attention, without).
TABLE_3 = {
    "SICK-E": (83.8, 70.9),
    "SICK-R": (84.0, 51.8),
    "STS-B": (80.2, 38.5),
    "MRPC": (77.0, 72.3),
}
# Table 4: BERT ❄ on pairs, dev: (both sentences encoded jointly, separately).
TABLE_4 = {
    "SICK-E": (85.5, 81.2),
    "SICK-R": (86.4, 86.8),
    "STS-B": (88.1, 86.8),
    "MRPC": (83.3, 81.4),
}
# Table 5: ELMo on CoNLL-2003, dev, span F1, mean of five seeds: (adaptation, head) → score.
TABLE_5 = {
    ("feature_extraction", "BiLSTM + CRF"): 95.5,
    ("feature_extraction", "CRF"): 91.9,
    ("fine_tuning, gradual unfreezing", "CRF"): 95.5,
    ("fine_tuning, gradual unfreezing", "BiLSTM + CRF"): 95.2,
    ("fine_tuning", "CRF"): 95.1,
}
# Of table 6, computed, not printed in the paper: BERT-base trained and scored on one genre of MNLI,
# (Pearson's r with the genre's divergence from BERT's pretraining corpora, its p-value).
TABLE_6_CORRELATIONS = {
    FROZEN: (0.54, 0.35),
    TUNED: (0.37, 0.54),
    "difference": (-0.59, 0.29),
}
# The smallest |r| of five pairs with p < 0.05.
TABLE_6_SMALLEST_SIGNIFICANT = 0.88
COLOURED_FROM = 1.0
DEVIATION_OF_NER = 0.2


def tuned_minus_frozen(scores: tuple[float, float]) -> float:
    """🔥 − ❄ in points, rounded to one decimal like the paper's scores."""
    return round(scores[1] - scores[0], 1)


def colour(points: float) -> str | None:
    """Colour of 🔥 − ❄ in table 2: "tune" from +1.0 points, "freeze" from −1.0, else None.

    Args:
        points: 🔥 − ❄, score × 100.
    """
    points = round(points, 6)  # 85.8 − 84.8 is 0.99999999999999 in binary
    if points >= COLOURED_FROM:
        return "tune"
    return "freeze" if points <= -COLOURED_FROM else None
