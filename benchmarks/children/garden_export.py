"""A BERT of TensorFlow's Model Garden with given weights, written as its exporter for TF Hub does.

GELU is the exact one, as in the weights' source, so that the outputs can be compared.
"""

import numpy as np
import tensorflow as tf
from answering import Work, answer
from official.nlp.modeling import networks


def prepared(job: dict) -> Work:
    """`weights`, an .npz by variable names → `path`, a SavedModel."""

    def run(turn):
        with np.load(job["weights"]) as arrays:
            save(encoder_of(arrays), job["path"])

    return Work(run, lambda result: {})


def encoder_of(arrays):
    """`BertEncoder` with every size from the arrays."""
    words = arrays["word_embeddings/embeddings"].shape
    first = "transformer/layer_0"
    encoder = networks.BertEncoder(
        vocab_size=words[0],
        hidden_size=words[1],
        num_layers=sum(name.endswith("intermediate/bias") for name in arrays),
        num_attention_heads=arrays[f"{first}/self_attention/query/kernel"].shape[1],
        intermediate_size=arrays[f"{first}/intermediate/bias"].shape[0],
        type_vocab_size=arrays["type_embeddings/embeddings"].shape[0],
        max_sequence_length=arrays["position_embedding/embeddings"].shape[0],
        activation=lambda values: tf.nn.gelu(values),
        dict_outputs=True,
    )
    variables = {variable.name.removesuffix(":0"): variable for variable in encoder.variables}
    if sorted(variables) != sorted(arrays):
        raise ValueError(f"other names: {sorted(set(variables) ^ set(arrays))}")
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return encoder


def save(encoder, path: str) -> None:
    """As `export_tfhub_lib.export_model`, without the vocabulary."""
    inputs = {tensor.name: tensor for tensor in encoder.inputs}
    outputs = encoder(inputs)
    outputs["default"] = outputs["pooled_output"]
    model = tf.keras.Model(inputs=inputs, outputs=outputs)
    model.save(path, include_optimizer=False, save_format="tf")


if __name__ == "__main__":
    answer(prepared)
