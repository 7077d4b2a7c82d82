"""Continuations by `TokenGenerator`."""

import json
from pathlib import Path

import numpy as np
import tensorflow as tf
from answering import Work, answer

import tf_adapt as ta
from tf_adapt.generation.decoding import Decoding
from tf_adapt.generation.generator import TokenGenerator


def prepared(job: dict) -> Work:
    """`module`, `rows`, a file of lists of ids of one length, `new` tokens of each, `beams`."""
    encoder = ta.HubEncoder(job["module"]).native
    tokens, decoding = TokenGenerator(encoder), Decoding(job["new"], beams=job["beams"])
    ids = tf.constant(json.loads(Path(job["rows"]).read_text("utf-8")), tf.int32)
    given = {"input_word_ids": ids, "input_mask": tf.ones_like(ids)}
    nothing = encoder.vocabulary_size  # ends no row

    def run(turn):
        return tokens(given, [nothing], decoding).numpy()

    return Work(run, lambda found: {"tokens": np.array(found)}, amount=len(ids) * job["new"])


if __name__ == "__main__":
    answer(prepared)
