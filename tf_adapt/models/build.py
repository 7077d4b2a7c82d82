"""Builds the model of a task: an encoder with a head on top."""

from collections.abc import Sequence

import keras

from tf_adapt.adaptation.adaptations import as_adaptation
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.unfreezing import make_trainable
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.reinitialised import reinitialise
from tf_adapt.heads.reading import reading
from tf_adapt.heads.table import build_head
from tf_adapt.heads.vector_head import as_head
from tf_adapt.layers.head_inputs import head_inputs_of
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.contrastive.contrastive_model import ContrastiveModel
from tf_adapt.models.contrastive.heads import checked_head
from tf_adapt.models.kinds import KINDS
from tf_adapt.models.signals.consistency import check_dropout
from tf_adapt.models.signals.slice_heads import SliceHeads
from tf_adapt.tasks.task import Task


def build_model(
    task: Task,
    encoder: HubEncoder,
    head: str | keras.layers.Layer = "default",
    adaptation: str | Adaptation | None = None,
    head_dropout: float | None = None,
    head_units: int | None = None,
    auxiliaries: Sequence[keras.layers.Layer] = (),
    head_pooling: str | None = None,
    head_word_pieces: str | None = None,
    task_name: str | None = None,
    head_mixed: bool | None = None,
    head_scaled: bool | None = None,
) -> AdaptedModel:
    """An encoder with a task's head on top, built and ready for `compile`.

    A `ScalarMix` in a head that is given by name starts from the ELMo module's own mix of its
    layers, where it has one (`HubEncoder.layer_mix`).

    Args:
        task: the task.
        encoder: a `HubEncoder`.
        head: "default" (the paper's for this task, encoder and adaptation: see
            `tf_adapt.paper.HEADS`), another name of `tf_adapt.heads.table.HEADS`, or a Keras layer
            of your own: one with one input, as `Dense(4)`, is called on the vector that `linear`
            reads (`head_pooling` chooses it); for others see below.
        adaptation: which groups are trained when: a name, or an object such as `ta.lora(rank=4)`
            (`tf_adapt.adaptation.adaptations`); None: the trainable weights of the encoder. The
            encoder is given the weights that it adds (LoRA, adapters), once. All groups that it
            ever trains are made trainable. If it has several phases, `fit` applies them with the
            callback `Unfreezing`, which it adds unless one for this encoder is given;
            `train_on_batch` trains all of these groups.
        head_dropout, head_units: of a head given by name: dropout rate, and width of each direction
            of its LSTMs; by default the published ones.
        auxiliaries: losses added to the task's loss in training: see `AuxiliaryLoss`.
        head_pooling: of a head given by name, not for tagging: "first", "last", "mean" or "max" of
            the states that it pools to a vector; by default its published pooling, of `linear` on a
            frozen encoder the mean.
        head_word_pieces: of a head given by name, for tagging: which pieces of a word stand for it,
            "first", "last", or the "mean" or "max" of all; by default first, of an AWD-LSTM last.
        task_name: of the task, for an encoder with `task_attention`: see `build_multi_task_model`.
        head_mixed: whether a head given by name reads a learned mix of all layers instead of the
            top layer; by default on a frozen encoder.
        head_scaled: whether `linear`, "cosine" or "euclidean" standardises what it reads of each
            layer of a frozen encoder, with mean and deviation of the texts of the first `fit`; by
            default where it can. False: `linear` reads the pooled vector, or what `head_pooling`
            says.

    A head of your own is called as `head(encoded, inputs, training=…)`. `encoded` is a list of the
    encoder's outputs: one dict for a text, or for a pair that BERT encodes as one row; two dicts if
    the texts of a pair are encoded separately. Each has

    - `layers`: list of the hidden states `[batch, time, width]` of each layer, bottom to top;
      `time` is word pieces and special tokens for BERT, words for ELMo;
    - `mask`: `[batch, time] bool`, False at padding, where hidden states are undefined;
    - `pooled`: `[batch, width]`, for BERT.

    `inputs` are the encoder's inputs for the first dict: BERT's `input_word_ids`, `input_mask` and
    `input_type_ids` (0 in the first text of a pair, 1 in the second), for tagging also
    `first_piece` and `last_piece` `[batch, words] int32`, the positions of each word's first and
    last piece (−1 is padding).
    The head returns float32 logits `[batch, labels]`; for tagging `[batch, words, labels]`; for
    regression values `[batch]`; for span extraction those of `SpanExtractor`, whose inputs have
    what `tf_adapt.data.packing.span_windows.pack_spans` adds.

    Raises:
        ConfigError: the adaptation is unknown, or contradicts the encoder; as `build_head` and
            `check_dropout`.

    Examples:
        >>> class MeanHead(keras.layers.Layer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.dense = keras.layers.Dense(2, dtype="float32")
        ...
        ...     def call(self, encoded, inputs=None, training=None):
        ...         real = keras.ops.cast(encoded[0]["mask"], "float32")[..., None]
        ...         states = keras.ops.cast(encoded[0]["layers"][-1], "float32") * real
        ...         return self.dense(keras.ops.sum(states, axis=1) / keras.ops.sum(real, axis=1))
    """
    KINDS[task.kind].check_encoder(encoder)
    encoder.leave_unread(())  # undo what an earlier head on this encoder left unread
    adaptation = None if adaptation is None else as_adaptation(adaptation)
    if adaptation is not None:
        make_trainable(encoder, adaptation)
        if adaptation.reinitialised:
            reinitialise(encoder, adaptation.reinitialised)
    # Groups whose outputs the head does not use get no gradient: an ELMo module's own mix of its
    # layers, and BERT's pooler with most of our heads. A user's own head may use the pooler.
    unread = ["aggregation"]
    is_contrastive = adaptation is not None and adaptation.pairs is not None
    if is_contrastive:
        head, head_pooling = checked_head(head, head_pooling, task, encoder)
    by_name = isinstance(head, str)
    frozen = not encoder.trainable_groups
    if by_name:
        head = build_head(
            head,
            task,
            encoder.family,
            frozen,
            head_dropout,
            head_units,
            encoder.joint_pairs,
            head_pooling,
            head_word_pieces,
            head_mixed,
            head_scaled,
        )
        unread += [] if head_inputs_of(head).pooled else ["pooler"]
    else:
        given = (head_pooling, head_mixed, head_scaled)
        head = as_head(head, task, reading("linear", encoder.family, frozen, *given))
    encoder.leave_unread(unread)
    kind_of_model = ContrastiveModel if is_contrastive else AdaptedModel
    model = kind_of_model(task, encoder, head, auxiliaries, adaptation, task_name)
    if by_name and any(
        consistency.perturbation == "dropout" for consistency in model._consistencies()
    ):
        check_dropout(encoder, head)
    if by_name and encoder.layer_mix is not None:
        of_slices = [auxiliary for auxiliary in auxiliaries if isinstance(auxiliary, SliceHeads)]
        for layer in (inner for part in (head, *of_slices) for inner in part._flatten_layers()):
            if isinstance(layer, ScalarMix):
                layer.start_from(encoder.layer_mix.weights, encoder.layer_mix.scale)
    return model
