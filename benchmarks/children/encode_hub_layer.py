"""Texts to vectors with a TF Hub export in `hub.KerasLayer` and `predict`, as its guide does it."""

import json
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_hub as hub
import tensorflow_text as text
from answering import Work, answer


def prepared(job: dict) -> Work:
    """`export`: the SavedModel. Every text is padded to the longest of all."""
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))
    vocabulary = Path(job["huggingface"], "vocab.txt").read_text("utf-8").splitlines()
    tokenizer = text.FastBertTokenizer(vocabulary, lower_case_nfd_strip_accents=True)
    start, end = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    longest = int(tf.reduce_max(tokenizer.tokenize(texts).row_lengths())) + 2
    inputs = {
        name: tf.keras.Input([longest], dtype=tf.int32, name=name)
        for name in ("input_word_ids", "input_mask", "input_type_ids")
    }
    states = hub.KerasLayer(job["export"], trainable=False)(inputs)["sequence_output"]
    mask = tf.cast(inputs["input_mask"], tf.float32)[..., None]
    vectors = tf.reduce_sum(states * mask, 1) / tf.reduce_sum(mask, 1)
    model = tf.keras.Model(inputs, vectors)

    def run(turn):
        rows, _ = text.combine_segments([tokenizer.tokenize(texts)], start, end)
        ids, mask = text.pad_model_inputs(tf.cast(rows, tf.int32), longest)
        packed = {"input_word_ids": ids, "input_mask": mask, "input_type_ids": tf.zeros_like(ids)}
        return model.predict(packed, batch_size=job["batch_size"], verbose=0)

    return Work(run, lambda result: {"result": np.asarray(result)})


if __name__ == "__main__":
    answer(prepared)
