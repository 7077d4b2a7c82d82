"""What a small AWD-LSTM is trained from: the most frequent words of a text, and random weights.

    python pretraining/awd_lstm.py OUT/train.txt modules/random_lstm

The module has three LSTMs, embeddings of width 200, 12,000 words and no dropout.

Drawn as PyTorch draws them, three LSTMs let so little of a word through that after 1,150 steps the
loss was still that of the words' frequencies. So they begin as Keras has them, and the output with
these frequencies, which left it within 150 steps.
"""

import argparse
from collections import Counter
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from hub_modules.export import write_module
from hub_modules.preprocess.lstm_words import (
    BEGIN_WORD,
    CAPITALISED,
    CAPITALS,
    PADDING_WORD,
    UNKNOWN_WORD,
    LstmPreprocessor,
    split_words,
)
from hub_modules.sources import ModuleSource
from hub_modules.sources.layouts.awd_lstm import awd_lstm_shapes

WORDS, WIDTH, LSTM_WIDTH, LAYERS = 12_000, 200, 400, 3
SPECIAL = (PADDING_WORD, UNKNOWN_WORD, BEGIN_WORD, CAPITALISED, CAPITALS)
DROPOUTS = ("word_dropout", "dropout", "hidden_dropout", "weight_dropout", "output_dropout")
LINES = 20_000  # at a time


def main() -> None:
    """Reads the arguments, then counts words, then draws weights."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("text", type=Path)
    options.add_argument("out", type=Path)
    given = options.parse_args()
    counts: Counter[str] = Counter()
    for lines in tf.data.TextLineDataset(str(given.text)).batch(LINES):
        words = tf.strings.lower(split_words(lines).values, encoding="utf-8")
        counts.update(word.decode() for word in words.numpy())
    known = [word for word, _ in counts.most_common(WORDS - len(SPECIAL))]
    covered = sum(counts[word] for word in known) / sum(counts.values())
    print(f"{len(known):,} words are {covered:.1%} of the text")
    vocabulary = [*SPECIAL, *known]
    config = {
        "vocabulary_size": len(vocabulary),
        "width": WIDTH,
        "lstm_width": LSTM_WIDTH,
        "num_layers": LAYERS,
        **dict.fromkeys(DROPOUTS, 0.0),  # one pass over the text
    }
    output = {"bias": log_counts(given.text, vocabulary)}
    source = ModuleSource("lstm", config, weights(config), vocabulary, True, output)
    write_module(source, given.out)


def log_counts(text: Path, vocabulary: list[str]) -> np.ndarray:
    """The logarithm of one more than each word's count, markers too, `[vocabulary] float32`.

    Counted on the first lines, which are in random order.
    """
    lines = next(iter(tf.data.TextLineDataset(str(text)).batch(LINES)))
    ids = LstmPreprocessor(vocabulary).tokenize(lines).values
    return np.log(np.bincount(ids, minlength=len(vocabulary)) + 1.0).astype("float32")


def weights(config: dict) -> dict[str, np.ndarray]:
    """Weights as Keras draws those of an LSTM: orthogonal, Glorot's, a forget gate's bias of 1."""
    random = np.random.default_rng(0)
    found = {}
    for name, shape in awd_lstm_shapes(config).items():
        seed = int(random.integers(2**31))
        if name.startswith("embeddings"):
            draw = keras.initializers.RandomNormal(stddev=shape[-1] ** -0.5, seed=seed)
        elif name.endswith("recurrent_kernel"):
            draw = keras.initializers.Orthogonal(seed=seed)
        else:
            draw = keras.initializers.GlorotUniform(seed=seed)
        found[name] = np.asarray(draw(shape)) if len(shape) > 1 else forget_gate(shape[0] // 4)
    return found


def forget_gate(units: int) -> np.ndarray:
    """The bias `[4 · units] float32` of the gates i, f, g, o: 1 for f."""
    return np.repeat(np.float32([0, 1, 0, 0]), units)


if __name__ == "__main__":
    main()
