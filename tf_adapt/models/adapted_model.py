"""Encoder and head as one Keras model."""

import contextlib
import functools
from collections.abc import Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf

from hub_modules.families import FAMILIES
from hub_modules.native.added.settings import TaskAttention
from hub_modules.native.inference_graph import InferenceGraph
from hub_modules.native.weights import is_trainable
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.unfreezing import group_names, in_order_of
from tf_adapt.data.batches import PreparedData, epoch_batches, epoch_order, uncounted
from tf_adapt.data.packing.prepared import LABELLED, SOFT_LABELS
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.heads.head_layer import check_registered
from tf_adapt.heads.size import check_size, is_wide
from tf_adapt.layers.global_mean import weights_like
from tf_adapt.layers.moving_averages import moving_averages
from tf_adapt.models.kinds import KINDS
from tf_adapt.models.phased_model import PhasedModel, refuse_texts
from tf_adapt.models.signals.auxiliary_loss import AuxiliaryLoss, text_columns
from tf_adapt.models.signals.consistency import Consistency
from tf_adapt.models.signals.signal_annealing import SignalAnnealing
from tf_adapt.models.signals.slice_heads import SliceHeads
from tf_adapt.models.signals.teaching import Teaching
from tf_adapt.tasks.class_weights import BALANCED, Given, class_weights
from tf_adapt.tasks.losses import soft_cross_entropy
from tf_adapt.tasks.task import Task


@keras.saving.register_keras_serializable("tf_adapt")
class AdaptedModel(PhasedModel):
    """A pretrained encoder and a task-specific head.

    `fit` applies the phases of the `adaptation`: see `build_model`.

    Shapes: inputs `{"a": encoder inputs}`, or `{"a": …, "b": …}` if the texts of a pair are encoded
    separately → float32: classification and multilabel logits `[batch, labels]`; regression
    `[batch]`; tagging logits `[batch, words, tags]`, with a CRF the dict of `Tagger`; span
    extraction the logits `[batch, 1 + words, 2]` of `SpanExtractor`.

    Args:
        auxiliaries: layers called as `auxiliary(inputs, encoder=…, encoded=[…], step=…,
            training=True)` in each training step; their scalar results are added to the loss. On
            several devices a result is one device's share, as from `losses.global_mean`.
        adaptation: its phases are applied in `fit`; None: all trainable weights are trained.
        task_name: of the task, for an encoder with `task_attention`: see `build_multi_task_model`.

    Attributes:
        teaching: in training, how a teacher's answers count beside the labels; None: no teacher.
        signal_annealing: which labelled examples count in training; None: all.
        class_weights: in training, factors of the losses by label, see
            `tf_adapt.tasks.class_weights`; None: 1.
    """

    def __init__(
        self,
        task: Task,
        encoder: HubEncoder,
        head: keras.layers.Layer,
        auxiliaries: Sequence[keras.layers.Layer] = (),
        adaptation: Adaptation | None = None,
        task_name: str | None = None,
        **kwargs,
    ):
        super().__init__(encoder, adaptation, **kwargs)
        _check_task_name(encoder, task_name, auxiliaries)
        self.task = task
        self.task_name = task_name
        self.head = head
        if FAMILIES[encoder.family].rates_by_task:
            KINDS[task.kind].lstm_dropouts(encoder.native)
        self.auxiliaries = list(auxiliaries)
        self.teaching: Teaching | None = None
        self.signal_annealing: SignalAnnealing | None = None
        self.class_weights: tf.Tensor | None = None
        self._evaluates = False
        # Built here: under a distribution strategy Keras would otherwise read the data once to
        # build, and in several processes reduce that data across workers.
        inputs = KINDS[task.kind].inputs(encoder)
        if is_wide(head):
            check_size(head, [self.encoded(inputs[n]) for n in text_columns(inputs)], inputs["a"])
        outputs = self(inputs)
        for auxiliary in self.auxiliaries:
            if isinstance(auxiliary, SliceHeads):
                encoded = [self.encoded(inputs[name]) for name in sorted(inputs)]
                auxiliary.make_heads(head, encoded, inputs["a"])
        # A head with a CRF returns a dict with `tags`, and has its own loss.
        self.decodes = isinstance(outputs, dict)
        if self._consistencies() and moving_averages(head):
            raise ConfigError(
                "head: expected one without batch normalisation together with consistency, whose "
                "perturbed texts would be among its averages, got one with it; take linear"
            )
        if self.decodes and self._consistencies():
            raise ConfigError(
                "head: expected one without a CRF together with consistency, whose predictions are "
                "compared word by word, got one with a CRF; take linear_tagger or bilstm"
            )

    def build(self, input_shape=None):
        """Creates nothing: encoder and head create their own weights.

        Without this method Keras would first trace a graph of the whole model, and TensorFlow never
        frees a graph with custom gradients.
        """

    def call(self, inputs, training=None, with_auxiliaries=False):
        """As in Keras; with `with_auxiliaries` also returns the sum of the auxiliary losses."""
        encoded, outputs = self._encoded_and_outputs(inputs, training)
        if not with_auxiliaries:
            return outputs
        step = tf.convert_to_tensor(self.optimizer.iterations)
        # Returned instead of `add_loss`: its list is shared by all replicas, so that each would
        # count the others' losses.
        given = {"encoder": self.encoder, "encoded": encoded, "step": step, "training": training}
        return outputs, sum(
            auxiliary(inputs, **given, outputs_of=self._outputs_of)
            if isinstance(auxiliary, AuxiliaryLoss)
            else auxiliary(inputs, **given)
            for auxiliary in self.auxiliaries
        )

    def encoded(self, inputs: dict, training=None) -> dict:
        """The encoder's outputs for the inputs of one text column, as the task's head gets them."""
        options = {} if self.task_name is None else {"task": self.task_name}
        return self.encoder(inputs, training=training, **options)

    def _outputs_of(self, texts: dict, training):
        return self._encoded_and_outputs(texts, training)[1]

    def _encoded_and_outputs(self, texts: dict, training) -> tuple:
        encoded = [self.encoded(texts[name], training) for name in text_columns(texts)]
        outputs = self.head(encoded, texts["a"], training=training and is_trainable(self.head))
        return encoded, outputs

    def _consistencies(self) -> list[Consistency]:
        objectives = [getattr(auxiliary, "objective", None) for auxiliary in self.auxiliaries]
        return [objective for objective in objectives if isinstance(objective, Consistency)]

    @property
    def chosen_reading(self) -> dict:
        """What was chosen of the head's reading where nothing was given, for its description."""
        return {}

    def epoch_order(
        self, prepared: PreparedData, batch_size: int, seed: int, epoch: int
    ) -> list[np.ndarray]:
        """The numbers of the examples of each batch of an epoch."""
        return epoch_order(prepared.lengths, batch_size, seed, epoch)

    def epoch_batches(
        self, prepared: PreparedData, batch_size: int, seed: int, epoch: int, skip: int = 0
    ) -> tf.data.Dataset:
        """The batches of an epoch from the `skip`-th on, for `fit`."""
        return epoch_batches(prepared, batch_size, seed, epoch, skip)

    @contextlib.contextmanager
    def weighted(self, given: Given | None, examples) -> Iterator[None]:
        """With `class_weight` in `fit`, the model in the body trains with these weights.

        Args:
            given: "balanced", or factors by label or id.
            examples: batches, in which labels are counted.

        Raises:
            ConfigError: as `tf_adapt.tasks.class_weights.class_weights` and `uncounted`.
        """
        if not given:
            yield
            return
        before = self.class_weights
        counted = uncounted(examples) if given == BALANCED else ()
        targets = (np.asarray(batch[1]) for batch in counted)
        self._weigh(tf.constant(class_weights(self.task, given, targets)))
        try:
            yield
        finally:
            self._weigh(before)

    def _weigh(self, weights: tf.Tensor | None) -> None:
        self.class_weights = weights
        self.train_function = None  # the traced steps have the old ones

    @functools.wraps(keras.Model.evaluate)
    def evaluate(self, x=None, *args, **kwargs):
        refuse_texts("evaluate", x)
        self._evaluates = True
        try:
            return super().evaluate(x, *args, **kwargs)
        finally:
            self._evaluates = False

    def get_metrics_result(self) -> dict:
        """As in Keras; what is measured in training only is left out of an evaluation."""
        results = super().get_metrics_result()
        shown = {
            metric.name for consistency in self._consistencies() for metric in consistency.metrics
        }
        unused = shown if self._evaluates else set()
        return {name: value for name, value in results.items() if name not in unused}

    def predictions(self, inputs) -> dict:
        """Class ids and probabilities in inference mode, for `predict` and for the served model.

        Shapes: regression: `score` `[batch] float32`; multilabel: `probabilities`
        `[batch, labels] float32`, the input of `tf_adapt.tasks.thresholds.chosen`; else `label`
        `[batch] int32` and `probabilities` `[batch, labels] float32`; for tagging
        `[batch, words]` and `[batch, words, tags]`, with a CRF also its `logits`
        `[batch, words, tags]`. Span extraction: of each window those of
        `tf_adapt.tasks.best_spans.best_spans`, and of labelled ones their `loss` `[batch] float32`.
        """
        outputs = self(inputs, training=False)
        return KINDS[self.task.kind].predictions(self, outputs, inputs["a"])

    @functools.cached_property
    def inference(self) -> InferenceGraph:
        """`predictions` as a graph."""
        return InferenceGraph(self, self.predictions)

    def compile(self, optimizer="rmsprop", loss=None, **kwargs):
        """As in Keras. A head with a CRF uses its own loss instead of the task's.

        Raises:
            ConfigError: a loss other than the task's for such a head.
        """
        if not self.decodes:
            return super().compile(optimizer=optimizer, loss=loss, **kwargs)
        if loss is not None and type(loss) is not type(self.task.loss):
            raise ConfigError(
                f"loss: a CRF is trained with its own; expected task.loss or None, got {loss!r}"
            )
        return super().compile(optimizer=optimizer, **kwargs)

    def compile_from_config(self, config: dict) -> None:
        """As in Keras, which skips it if a model overrides `compile`: a model loaded from a
        `.keras` file would have neither loss nor optimizer."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None:
            # Built as before saving: some of these weights may be frozen in the current phase.
            self.optimizer.build(in_order_of(self, self._ever_trained()))

    def export(self, *args, **kwargs):
        """Not supported: Keras' export would map ids to logits. Use `tf_adapt.export`.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "model.export: use tf_adapt.export(model, folder), which takes texts and gives labels "
            "and scores"
        )

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """As in Keras; for a head with a CRF, its own loss plus the penalties.

        In training with `class_weights` these multiply the sample weights. With a teacher see
        `Teaching`, with annealing `SignalAnnealing`; with probabilities of the labels, their
        `soft_cross_entropy` takes the place of the task's loss.
        """
        if training and self.class_weights is not None:
            weights = KINDS[self.task.kind].label_weights(self.class_weights, y, self.decodes)
            if sample_weight is not None:
                weights *= weights_like(sample_weight, weights)
            sample_weight = weights
        if training and SOFT_LABELS in x["a"]:
            return self._with_penalties(soft_cross_entropy(x["a"][SOFT_LABELS], y_pred))
        if training and self.signal_annealing is not None:
            step = tf.convert_to_tensor(self.optimizer.iterations)
            return self._with_penalties(self.signal_annealing.loss(y, y_pred, step))
        if training and self.teaching is not None:
            weights = self.teaching.label_weights(x["a"], y)
            label_loss = super().compute_loss(x, y, y_pred, weights, training)
            return label_loss + self.teaching.soft_loss(x["a"], y, y_pred)
        if not self.decodes:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        return self._with_penalties(self.head.loss(y, y_pred, sample_weight))

    def _with_penalties(self, loss):
        # Keras sums the losses of the replicas.
        return loss + sum(self.losses) / self.distribute_strategy.num_replicas_in_sync

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """As in Keras; for a head with a CRF, of the decoded tags; of examples with labels only."""
        if self.decodes:
            y_pred = tf.one_hot(y_pred["tags"], self.task.num_outputs)
        if LABELLED in x["a"]:
            real = x["a"][LABELLED] > 0
            y, y_pred = tf.boolean_mask(y, real), tf.boolean_mask(y_pred, real)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def outputs_in_training(self, x) -> tuple:
        """The outputs, and this replica's share of the auxiliary losses."""
        if self.auxiliaries:
            return self(x, training=True, with_auxiliaries=True)
        return self(x, training=True), 0.0

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Builds metrics from a dummy batch instead of one from the data (see `__init__`)."""
        super()._maybe_symbolic_build(data_batch=self._example_batch())

    def build_metrics(self) -> None:
        """Creates the variables of the metrics, before any step is traced."""
        self._symbolic_build(data_batch=self._example_batch())

    def _example_batch(self) -> tuple:
        row = KINDS[self.task.kind]
        return row.inputs(self.encoder), row.targets(self.task), None

    def get_config(self) -> dict:
        check_registered(self.head)
        parts = {"task": self.task, "encoder": self.encoder, "head": self.head}
        config = {name: keras.saving.serialize_keras_object(part) for name, part in parts.items()}
        serialized = [keras.saving.serialize_keras_object(part) for part in self.auxiliaries]
        phases = self.adaptation and self.adaptation.as_values(group_names(self.encoder))
        task_name = {} if self.task_name is None else {"task_name": self.task_name}
        return config | {"auxiliaries": serialized, "adaptation": phases, **task_name}

    @classmethod
    def from_config(cls, config: dict, custom_objects=None) -> "AdaptedModel":
        values = config.get("adaptation")  # not in files of earlier versions
        parts = {
            name: keras.saving.deserialize_keras_object(part)
            for name, part in config.items()
            if name not in ("adaptation", "task_name")
        }
        adaptation = values and Adaptation.of_values(values)
        return cls(**parts, adaptation=adaptation, task_name=config.get("task_name"))

    def build_from_config(self, config: dict) -> None:
        """Does nothing: the constructor builds the model."""


def _check_task_name(encoder: HubEncoder, name: str | None, auxiliaries: Sequence) -> None:
    shared = isinstance(encoder.added, TaskAttention)
    if name is not None and not shared:
        raise ConfigError(
            f"task_name: expected none for an encoder without task_attention, got {name!r}"
        )
    if shared and auxiliaries:
        raise ConfigError(
            "auxiliaries: expected none with task_attention, whose encoder is called for a task"
        )
