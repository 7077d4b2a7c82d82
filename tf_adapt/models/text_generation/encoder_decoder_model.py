"""A pretrained encoder and a pretrained decoder that reads it: the model of a written text."""

import keras
import tensorflow as tf

from hub_modules.native.causal import last_states
from hub_modules.native.weights import is_trainable
from tf_adapt.adaptation.adaptations import as_adaptation
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.unfreezing import make_trainable
from tf_adapt.data.packing.text_generation import TARGET_IDS, TARGET_MASK
from tf_adapt.encoder.encoder_decoder import EncoderDecoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.text_generation.cross_attentions import CrossAttentions
from tf_adapt.models.written_texts import written_texts
from tf_adapt.tasks.by_kind.text_generation import MAX_NEW_TOKENS
from tf_adapt.tasks.task import Task

# Parts of a cache: what is read of the source, and the keys and values of the text itself.
MEMORY, OWN = "memory", "own"


def build_encoder_decoder(
    task: Task,
    encoder: EncoderDecoder,
    adaptation: str | Adaptation | None = None,
    label_smoothing: float = 0.0,
    language_model_weight: float = 0.0,
    multi_layer_attention: bool = False,
    beams: int = 1,
    length_penalty: float = 1.0,
) -> "EncoderDecoderModel":
    """An encoder and a decoder with new cross-attention, ready for `compile`.

    With `feature_extraction` both pretrained parts are frozen, and the cross-attention is trained.

    Args:
        label_smoothing, language_model_weight, beams, length_penalty: see `EncoderDecoderModel`.
        multi_layer_attention: see `CrossAttentions`.

    Raises:
        ConfigError: the adaptation is unknown, contradicts the encoder or the decoder, or is none
            of this kind of task; `multi_layer_attention` with an encoder of one layer.
    """
    adaptation = None if adaptation is None else as_adaptation(adaptation)
    refused = adaptation is not None and (adaptation.pairs, adaptation.reinitialised) != (None, 0)
    if refused:
        raise ConfigError(
            "adaptation: expected one without pairs or new random layers for text_generation, got "
            f"{adaptation.name}; take feature_extraction, fine_tuning, gradual_unfreezing, lora or "
            "adapters"
        )
    if multi_layer_attention and encoder.num_layers < 2:
        raise ConfigError(
            "generation.multi_layer_attention: expected an encoder with a first layer below its "
            f"top, got {encoder.handle} (family {encoder.family}), which returns "
            f"{encoder.num_layers}; set it to false"
        )
    encoder.leave_unread(("aggregation", "pooler"))
    if adaptation is not None:
        make_trainable(encoder, adaptation)
    decoder = encoder.decoder.native
    head = CrossAttentions(
        decoder.num_layers,
        decoder.width,
        decoder.num_heads,
        decoder.dropout,
        decoder.attention_dropout,
        decoder.layer_norm_epsilon,
        encoder.output_width,
        multi_layer_attention,
        name="cross_attentions",
    )
    head.build()
    return EncoderDecoderModel(
        task,
        encoder,
        head,
        adaptation=adaptation,
        label_smoothing=label_smoothing,
        language_model_weight=language_model_weight,
        beams=beams,
        length_penalty=length_penalty,
    )


@keras.saving.register_keras_serializable("tf_adapt")
class EncoderDecoderModel(AdaptedModel):
    """An `AdaptedModel` of a target text, given a source.

    `L = Σ_t −log p(y_t | y_<t, x) + w · Σ_t −log p(y_t | y_<t)`; the second sum is of the decoder
    without cross-attention, which keeps it a language model. With label smoothing ε the first is
    `(1 − ε)` of itself and ε of the mean `−log p` of all words.

    Shapes: inputs `{"a": …}` with the encoder's, `target_ids` `[batch, time] int32`, between an end
    token and another, and `target_mask` (1 = token, 0 = padding, at the right) → `[batch, 3]
    float32`: the sum of `−log p` of the target's tokens, their number, and L.

    Args:
        label_smoothing: ε, from 0 to below 1.
        language_model_weight: w, at least 0.
        beams, length_penalty: of the search for the written text, as of `Decoding`; 1 beam: greedy.

    Source: Rothe et al. 2020; w: Ramachandran et al. 2017, section 2.2 (there 1, and a second
    language model of the source); ε: Szegedy et al. 2016.
    """

    def __init__(
        self,
        *args,
        label_smoothing=0.0,
        language_model_weight=0.0,
        beams=1,
        length_penalty=1.0,
        **kwargs,
    ):
        # Before the parent's constructor, which calls the model.
        self.label_smoothing = label_smoothing
        self.language_model_weight = language_model_weight
        self.beams = beams
        self.length_penalty = length_penalty
        super().__init__(*args, **kwargs)

    def call(self, inputs, training=None):
        given = inputs["a"]
        return self._scored(self.read(given, training), given, training)

    def predictions(self, inputs) -> dict:
        """In inference mode the best text about each source, and of the target the summed loss
        and the number of tokens, each `[batch]`; the source is read once."""
        memory = self.read(inputs["a"])
        outputs = self._scored(memory, inputs["a"])
        return {"text": written_texts(self, memory), "loss": outputs[:, 0], "tokens": outputs[:, 1]}

    def _scored(self, memory: dict, given: dict, training=None):
        """See `call`."""
        ids, mask = given[TARGET_IDS], given[TARGET_MASK]
        rows = {"input_word_ids": ids[:, :-1], "input_mask": mask[:, 1:]}
        where = tf.where(mask[:, 1:] > 0)
        targets = tf.gather_nd(ids[:, 1:], where)

        def log_probabilities(between):
            states, _ = self.decoder.states_after(rows, None, between, training)
            return tf.nn.log_softmax(self.decoder.logits(tf.gather_nd(states, where)))

        logs = log_probabilities(self.head.between(memory, training and is_trainable(self.head)))
        losses = -tf.gather(logs, targets, batch_dims=1)
        trained = losses
        if self.label_smoothing:
            uniform = -tf.reduce_mean(logs, axis=-1)
            trained += self.label_smoothing * (uniform - losses)
        if self.language_model_weight:
            alone = -tf.gather(log_probabilities(None), targets, batch_dims=1)
            trained += self.language_model_weight * alone
        columns = tf.stack([losses, tf.ones_like(losses), trained], axis=1)
        return tf.math.unsorted_segment_sum(columns, where[:, 0], tf.shape(ids)[0])

    @property
    def decoder(self):
        """The native causal transformer that decodes."""
        return self.encoder.decoder.native

    def read(self, given: dict, training=None) -> dict:
        """What the decoder reads of the sources: see `CrossAttentions`."""
        return self.head(self.encoded(given, training))

    def begun(self, memory: dict) -> tuple:
        """A row with the start token for each source, and the `step` that continues it: as
        `CausalEncoder.step`, with the memory in the cache."""

        def step(inputs: dict, cache: dict | None = None) -> tuple:
            cache = cache or {MEMORY: memory, OWN: None}
            between = self.head.between(cache[MEMORY])
            states, own = self.decoder.states_after(inputs, cache[OWN], between)
            mask = tf.cast(inputs["input_mask"], tf.bool)
            logits = self.decoder.logits(last_states(states, mask))
            return logits, {MEMORY: cache[MEMORY], OWN: own}

        starts = tf.fill([tf.shape(memory["mask"])[0], 1], self.end)
        return {"input_word_ids": starts, "input_mask": tf.ones_like(starts)}, step

    @property
    def end(self) -> int:
        """Id of the token before and behind a text of the decoder."""
        return self.writer.special_token_ids["end_of_segment_id"]

    @property
    def new_tokens(self) -> int:
        """Most tokens of a text."""
        return min(MAX_NEW_TOKENS, self.decoder.max_positions)

    @property
    def writer(self):
        """The preprocessor of the texts' tokens."""
        return self.encoder.decoder.preprocessor

    def get_config(self) -> dict:
        return super().get_config() | {
            "label_smoothing": self.label_smoothing,
            "language_model_weight": self.language_model_weight,
            "beams": self.beams,
            "length_penalty": self.length_penalty,
        }
