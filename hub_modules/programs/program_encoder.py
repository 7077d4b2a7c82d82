"""A module's own SavedModel as a Keras layer: what unrecognised modules run in, and the oracle.

The program inside is fixed: one `training` flag for all of it, float32, no adapters. Gradients can
still be kept from single layer groups.
"""

import re

import keras
import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.families import FAMILIES
from hub_modules.native.weights import as_keras_variable
from hub_modules.programs.sentence_module import SentenceEncoder, is_sentence_module


class BlackBoxEncoder(keras.layers.Layer):
    """Runs a restored SavedModel; its variables, wrapped one by one, are this layer's weights.

    Shapes: BERT: `input_word_ids`, `input_mask`, `input_type_ids` `[batch, time] int32`; ELMo:
    `tokens` `[batch, time] string`, `sequence_len` `[batch] int32` → `{"layers": […], "mask":
    [batch, time] bool, "pooled": [batch, width] (BERT)}`, float32. `layers` starts with the
    embedding output where the module returns it; a foreign BERT does not.

    Args:
        module: the result of `tf.saved_model.load`. This layer keeps a reference to it.
        family: "bert", "elmo" or "causal", whose interface is BERT's.
    """

    def __init__(self, module, family: str, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False
        self.module = module
        self.family = family
        self.reads_tokens = FAMILIES[family].reads_characters
        self.is_tf1 = not callable(module)
        # TensorFlow 2 can run a TF1-format module, not train it: it is treated as one without
        # weights. So is a module without a list of trainable variables.
        variables = () if self.is_tf1 else getattr(module, "trainable_variables", ())
        self.module_weights = [as_keras_variable(variable) for variable in variables]
        self.built = True

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups, bottom to top, derived from the variables' names."""
        groups: dict[str, list] = {}
        for weight in self.module_weights:
            groups.setdefault(_group_of(weight.value.name), []).append(weight)
        return sorted(groups.items(), key=lambda item: _height(item[0]))

    def call(self, inputs, training=None):
        training = bool(training) and bool(self.trainable_weights)
        return (self._elmo if self.reads_tokens else self._bert)(inputs, training)

    @property
    def num_states(self) -> int:
        """Number of hidden states that a call returns."""
        return len(self.example_layers())

    @property
    def states_width(self) -> int:
        """Width of each hidden state."""
        return int(self.example_layers()[-1].shape[-1])

    def example_layers(self) -> list:
        """The hidden states of each layer for one position, `[1, 1, width]` each: they show the
        number of layers and their width."""
        if self.reads_tokens:
            words = {"tokens": tf.constant([["a"]]), "sequence_len": tf.constant([1])}
            return self(words)["layers"]
        names = ("input_word_ids", "input_mask", "input_type_ids")
        return self({name: tf.ones([1, 1], tf.int32) for name in names})["layers"]

    def _bert(self, inputs, training: bool):
        names = ("input_word_ids", "input_mask", "input_type_ids")
        outputs = self.module({name: inputs[name] for name in names}, training=training)
        layers = list(outputs["encoder_outputs"])
        if "embedding_output" in outputs:
            layers.insert(0, outputs["embedding_output"])
        mask = tf.cast(inputs["input_mask"], tf.bool)
        return {"layers": layers, "mask": mask, "pooled": outputs["pooled_output"]}

    def _elmo(self, inputs, training: bool):
        tokens, lengths = inputs["tokens"], inputs["sequence_len"]
        if self.is_tf1:
            outputs = self.module.signatures["tokens"](tokens=tokens, sequence_len=lengths)
        else:
            outputs = self.module({"tokens": tokens, "sequence_len": lengths}, training=training)
        mask = tf.sequence_mask(lengths, tf.shape(tokens)[1])
        # The token layer is half as wide as the others: both directions share it.
        layers = [tf.concat([outputs["word_emb"]] * 2, axis=-1)]
        names = sorted(name for name in outputs if re.fullmatch(r"lstm_outputs\d+", name))
        layers += [outputs[name] for name in names]
        visible = tf.cast(mask, tf.float32)[..., None]
        return {"layers": [layer * visible for layer in layers], "mask": mask}


def program_encoder(module, family: str, **options) -> BlackBoxEncoder | SentenceEncoder:
    """The layer that runs a restored SavedModel of a family.

    Args:
        options: Keras' (`name`, `dtype`).
    """
    if not FAMILIES[family].has_words:
        return SentenceEncoder(module, **options)
    return BlackBoxEncoder(module, family, **options)


def family_of(module) -> str:
    """Which of the three interfaces a restored SavedModel has.

    Raises:
        ArtifactError: none.
    """
    names = _input_names(module)
    if "input_word_ids" in names:
        return "bert"
    if {"tokens", "sequence_len"} <= names:
        return "elmo"
    if callable(module) and is_sentence_module(module):
        return "sentence"
    raise ArtifactError(
        "module: expected the inputs input_word_ids, input_mask, input_type_ids (TF Hub's "
        f"transformer-encoder API) or tokens, sequence_len (ELMo), got {sorted(names) or 'none'}, "
        "and no function from texts, [batch] string, to vectors, [batch, width] (sentence "
        "modules); convert the original weights with `tf-adapt module convert`"
    )


def _input_names(module) -> set[str]:
    if not callable(module):
        signature = module.signatures.get("tokens") if "tokens" in module.signatures else None
        return set(signature.structured_input_signature[1]) if signature else set()
    names: set[str] = set()
    for function in getattr(module.__call__, "concrete_functions", ()):
        for argument in function.structured_input_signature[0]:
            if isinstance(argument, dict):
                names |= set(argument)
    return names


def _group_of(name: str) -> str:
    parts = re.split(r"[/:]", name)
    for part in parts:
        if re.fullmatch(r"layer_\d+|lstm_\d+", part):
            return part
    if any(part.startswith("pooler") for part in parts):
        return "pooler"
    if parts[0] in ("char_cnn", "aggregation"):
        return parts[0]
    return "embeddings" if any("embedding" in part for part in parts) else "module"


def _height(group: str) -> tuple[int, int]:
    order = {"embeddings": 0, "char_cnn": 0, "module": 2, "pooler": 3, "aggregation": 3}
    number = re.search(r"\d+$", group)
    return (order.get(group, 1), int(number.group()) if number else 0)
