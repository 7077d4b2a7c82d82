"""A model that is trained on pairs of texts, and whose head is fitted in closed form."""

import contextlib
import functools
import inspect
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from hub_modules.native.inference_graph import InferenceGraph
from tf_adapt.adaptation.last_update import with_first
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.data.batches import PreparedData, made_of, sorted_batches
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.contrastive.contrasts import Contrast, cosines
from tf_adapt.models.kinds import KINDS
from tf_adapt.models.phased_model import refuse_texts
from tf_adapt.tasks.class_weights import Given
from tf_adapt.tasks.task import Task

BATCH_SIZE = 32
# Attribute of a dataset that the model is trained on as it is.
_OF_PAIRS = "_tf_adapt_pairs"


@keras.saving.register_keras_serializable("tf_adapt")
class ContrastiveModel(AdaptedModel):
    """An `AdaptedModel` that learns as `contrastive` says.

    `fit` takes a dataset of `tf_adapt.batches`: it trains the encoder on pairs of its examples, and
    fits the head after each epoch, before its evaluation. The gradient never reaches the head.

    Raises:
        ConfigError: auxiliary losses, or a head that learns more than its output layer.
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
        for name, given in (("auxiliaries", auxiliaries), ("head_mixed", head.mixed)):
            if given:
                raise ConfigError(
                    f"{name}: expected none with contrastive, which trains on pairs alone and fits "
                    f"the head in closed form, got {given}; leave it out"
                )
        super().__init__(task, encoder, head, auxiliaries, adaptation, task_name, **kwargs)
        head.trainable = False

    @property
    def contrast(self) -> Contrast:
        """What it trains on."""
        return KINDS[self.task.kind].contrast

    @property
    def chosen_reading(self) -> dict:
        """What its head reads, where that depends on the encoder: see `checked_head`."""
        return {"pooling": self.head.pooling}

    def epoch_order(
        self, prepared: PreparedData, batch_size: int, seed: int, epoch: int
    ) -> list[np.ndarray]:
        """The numbers of the examples of each batch of an epoch: of both texts of its pairs."""
        return self.contrast.order(prepared, self.adaptation.pairs, batch_size, seed, epoch)

    def epoch_batches(
        self, prepared: PreparedData, batch_size: int, seed: int, epoch: int, skip: int = 0
    ) -> tf.data.Dataset:
        """The batches of pairs of an epoch, from the `skip`-th on, for `fit`."""
        place = (batch_size, seed, epoch, skip)
        return _of_pairs(self.contrast.batches(prepared, self.adaptation.pairs, *place))

    def outputs_in_training(self, x) -> tuple:
        """The cosines of a batch of pairs, and no other loss."""
        return cosines(self, x, training=True), 0.0

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """In training that of the pairs, plus the penalties; else the task's."""
        if not training:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        return self._with_penalties(self.contrast.loss(y, y_pred))

    def results_in_training(self, x, y, y_pred, sample_weight) -> dict:
        """The loss of the pairs: the task's metrics are not of pairs."""
        return {"loss": self._loss_tracker.result()}

    def get_metrics_result(self) -> dict:
        """In an evaluation loss and metrics of the task, in training the loss of the pairs."""
        if self._evaluates:
            return super().get_metrics_result()
        return {"loss": self._loss_tracker.result()}

    @functools.cached_property
    def _features(self) -> InferenceGraph:
        return InferenceGraph(self, functools.partial(self.contrast.features, self))

    def end_epoch(self, prepared: PreparedData) -> None:
        """Fits the head on the training examples.

        Raises:
            DataError: they do not determine it.
        """
        dataset, order = sorted_batches(prepared, BATCH_SIZE)
        dataset = dataset.map(lambda inputs, *targets: inputs)
        features = self._features.for_pass(dataset.element_spec)
        parts = [features(inputs).numpy() for inputs in dataset]
        places = np.argsort(np.concatenate(order))
        self.contrast.fit(self.head, np.concatenate(parts)[places], prepared.targets.numpy())

    @functools.wraps(keras.Model.fit)
    def fit(self, *args, **kwargs):
        given = inspect.signature(keras.Model.fit).bind(self, *args, **kwargs).arguments
        given.pop("self")
        refuse_texts("fit", given.get("x"))
        if not hasattr(given.get("x"), _OF_PAIRS):
            prepared, *place = _made_of(given.get("x"))
            given["x"] = self.contrast.epochs(prepared, self.adaptation.pairs, *place)
            given["callbacks"] = with_first(given.get("callbacks"), _FitHead(prepared))
        return super().fit(**given)

    def weighted(self, given: Given | None, examples) -> contextlib.AbstractContextManager:
        """Without weights, which pairs do not have.

        Raises:
            ConfigError: there are some.
        """
        if given:
            raise ConfigError("class_weight: expected none with contrastive, got some; remove it")
        return contextlib.nullcontext()


class _FitHead(keras.callbacks.Callback):
    """Fits the head after the steps of each epoch, before its evaluation where there is one."""

    def __init__(self, prepared: PreparedData):
        super().__init__()
        self.prepared = prepared
        self.is_fitted = False

    def on_epoch_begin(self, epoch, logs=None):
        """The encoder will be another one."""
        self.is_fitted = False

    def on_test_begin(self, logs=None):
        """Fits it before the evaluation."""
        self._fit()

    def on_epoch_end(self, epoch, logs=None):
        """Fits it after an epoch that is not evaluated."""
        self._fit()

    def _fit(self) -> None:
        if not self.is_fitted:
            self.model.end_epoch(self.prepared)
        self.is_fitted = True


def _of_pairs(batches: tf.data.Dataset) -> tf.data.Dataset:
    setattr(batches, _OF_PAIRS, True)
    return batches


def _made_of(batches) -> tuple[PreparedData, int, int, int]:
    """What the dataset of a `fit` was made of.

    Raises:
        ConfigError: it is none of `tf_adapt.batches`, or has no labels or sample weights.
    """
    made = made_of(batches)
    if made is None or made[0].targets is None or made[0].weights is not None:
        raise ConfigError(
            "model.fit: expected labelled examples without weights from ta.batches with "
            "contrastive, which draws pairs of them, got something else; write "
            "model.fit(ta.batches((texts, labels), model.task, model.encoder))"
        )
    return made
