"""A pretrained causal transformer that replies: language model and choice among candidates."""

import keras
import tensorflow as tf

from hub_modules.native.causal import last_states
from tf_adapt.adaptation.adaptations import as_adaptation
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.unfreezing import make_trainable
from tf_adapt.data.packing.dialog import OTHERS, REPLIES, prompts_of
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.reinitialised import refuse_new_layers
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.dialog.heads import ReplyChooser
from tf_adapt.models.written_texts import written_texts
from tf_adapt.tasks.by_kind.dialog import MAX_NEW_TOKENS
from tf_adapt.tasks.task import Task


def build_dialog_model(
    task: Task, encoder: HubEncoder, adaptation: str | Adaptation | None = None
) -> "DialogModel":
    """A causal encoder with the tokens of dialogues, ready for `compile` and exchanges.

    Raises:
        ConfigError: the adaptation is unknown or contradicts the encoder, or the encoder would be
            frozen: the embeddings of its new tokens have to be learnt; layers are to be drawn
            anew; gradient checkpointing.
    """
    adaptation = None if adaptation is None else as_adaptation(adaptation)
    if adaptation is not None:
        refuse_new_layers(adaptation.reinitialised, task.kind)
        make_trainable(encoder, adaptation)
    if not encoder.trainable_weights or (adaptation is not None and adaptation.pairs is not None):
        raise ConfigError(
            "adaptation: expected one that trains the encoder for dialog, whose delimiters and "
            f"segments are new, got {getattr(adaptation, 'name', 'a frozen encoder')}; take "
            "fine_tuning, gradual_unfreezing, lora or adapters"
        )
    if encoder.gradient_checkpointing:
        raise ConfigError(
            "training.gradient_checkpointing: expected false for dialog, where a prompt is read "
            "once for all its candidates, got true"
        )
    return DialogModel(task, encoder, ReplyChooser(), adaptation=adaptation)


@keras.saving.register_keras_serializable("tf_adapt")
class DialogModel(AdaptedModel):
    """An `AdaptedModel` of the next reply. Each prompt is read once, the candidates behind it.

    Shapes: inputs `{"a": …}` with the encoder's of the prompts, `[batch, time]`, up to the token
    before the reply, `replies` `[batch, candidates, time] int32`, the right reply first, −1 at
    padding, and `others` `[batch, others, time] int32`, further wrong replies → `[batch, 2 +
    candidates]`: the sum of `−log p` of the right reply's tokens, their number, and a score of each
    candidate.
    """

    beams = 1  # a reply is greedy

    def call(self, inputs, training=None):
        given = inputs["a"]
        return self._scored(self.read(given, training), given[REPLIES], training)

    def predictions(self, inputs) -> dict:
        """In inference mode the greedy reply, `[batch] string`; of the right one the summed loss
        and the tokens, `[batch]`, and the scores of all candidates, itself first."""
        given = inputs["a"]
        read, replies = self.read(given), _together(given[REPLIES], given[OTHERS])
        outputs = self._scored(read, replies)
        return {
            "reply": written_texts(self, read),
            "loss": outputs[:, 0],
            "tokens": outputs[:, 1],
            "choices": outputs[:, 2:],
        }

    def read(self, given: dict, training=None) -> dict:
        """Prompts, the top state of each one's last token, and their keys and values."""
        prompts = prompts_of(given)
        states, cache = self.encoder.native.states_after(prompts, training=training)
        last = last_states(states, prompts["input_mask"] > 0)
        return {"prompts": prompts, "last": last, "cache": cache}

    def _scored(self, read: dict, replies, training=None):
        """See the shapes of a call."""
        mask = replies >= 0
        counts = tf.math.count_nonzero(mask, axis=2, dtype=tf.int32)
        lengths = tf.reduce_sum(counts, axis=1)
        # Without labels there is one reply, of no tokens.
        shape = tf.stack([tf.size(lengths), tf.maximum(1, tf.reduce_max(lengths))])

        def in_one_row(values):
            """Of each token, reply behind reply: `[batch, replies, time]` → `[batch, tokens]`."""
            values = tf.boolean_mask(tf.broadcast_to(values, tf.shape(replies)), mask)
            return tf.RaggedTensor.from_row_lengths(values, lengths).to_tensor(-1, shape=shape)

        ids = in_one_row(replies)
        branches = in_one_row(tf.range(tf.shape(replies)[1])[:, None])
        rows = {
            "input_word_ids": tf.maximum(ids, 0),
            "input_mask": tf.cast(ids >= 0, tf.int32),
            "input_type_ids": tf.ones_like(ids),
        }
        states = self.encoder.native.branches_after(rows, branches, read["cache"], training)
        ends = tf.maximum(tf.cumsum(counts, axis=1) - 1, 0)
        scores = self.head(tf.gather(states, ends, batch_dims=1), training=training)
        before = tf.concat([read["last"][:, None], states[:, :-1]], axis=1)
        losses, tokens = self._language_model(before, tf.where(branches == 0, ids, -1))
        return tf.concat([losses[:, None], tokens[:, None], scores], axis=1)

    def _language_model(self, before, ids) -> tuple:
        """Sum of `−log p` of each reply's tokens from the states before them, and their number,
        `[batch] float32`."""
        where = tf.where(ids >= 0)
        logits = self.encoder.native.logits(tf.gather_nd(before, where))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.gather_nd(ids, where), logits)
        sums = tf.math.unsorted_segment_sum(losses, where[:, 0], tf.shape(ids)[0])
        return sums, tf.math.count_nonzero(ids >= 0, axis=1, dtype=tf.float32)

    def begun(self, read: dict) -> tuple:
        """Prompts that were read, and the `step` that continues them: see `CausalEncoder.step`."""
        native = self.encoder.native

        def step(inputs: dict, cache: dict | None = None) -> tuple:
            if cache is None:
                return native.logits(read["last"]), read["cache"]
            return native.step(inputs, cache)

        return read["prompts"], step

    @property
    def end(self) -> int:
        """Id of the token behind a reply."""
        return self.encoder.native.vocabulary_size + 1

    @property
    def new_tokens(self) -> int:
        """Most tokens of a reply."""
        return MAX_NEW_TOKENS

    @property
    def writer(self):
        """The preprocessor of the replies' tokens."""
        return self.encoder.preprocessor


def _together(*replies):
    """Replies of several tensors, `[batch, replies, time]`, −1 at padding, as one."""
    longest = tf.reduce_max([tf.shape(one)[2] for one in replies])
    padded = [
        tf.pad(one, [[0, 0], [0, 0], [0, longest - tf.shape(one)[2]]], constant_values=-1)
        for one in replies
    ]
    return tf.concat(padded, axis=1)
