"""What a small AWD-LSTM is trained from: the most frequent words of a text, and random weights.

    python pretraining/awd_lstm.py OUT/train.txt OUT/awd_lstm

OUT/awd_lstm is a folder in fast.ai's format, for `tf-adapt module convert --from fastai` (three
layers, embeddings of width 200, 12,000 words).
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file

from hub_modules.preprocess.lstm_words import split_words

WORDS, WIDTH, LSTM_WIDTH, LAYERS = 12_000, 200, 400, 3
SPECIAL = ("xxunk", "xxpad", "xxbos", "xxmaj", "xxup")
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
    given.out.mkdir(parents=True)
    vocabulary = [*SPECIAL, *known]
    (given.out / "vocab.txt").write_text("".join(f"{word}\n" for word in vocabulary), "utf-8")
    save_file(weights(len(vocabulary)), given.out / "model.safetensors")


def weights(rows: int) -> dict[str, np.ndarray]:
    """As PyTorch and fast.ai draw them: uniform, in embeddings within 0.1."""
    random = np.random.default_rng(0)

    def uniform(bound: float, *shape: int) -> np.ndarray:
        return random.uniform(-bound, bound, shape).astype("float32")

    found = {"0.encoder.weight": uniform(0.1, rows, WIDTH), "1.decoder.bias": np.zeros(rows, "f4")}
    width = WIDTH
    for layer in range(LAYERS):
        units = WIDTH if layer == LAYERS - 1 else LSTM_WIDTH
        bound, inner = units**-0.5, f"0.rnns.{layer}.module"
        found[f"0.rnns.{layer}.weight_hh_l0_raw"] = uniform(bound, 4 * units, units)
        found[f"{inner}.weight_ih_l0"] = uniform(bound, 4 * units, width)
        for name in ("bias_ih_l0", "bias_hh_l0"):
            found[f"{inner}.{name}"] = uniform(bound, 4 * units)
        width = units
    return found


if __name__ == "__main__":
    main()
