"""Texts to word-piece ids with our preprocessor."""

import json
from pathlib import Path

import tensorflow as tf
from answering import Work, answer

import tf_adapt as ta


def prepared(job: dict) -> Work:
    """All texts in one call, without special tokens."""
    preprocessor = ta.HubEncoder(job["module"], trainable=False).preprocessor
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))

    def run(turn):
        pieces = preprocessor.tokenize(tf.constant(texts))
        return pieces.flat_values.numpy(), pieces.row_lengths().numpy()

    def outputs(result):
        return {"ids": result[0], "lengths": result[1]}

    return Work(run, outputs, amount=len(texts))


if __name__ == "__main__":
    answer(prepared)
