"""Texts to vectors with keras-hub's BERT and `predict`, padded to one length as it does."""

import json
from pathlib import Path

import keras
import keras_hub
import numpy as np
from answering import Work, answer
from keras_hub_length import LongestOfAll


def prepared(job: dict) -> Work:
    """The weights are read from HuggingFace's format by keras-hub itself."""
    keras.config.set_dtype_policy(f"mixed_{job['precision']}" if job["precision"] else "float32")
    backbone = keras_hub.models.BertBackbone.from_preset(job["huggingface"])
    tokenizer = keras_hub.models.BertTokenizer.from_preset(job["huggingface"])
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))
    packer = LongestOfAll(tokenizer, [texts])
    states = backbone.output["sequence_output"]
    vectors = keras.layers.GlobalAveragePooling1D(dtype="float32")(
        states, mask=backbone.input["padding_mask"]
    )
    model = keras.Model(backbone.input, vectors)

    def run(turn):
        return model.predict(packer(texts), batch_size=job["batch_size"], verbose=0)

    return Work(run, lambda result: {"result": np.asarray(result, "float32")})


if __name__ == "__main__":
    answer(prepared)
