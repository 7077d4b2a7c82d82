"""A pretrained causal transformer that replies: language model and choice among candidates."""

import keras
import tensorflow as tf

from hub_modules.native.causal import last_states
from tf_adapt.adaptation.adaptations import as_adaptation
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.unfreezing import make_trainable
from tf_adapt.data.packing.dialog import OTHERS, REPLIES, prompts_of
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
            frozen: the embeddings of its new tokens have to be learnt; gradient checkpointing.
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

    def call(self, inputs, training=None):
        given = inputs["a"]
        prompts = prompts_of(given)
        read, cache = self.encoder.native.states_after(prompts, training=training)
        states, scores = self._behind(cache, given[REPLIES], training)
        begins = last_states(read, prompts["input_mask"] > 0)
        before = tf.concat([begins[:, None], states[:, 0, :-1]], axis=1)
        losses, tokens = self._language_model(before, given[REPLIES][:, 0])
        return tf.concat([losses[:, None], tokens[:, None], scores], axis=1)

    def _behind(self, cache: dict, replies, training=None) -> tuple:
        """Top states of replies behind their prompts, `[batch, replies, time, width]`, and the
        score of each, `[batch, replies]`."""
        batch, count, time = tf.unstack(tf.shape(replies))
        ids = tf.reshape(replies, [batch * count, time])
        mask = tf.cast(ids >= 0, tf.int32)
        rows = {
            "input_word_ids": tf.maximum(ids, 0),
            "input_mask": mask,
            "input_type_ids": tf.ones_like(ids),
        }
        cache = tf.nest.map_structure(lambda one: tf.repeat(one, count, axis=0), cache)
        top, _ = self.encoder.native.states_after(rows, cache, training=training)
        scores = self.head(last_states(top, mask > 0), training=training)
        states = tf.reshape(top, [batch, count, time, top.shape[-1]])
        return states, tf.reshape(scores, [batch, count])

    def _language_model(self, before, ids) -> tuple:
        """Sum of `−log p` of each reply's tokens from the states before them, and their number,
        `[batch] float32`."""
        where = tf.where(ids >= 0)
        logits = self.encoder.native.logits(tf.gather_nd(before, where))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.gather_nd(ids, where), logits)
        sums = tf.math.unsorted_segment_sum(losses, where[:, 0], tf.shape(ids)[0])
        return sums, tf.math.count_nonzero(ids >= 0, axis=1, dtype=tf.float32)

    def begun(self, prompts: dict) -> tuple:
        """Prompts, and the `step` that continues them."""
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
        """The scores of the further wrong replies, `[batch, others] float32`."""
        _, cache = self.encoder.native.states_after(prompts_of(given))
        return self._behind(cache, given[OTHERS])[1]
