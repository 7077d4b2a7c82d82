"""An output layer for an encoder that has none, fitted to its frozen states, for `forgetting`.

    python pretraining/output_layer.py bert_small TEXT HELD_OUT OUT --minutes 20
    python pretraining/output_layer.py elmo_small TEXT HELD_OUT OUT --minutes 20 --words vocab.txt

TEXT and HELD_OUT are WikiText's files of tokens. OUT gets `output_layer.npz` in float16, ELMo's
`output_words.txt` (the words of the file that TEXT has at least five times), and their hashes.
"""

import argparse
import gzip
import math
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np

import tf_adapt as ta
from hub_modules.output_files import new_output_layer, write_fitted_layer
from hub_modules.sources.files.words import BEGIN, END, UNKNOWN, read_words
from tf_adapt.models.language_losses import NUM_SAMPLES
from tf_adapt.models.language_model import LanguageModel
from tf_adapt.models.language_objectives import OBJECTIVES

BATCH, RATE, FEWEST = 32, 2e-3, 5
# Words of a passage, at least: an ELMo reads sentence by sentence.
PASSAGE = {"bert": 60, "elmo": 1}
LONGEST = 120
# WikiText's marks for characters inside words.
_JOINED = re.compile(r" @([-,.])@ ")


def main() -> None:
    """Fits for so many minutes of a processor, then prints the perplexity on the held-out text."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("module")
    for name in ("text", "held_out", "out"):
        options.add_argument(name, type=Path)
    options.add_argument("--minutes", type=float, default=20)
    options.add_argument("--words", type=Path)
    given = options.parse_args()
    encoder = ta.HubEncoder(given.module, trainable=False)
    texts, held_out = (
        list(_passages(path, PASSAGE[encoder.family])) for path in (given.text, given.held_out)
    )
    words = _words(given.words, texts) if given.words else None
    layer = new_output_layer(encoder.family, encoder.native.get_config(), words)
    objective = OBJECTIVES[encoder.family].make(encoder, layer, words, NUM_SAMPLES, {})
    task = ta.Task("language_model")
    model = LanguageModel(task, encoder, objective)
    clock = _Clock(given.minutes)
    model.compile(keras.optimizers.Adam(RATE), task.loss, metrics=task.metrics)
    batches = ta.batches(texts, task, encoder, BATCH)
    scored = ta.batches(held_out[:400], task, encoder, BATCH, shuffle=False)
    print("before", model.evaluate(scored, return_dict=True, verbose=0), flush=True)
    model.fit(batches, epochs=1000, callbacks=[clock], verbose=2)
    print(f"{clock.steps:,} steps", model.evaluate(scored, return_dict=True, verbose=0))
    arrays = {name: np.array(w).astype(np.float16) for name, w in layer.weights_by_name().items()}
    write_fitted_layer(given.out, arrays, words)


class _Clock(keras.callbacks.Callback):
    """A cosine from the first rate to 0 over minutes of processor time, and the end."""

    def __init__(self, minutes: float):
        super().__init__()
        self.seconds, self.steps, self.start = 60 * minutes, 0, None

    def on_train_batch_begin(self, batch, logs=None):
        self.start = self.start or time.process_time()
        done = min(1.0, (time.process_time() - self.start) / self.seconds)
        self.model.optimizer.learning_rate.assign(RATE * (1 + math.cos(math.pi * done)) / 2)

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if time.process_time() - self.start > self.seconds:
            self.model.stop_training = True
            self.model.stop_evaluating = True


def _passages(path: Path, fewest: int) -> Iterator[str]:
    """Passages of so many words or more, of sentences without unknown words."""
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if not line.strip() or line.startswith(" = "):
                continue
            text = _JOINED.sub(r"\1", line)
            passage: list[str] = []
            for sentence in re.split(r"(?<= [.!?]) ", text.strip()):
                if "<unk>" in sentence:
                    continue
                passage += sentence.split()
                if len(passage) >= fewest:
                    yield " ".join(passage[:LONGEST])
                    passage = []


def _words(path: Path, texts: list[str]) -> list[str]:
    """The special words, then those of the file that the texts have, by falling frequency."""
    counts, known = Counter(word for text in texts for word in text.split()), read_words(path)
    frequent = [word for word in known if counts[word] >= FEWEST]
    special = [END, BEGIN, UNKNOWN]
    frequent = [word for word in frequent if word not in special]
    return special + sorted(frequent, key=lambda word: -counts[word])


if __name__ == "__main__":
    main()
