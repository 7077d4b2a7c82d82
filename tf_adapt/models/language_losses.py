"""Language-model objectives: the losses of predicting a text's own words.

An objective is a layer called as `objective(inputs, encoder=…, encoded=…, training=…)` with the
encoder's inputs for one text column, the `HubEncoder`, and its outputs for these inputs (None: not
computed yet). It returns a loss >= 0 for each target, and −1 where there is no target.
"""

import keras
import tensorflow as tf

from hub_modules.native.awd_lstm_layers import dropout_over_time
from hub_modules.native.output_layers import (
    BiLanguageModelHead,
    MaskedLanguageModelHead,
    TiedLanguageModelHead,
    losses_in_chunks,
)
from hub_modules.native.untracked import Untracked
from hub_modules.output_words import OutputWords
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.signals.piece_masking import mask_pieces

MASKED_SHARE = 0.15
NUM_SAMPLES = 8192
# In evaluation the masked pieces of a text are always the same.
EVALUATION_SEED = (7, 0)


@keras.saving.register_keras_serializable("tf_adapt")
class MaskedLanguageModel(keras.layers.Layer):
    """BERT's masked language model: `−log p(piece)` of the masked pieces.

    The encoder runs once more on the masked text (`signals.piece_masking`). In training the
    masked pieces are sampled in each step, from a seed state that is saved with the weights; in
    evaluation they depend on the text alone. The output layer is tied to the encoder's word
    embeddings.

    Shapes: BERT's inputs → `[batch, time] float32`, −1 at pieces that are not masked.

    Args:
        output: the output layer.
        special_token_ids: of the preprocessor.
        masked: probability that a piece is masked, from 0 to 1; default as in BERT's pretraining.

    Raises:
        ConfigError: the vocabulary has no [MASK].

    Source: Devlin et al. 2019, section 3.1.
    """

    def __init__(
        self,
        output: MaskedLanguageModelHead,
        special_token_ids: dict[str, int],
        masked: float = MASKED_SHARE,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if "mask_id" not in special_token_ids:
            raise ConfigError("masked language model: expected [MASK] in the vocabulary, got none")
        self.supports_jit = False
        self.output_layer = output
        self.special_token_ids = dict(special_token_ids)
        self.masked = masked
        self.seed = seed
        self.seeds = keras.random.SeedGenerator(seed)
        self.built = True

    def call(self, inputs, encoder=None, encoded=None, training=None):
        ids, hidden = mask_pieces(
            inputs["input_word_ids"],
            inputs["input_mask"],
            self.special_token_ids,
            self.masked,
            self.seeds.next() if training else EVALUATION_SEED,
        )
        states = encoder(inputs | {"input_word_ids": ids}, training=training)["layers"][-1]
        places = tf.where(hidden)
        logits = self.output_layer(tf.gather_nd(states, places), word_embeddings(encoder))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.gather_nd(inputs["input_word_ids"], places), logits=logits
        )
        return at_places(losses, places, tf.shape(ids))

    def get_config(self) -> dict:
        return super().get_config() | {
            "output": keras.saving.serialize_keras_object(self.output_layer),
            "special_token_ids": self.special_token_ids,
            "masked": self.masked,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: dict) -> "MaskedLanguageModel":
        """The layer of `get_config`."""
        return cls(**config | {"output": _restored_output(config["output"])})


@keras.saving.register_keras_serializable("tf_adapt")
class BiLanguageModel(keras.layers.Layer):
    """ELMo's two language models: `−log p` of the next word and of the previous word.

    The forward half of a word's top hidden state predicts the next word, after the last one `</S>`;
    the backward half predicts the previous word, before the first one `<S>`. (The hidden states at
    the boundaries, which predict the first and the last word, are not among the encoder's outputs.)
    Words that the output layer does not have become the target `<UNK>`. Training uses a sampled
    softmax (`BiLanguageModelHead.sampled_losses`) with a seed state that is saved with the weights;
    evaluation uses the full softmax.

    Shapes: `character_ids` `[batch, time, 50] int32` → `[batch, time, 2] float32` (forward,
    backward), −1 at padding.

    Args:
        output: the output layer.
        words: its words by id.
        num_samples: words sampled per training step and direction (bilm-tf: 8192); with at least
            the number of words, training uses the full softmax too.

    Source: Peters et al. 2018, section 3.1; bilm-tf.
    """

    def __init__(
        self,
        output: BiLanguageModelHead,
        words: list[str],
        num_samples: int = NUM_SAMPLES,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_jit = False
        self.output_layer = output
        self._words = Untracked(OutputWords(words))
        self.num_samples = num_samples
        self.seed = seed
        self.seeds = keras.random.SeedGenerator(seed)
        self.built = True

    @property
    def words(self) -> list[str]:
        """The output layer's words by id."""
        return self._words.value.words

    def call(self, inputs, encoder=None, encoded=None, training=None):
        if encoded is None:
            encoded = encoder(inputs, training=training)
        states, mask = encoded["layers"][-1], encoded["mask"]
        targets = self._targets(inputs["character_ids"], mask)
        places = tf.where(mask)
        sampled = training and self.num_samples < self.output_layer.num_words
        width = self.output_layer.projection_width
        losses = []
        for direction in range(2):
            half = tf.gather_nd(states[..., direction * width : (direction + 1) * width], places)
            words = tf.gather_nd(targets[..., direction], places)
            if sampled:
                seed = self.seeds.next()
                loss = self.output_layer.sampled_losses(half, words, self.num_samples, seed)
            else:
                loss = self.output_layer.target_losses(half, words)
            losses.append(at_places(loss, places, tf.shape(mask)))
        return tf.stack(losses, axis=-1)

    def _targets(self, character_ids, mask):
        """Next and previous word of each word: `[batch, time, 2] int32`."""
        words = self._words.value
        ids = words.ids(character_ids)
        after = tf.pad(ids[:, 1:], [[0, 0], [0, 1]])
        is_last = ~tf.pad(mask[:, 1:], [[0, 0], [0, 1]])
        before = tf.pad(ids[:, :-1], [[0, 0], [1, 0]], constant_values=words.begin)
        return tf.stack([tf.where(is_last, words.end, after), before], axis=-1)

    def get_config(self) -> dict:
        return super().get_config() | {
            "output": keras.saving.serialize_keras_object(self.output_layer),
            "words": self.words,
            "num_samples": self.num_samples,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: dict) -> "BiLanguageModel":
        """The layer of `get_config`."""
        return cls(**config | {"output": _restored_output(config["output"])})


@keras.saving.register_keras_serializable("tf_adapt")
class CausalLanguageModel(keras.layers.Layer):
    """A causal model's own objective: `−log p` of each next word piece.

    `softmax(h Eᵀ)` over the vocabulary of the pretraining, with E the table of word embeddings,
    whose gradient adds to that of the look-up. The `<|endoftext|>` that ends a row is a target; a
    classification token is none. It has no weights of its own. In training the logits of all
    targets are kept for the gradient: 4 · targets · vocabulary bytes.

    Shapes: packed inputs → `[batch, time − 1] float32`, −1 at padding and at new tokens.

    Source: Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training",
    section 3.1; beside a task (L3) section 3.2.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False
        self.built = True

    def call(self, inputs, encoder=None, encoded=None, training=None):
        if encoded is None:
            encoded = encoder(inputs, training=training)
        native = encoder.native
        size = native.vocabulary_size
        targets = inputs["input_word_ids"][:, 1:]
        places = tf.where(encoded["mask"][:, 1:] & (targets < size))
        losses = losses_in_chunks(
            lambda states: native.logits(states)[:, :size],
            tf.gather_nd(encoded["layers"][-1][:, :-1], places),
            tf.gather_nd(targets, places),
        )
        return at_places(losses, places, tf.shape(targets))


@keras.saving.register_keras_serializable("tf_adapt")
class LstmLanguageModel(keras.layers.Layer):
    """AWD-LSTM's own objective: `−log p` of each next word, marker or unknown word.

    `softmax(d(h) Eᵀ + b)`, with E the table of word embeddings, whose gradient adds to that of the
    look-up, and d the module's dropout of output features, one mask for all words of a text. In
    training the logits of all targets are kept for the gradient: 4 · targets · vocabulary bytes.

    Shapes: `word_ids` `[batch, time] int32` → `[batch, time − 1] float32`, −1 at padding.

    Args:
        output: the output layer.
        dropout: of the features that it reads.

    Source: Merity, Keskar, Socher 2018; Howard and Ruder 2018, "ULMFiT", section 3.1.
    """

    def __init__(self, output: TiedLanguageModelHead, dropout: float, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False
        self.output_layer = output
        self.dropout = dropout
        self.dropout_layer = dropout_over_time(dropout, self.dtype_policy)
        self.built = True

    def call(self, inputs, encoder=None, encoded=None, training=None):
        if encoded is None:
            encoded = encoder(inputs, training=training)
        states = self.dropout_layer(encoded["layers"][-1], training=training)
        table = word_embeddings(encoder)
        targets = tf.cast(inputs["word_ids"][:, 1:], tf.int32)
        places = tf.where(encoded["mask"][:, 1:])
        losses = losses_in_chunks(
            lambda part: self.output_layer(part, table),
            tf.gather_nd(states[:, :-1], places),
            tf.gather_nd(targets, places),
        )
        return at_places(losses, places, tf.shape(targets))

    def get_config(self) -> dict:
        return super().get_config() | {
            "output": keras.saving.serialize_keras_object(self.output_layer),
            "dropout": self.dropout,
        }

    @classmethod
    def from_config(cls, config: dict) -> "LstmLanguageModel":
        """The layer of `get_config`."""
        return cls(**config | {"output": _restored_output(config["output"])})


def _restored_output(config: dict) -> keras.layers.Layer:
    output = keras.saving.deserialize_keras_object(config)
    if not output.built:  # Keras builds it only if its config has the shapes
        output.build()
    return output


def word_embeddings(encoder: HubEncoder):
    """The word embeddings of a native BERT or AWD-LSTM, `[vocabulary, width] float32`."""
    return tf.convert_to_tensor(encoder.native.embeddings.word_embeddings)


def at_places(losses, places, shape):
    """Scatters losses `[places, …]` into a tensor `[*shape, …] float32` that is −1 elsewhere."""
    trailing = tf.shape(losses)[1:]
    empty = tf.fill(tf.concat([shape, trailing], axis=0), -1.0)
    return tf.tensor_scatter_nd_update(empty, places, losses)
