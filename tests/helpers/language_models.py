"""Tiny encoders with output layers, for tests of what is built on them."""

import math
import shutil

import numpy as np
import tensorflow as tf

from hub_modules.export import native_encoder
from hub_modules.manifest import read_manifest, write_manifest
from hub_modules.native.elmo import ElmoEncoder
from hub_modules.native.output_layers import BiLanguageModelHead, MaskedLanguageModelHead
from hub_modules.output_files import write_output_layer
from hub_modules.preprocess import ElmoPreprocessor
from hub_modules.sources import ModuleSource
from hub_modules.sources.huggingface import output_shapes
from tf_adapt.models.language_losses import BiLanguageModel, MaskedLanguageModel

WORDS = ["<S>", "</S>", "<UNK>", *"abcdefgh", "the", "what", "is", "who", "of"]
ELMO = {
    "filters": [[1, 4], [2, 8]],
    "character_width": 4,
    "num_highway": 1,
    "projection_width": 6,
    "lstm_width": 10,
}


class Hub:
    """What objectives use of a `HubEncoder`, around a native encoder made in a test."""

    execution = "native"

    def __init__(self, family, encoder):
        self.family, self.native, self.trainable = family, encoder, True

    def __call__(self, inputs, training=None):
        return self.native(inputs, training=training)


def random_weights(layer, seed=0, scale=0.3):
    random = np.random.default_rng(seed)
    for weight in layer.weights:
        weight.assign(random.normal(0, scale, weight.shape))
    return layer


def tiny_elmo(seed=0) -> Hub:
    return Hub("elmo", random_weights(native_encoder("elmo", ELMO), seed))


def with_output_layer(module, folder):
    """A copy of the fixture `tiny_bert` with an output layer; its dropout stays 0.1."""
    shutil.copytree(module, folder)
    contract = read_manifest(folder).model_dump(exclude_unset=True)
    random = np.random.default_rng(1)
    layer = {
        name: random.normal(1.0 if name.endswith("gamma") else 0.0, 0.1, shape).astype("float32")
        for name, shape in output_shapes(contract["config"]).items()
    }
    source = ModuleSource("bert", contract["config"], {}, output_layer=layer)
    write_output_layer(source, folder)
    return _sealed(folder, contract)


def tiny_elmo_module(folder):
    """A module folder with an ELMo of random weights and its output layer; native only."""
    encoder: ElmoEncoder = tiny_elmo().native
    weights = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    holder = tf.Module()
    holder.stored = [tf.Variable(value, name=name) for name, value in weights.items()]
    tf.saved_model.save(holder, str(folder / "encoder"))
    random = np.random.default_rng(2)
    layer = {
        "kernel": random.normal(0, 0.1, (len(WORDS), 6)).astype("float32"),
        "bias": np.zeros(len(WORDS), "float32"),
    }
    write_output_layer(
        ModuleSource("elmo", ELMO, {}, output_layer=layer, output_words=WORDS), folder
    )
    groups = [name for name, _ in encoder.layer_groups]
    shapes = {name: list(value.shape) for name, value in weights.items()}
    contract = {"kind": "elmo", "config": ELMO, "lower_case": None}
    return _sealed(folder, contract | {"groups": groups, "weights": shapes})


def without_dropout(module):
    """The same module folder, whose dropout is 0."""
    contract = read_manifest(module).model_dump(exclude_unset=True)
    contract["config"] |= {"dropout": 0.0, "attention_dropout": 0.0}
    return _sealed(module, contract)


def _sealed(folder, contract):
    write_manifest(folder, {k: v for k, v in contract.items() if k not in ("format", "files")})
    return folder


def log_softmax(scores):
    shifted = scores - scores.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


SPECIAL = {
    "vocab_size": 20,
    "padding_id": 0,
    "start_of_sequence_id": 2,
    "end_of_segment_id": 3,
    "mask_id": 4,
}
BERT = {
    "vocabulary_size": 20,
    "width": 8,
    "num_layers": 1,
    "num_heads": 2,
    "intermediate_width": 12,
    "max_positions": 16,
    "dropout": 0.0,
    "attention_dropout": 0.0,
}


def bert(masked=0.5, seed=3):
    hub = Hub("bert", random_weights(native_encoder("bert", BERT)))
    output = MaskedLanguageModelHead(8, 20)
    output.build()
    return hub, MaskedLanguageModel(random_weights(output, 1), SPECIAL, masked, seed)


def bert_inputs():
    """A long row, a row of one piece, one of special tokens only, one of nothing but padding."""
    ids = np.zeros((4, 9), "int32")
    ids[0] = [2, 7, 8, 9, 10, 11, 12, 13, 3]
    ids[1, :3], ids[2, :2] = [2, 7, 3], [2, 3]
    mask = (ids > 0).astype("int32")
    inputs = {"input_word_ids": ids, "input_mask": mask, "input_type_ids": np.zeros_like(ids)}
    return {name: tf.constant(value) for name, value in inputs.items()}


def numpy_states(objective, states):
    """The output layer's normalised states, in float64."""
    weights = {
        n: w.numpy().astype("float64") for n, w in objective.output_layer.weights_by_name().items()
    }
    inner = states @ weights["dense/kernel"] + weights["dense/bias"]
    inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
    spread = np.sqrt(inner.var(-1, keepdims=True) + 1e-12)
    normed = (inner - inner.mean(-1, keepdims=True)) / spread
    return normed * weights["layer_norm/gamma"] + weights["layer_norm/beta"], weights["bias"]


def elmo(num_samples=100, seed=5):
    output = BiLanguageModelHead(len(WORDS), 6)
    output.build()
    return tiny_elmo(), BiLanguageModel(random_weights(output, 1), WORDS, num_samples, seed)


def elmo_inputs():
    """Three words of which one is unknown, one word, none."""
    words = tf.ragged.constant([["the", "cat", "is"], ["a"], []], dtype=tf.string)
    return ElmoPreprocessor().pack([words])
