"""A pretrained causal transformer that replies: language model and choice among candidates."""

import keras
import tensorflow as tf

from hub_modules.native.causal import last_states
from tf_adapt.adaptation.adaptations import as_adaptation
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.unfreezing import make_trainable
from tf_adapt.data.packing.dialog import OTHERS, REPLY_START, prompts_of
from tf_adapt.encoder.hub_encoder import HubEncoder
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
            frozen: the embeddings of its new tokens have to be learnt.
    """
    adaptation = None if adaptation is None else as_adaptation(adaptation)
    if adaptation is not None:
        make_trainable(encoder, adaptation)
    if not encoder.trainable_weights or (adaptation is not None and adaptation.pairs is not None):
        raise ConfigError(
            "adaptation: expected one that trains the encoder for dialog, whose delimiters and "
            f"segments are new, got {getattr(adaptation, 'name', 'a frozen encoder')}; take "
            "fine_tuning, gradual_unfreezing, lora or adapters"
        )
    return DialogModel(task, encoder, ReplyChooser(), adaptation=adaptation)


@keras.saving.register_keras_serializable("tf_adapt")
class DialogModel(AdaptedModel):
    """An `AdaptedModel` of the next reply.

    Shapes: inputs `{"a": …}` with the encoder's, `[batch, candidates, time]`, the right reply
    first, `reply_start` `[batch] int32`, the position of the token before the reply, and `others`
    `[batch, others, time] int32`, further wrong replies, −1 at padding → `[batch, 2 + candidates]`:
    the sum of `−log p` of the right reply's tokens, their number, and a score of each candidate.
    """

    def call(self, inputs, training=None):
        given = inputs["a"]
        batch, candidates, time = tf.unstack(tf.shape(given["input_word_ids"]))
        rows = {
            name: tf.reshape(given[name], [batch * candidates, time])
            for name in ("input_word_ids", "input_mask", "input_type_ids")
        }
        top = self.encoded(rows, training)["layers"][-1]
        scores = self.head(last_states(top, rows["input_mask"] > 0), training=training)
        right = tf.reshape(top, [batch, candidates, time, top.shape[-1]])[:, 0]
        losses, tokens = self._language_model(right, given)
        scores = tf.reshape(scores, [batch, candidates])
        return tf.concat([losses[:, None], tokens[:, None], scores], axis=1)

    def _language_model(self, states, given: dict) -> tuple:
        """Sum of `−log p` of each right reply's tokens, and their number, `[batch] float32`."""
        ids, mask = given["input_word_ids"][:, 0], given["input_mask"][:, 0]
        places = tf.range(tf.shape(ids)[1] - 1)
        is_reply = (places >= given[REPLY_START][:, None]) & (mask[:, 1:] > 0)
        where = tf.where(is_reply)
        logits = self.encoder.native.logits(tf.gather_nd(states[:, :-1], where))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            tf.gather_nd(ids[:, 1:], where), logits
        )
        count = tf.shape(ids)[0]
        sums = tf.math.unsorted_segment_sum(losses, where[:, 0], count)
        return sums, tf.reduce_sum(tf.cast(is_reply, tf.float32), axis=1)

    def begun(self, prompts: dict) -> tuple:
        """Prompts, of `prompts_of`, and the `step` that continues them."""
        return prompts, self.encoder.native.step

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

    def replies(self, given: dict):
        """The greedy reply to each prompt, `[batch] string`."""
        return written_texts(self, prompts_of(given))

    def scores_of_others(self, given: dict):
        """The scores of the further wrong replies, `[batch, others] float32`; each prompt is read
        once."""
        native = self.encoder.native
        _, cache = native.states_after(prompts_of(given))
        batch, others, time = tf.unstack(tf.shape(given[OTHERS]))
        cache = tf.nest.map_structure(lambda one: tf.repeat(one, others, axis=0), cache)
        ids = tf.reshape(given[OTHERS], [batch * others, time])
        mask = tf.cast(ids >= 0, tf.int32)
        rows = {
            "input_word_ids": tf.maximum(ids, 0),
            "input_mask": mask,
            "input_type_ids": tf.ones_like(ids),
        }
        top, _ = native.states_after(rows, cache)
        return tf.reshape(self.head(last_states(top, mask > 0)), [batch, others])
