"""The diagonal of the Fisher information: how much each weight affects a model's predictions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.storage.arrays import packed, read_arrays
from hub_modules.storage.files import write_bytes
from tf_adapt.adaptation.kinds import KINDS
from tf_adapt.adaptation.likelihoods import refuse_sampled
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ArtifactError, ConfigError

# Example, seed `[2] int32` → log-probability of one outcome of that example, scalar.
LogLikelihood = Callable[[Any, tf.Tensor], tf.Tensor]


def fisher_diagonal(
    log_likelihood: LogLikelihood,
    weights: Mapping[str, keras.Variable],
    inputs: Iterable,
    examples: int = 200,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Mean over single examples x of `(∂ log p(y | x) / ∂w)²`, elementwise for each weight.

    With y sampled from the model (`sampled_targets`) it estimates the true Fisher information; with
    the labels as y it is the "empirical" Fisher, which also grows with the model's errors. If an
    outcome has several parts, such as tags, y is all of them together.

    Args:
        log_likelihood: differentiable, in inference mode. It is traced as a graph.
        weights: by name; all must be trainable: an encoder computes no gradient of frozen groups.
        inputs: the examples one by one, each a tensor or a structure of tensors.
        examples: number of examples to use, from the first on; fewer if there are no more. The
            standard error falls with the square root of this number.
        seed: of the sampled outcomes. The same seed and examples give the same result.

    Returns:
        `{name: array of the weight's shape}`, float32; 0 where an element is not used.

    Raises:
        ConfigError: there is no example or no weight, a weight is frozen, or the weights are those
            of a distribution strategy.

    Source: Kirkpatrick et al. 2017, "Overcoming catastrophic forgetting in neural networks".
    """
    frozen = [name for name, weight in weights.items() if not weight.trainable]
    if frozen or not weights:
        raise ConfigError(
            f"fisher: expected weights that learn, got {frozen[:5] or 'none'} frozen; "
            "make the encoder trainable"
        )
    if any(getattr(weight.value, "distribute_strategy", None) for weight in weights.values()):
        raise ConfigError(
            "fisher: expected a model on one device, got one made under a distribution strategy; "
            "estimate with another, made outside of the strategy's scope"
        )
    sums = [tf.Variable(tf.zeros(weight.shape), trainable=False) for weight in weights.values()]

    @tf.function(autograph=False, reduce_retracing=True)
    def add(example, example_seed):
        values = [weight.value for weight in weights.values()]
        with tf.GradientTape() as tape:
            outcome = log_likelihood(example, example_seed)
        for total, gradient in zip(sums, tape.gradient(outcome, values), strict=True):
            if gradient is not None:
                # Dense: repeated rows of an embedding's gradient are summed before the square.
                total.assign_add(tf.square(tf.cast(tf.convert_to_tensor(gradient), tf.float32)))

    count = 0
    for example in _first(inputs, examples):
        add(tf.nest.map_structure(tf.convert_to_tensor, example), tf.constant([seed, count]))
        count += 1
    if not count:
        raise ConfigError("fisher: expected at least one example, got none")
    return {name: total.numpy() / count for name, total in zip(weights, sums, strict=True)}


def task_fisher(
    model: keras.Model, batches: Iterable, examples: int = 200, seed: int = 0, sampled: bool = True
) -> dict[str, np.ndarray]:
    """`fisher_diagonal` of a task's model, for the trainable pretrained weights of its encoder.

    Args:
        model: from `build_model`, for classification (multilabel too) or tagging; or a language
            model, whose outcome is the words of a text, for BERT the pieces masked in evaluation.
        batches: labelled examples one by one: `batches(…, batch_size=1)`.
        examples, seed: as in `fisher_diagonal`.
        sampled: sample the outcomes from the model; False: use the labels. Must be False for a CRF
            and for a language model.

    Raises:
        ConfigError: as `fisher_diagonal`; a regression or span extraction; batches without labels
            or of more than one example; `sampled` for a CRF or a language model.
    """
    if sampled and model.decodes:
        refuse_sampled("a CRF")
    likelihood = KINDS[model.task.kind].likelihood(model.task.kind, sampled)

    def log_likelihood(example, example_seed):
        inputs, targets = example
        outputs = model(inputs, training=False)
        if model.decodes:
            # The loss is the mean over sentences; here there is one.
            return -model.head.loss(targets, outputs)
        return likelihood(outputs, targets, example_seed if sampled else None)

    known = pretrained_weights(model.encoder)
    weights = {name: weight for name, weight in known.items() if weight.trainable}
    return fisher_diagonal(log_likelihood, weights, _single(batches), examples, seed)


def accumulated_fisher(
    fisher: Mapping[str, np.ndarray], previous: Mapping[str, np.ndarray], gamma: float
) -> dict[str, np.ndarray]:
    """`γ F*_{i−1} + F_i`: the Fisher information of a chain of tasks, for online EWC.

    A weight that one of them does not have counts as 0 there.

    Args:
        fisher: F_i, of the last task.
        previous: F*_{i−1}, of the tasks before: of the same encoder.
        gamma: γ, from 0 to 1; below 1 older tasks count less and less.

    Raises:
        ConfigError: γ is out of range.

    Source: Schwarz et al. 2018, "Progress & Compress", section 3.2.
    """
    if not 0 <= gamma <= 1:
        raise ConfigError(f"gamma: expected a number from 0 to 1, got {gamma}")
    old = {name: np.float32(gamma) * array for name, array in previous.items()} if gamma else {}
    return {
        name: old[name] + fisher[name] if name in old and name in fisher else values
        for name, values in {**old, **fisher}.items()
    }


def save_fisher(path: str | Path, fisher: Mapping[str, np.ndarray]) -> None:
    """Writes the arrays as `.npz`, atomically.

    Raises:
        ArtifactError: the file cannot be written.
    """
    write_bytes(path, packed(fisher))


def load_fisher(path: str | Path) -> dict[str, np.ndarray]:
    """Reads the arrays of `save_fisher`.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    try:
        return read_arrays(path)
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"{path}: expected arrays written by save_fisher ({error}); estimate them again"
        ) from None


def _first(inputs: Iterable, examples: int) -> Iterator:
    if examples < 1:
        raise ConfigError(f"fisher: expected at least 1 example, got {examples}")
    for _, example in zip(range(examples), inputs, strict=False):
        yield example


def _single(batches: Iterable) -> Iterator:
    for batch in batches:
        if not isinstance(batch, tuple) or len(batch) != 2:
            raise ConfigError("fisher: expected labelled examples, got some without labels")
        if batch[1].shape[0] != 1:
            raise ConfigError(
                f"fisher: expected batches of one example, got {batch[1].shape[0]}; "
                "make them with batch_size=1"
            )
        yield batch
