"""Four texts of different lengths as examples of each kind of task."""

import tf_adapt as ta
from tf_adapt.data.formats import TaggedSentence

TASKS = {
    "classification": ta.Task("classification", ["no", "yes"]),
    "pair_classification": ta.Task("pair_classification", ["no", "yes"]),
    "tagging": ta.Task("tagging", ["O", "B-PER", "I-PER"]),
}
TEXTS = ["a man sings", "rain", "who is the man ? what is it ?", "the dog"]
RECORDS = {
    "classification": [(text, "yes") for text in TEXTS],
    "pair_classification": [(a, b, "no") for a, b in zip(TEXTS, TEXTS[::-1], strict=True)],
    "tagging": [TaggedSentence(text.split(), ["O"] * len(text.split())) for text in TEXTS],
}
