"""Batches of several tasks for one `MultiTaskModel`: each batch is of one task."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_adapt.data.batches import epoch_order, shortest_first, untuned
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.data.task_sampling import probabilities
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.task import Task

Batch = tuple[str, np.ndarray]  # task, indices of its examples
_PREFETCHED = 4


@dataclass(frozen=True)
class TaskOrder:
    """Which task and which examples each step of an epoch trains, a function of (seed, epoch).

    The task of each optimizer step is drawn with the `probabilities` of the epoch. The batches of a
    task go through its data pass after pass, over the epochs; the order of a pass is that of the
    epoch of this number in a training on the task alone.

    Args:
        lengths: task → tokens of each of its examples, `[examples]`.
        sampling: a name of `tf_adapt.data.task_sampling.SAMPLINGS`.
        epochs: number of epochs over which sampling is annealed.
        steps: number of steps of an epoch; None: as many as the tasks have batches together.
        accumulate_steps: successive batches of one task, those of one step of an optimizer that
            accumulates gradients; the last step of an epoch may have fewer.
        target: the only task of all later epochs, each one pass over its data.

    Raises:
        ConfigError: as `probabilities`, or `batch_size` is less than 1.
    """

    lengths: dict[str, np.ndarray]
    batch_size: int
    seed: int
    sampling: str
    epochs: int
    steps: int | None = None
    accumulate_steps: int = 1
    target: str | None = None

    def __post_init__(self):
        if self.batch_size < 1:
            raise ConfigError(f"batch_size: expected at least 1, got {self.batch_size}")
        self.probabilities(0)

    def probabilities(self, epoch: int) -> dict[str, float]:
        """The probability of each task in a step of an epoch."""
        if self._is_on_target(epoch):
            return {task: float(task == self.target) for task in self.lengths}
        sizes = [len(lengths) for lengths in self.lengths.values()]
        of_tasks = probabilities(sizes, self.sampling, epoch, self.epochs)
        return dict(zip(self.lengths, of_tasks.tolist(), strict=True))

    def steps_of(self, epoch: int) -> int:
        """Number of steps of an epoch."""
        if self._is_on_target(epoch):
            return self.batches_of(self.target)
        return self.steps or sum(map(self.batches_of, self.lengths))

    def batches_of(self, task: str) -> int:
        """Number of batches of one pass over a task's data."""
        return -(-len(self.lengths[task]) // self.batch_size)

    def epoch(self, epoch: int) -> list[Batch]:
        """Task and examples of each step of an epoch."""
        sampled = min(epoch, self.epochs) if self.target else epoch
        trained = sum(map(self._counts, range(sampled)), np.zeros(len(self.lengths), int))
        if self._is_on_target(epoch):
            # A pass of its own, after those that have begun.
            done = trained[list(self.lengths).index(self.target)]
            number = -(-done // self.batches_of(self.target)) + epoch - self.epochs
            return [(self.target, batch) for batch in self._pass(self.target, number)]
        batches = [
            self._batches(task, int(first))
            for task, first in zip(self.lengths, trained, strict=True)
        ]
        tasks = list(self.lengths)
        return [(tasks[number], next(batches[number])) for number in self._drawn(epoch)]

    def _is_on_target(self, epoch: int) -> bool:
        return self.target is not None and epoch >= self.epochs

    def _drawn(self, epoch: int) -> np.ndarray:
        """The number of the task of each step."""
        random = np.random.default_rng([self.seed, epoch, 1])
        share = list(self.probabilities(epoch).values())
        steps = self.steps_of(epoch)
        updates = -(-steps // self.accumulate_steps)
        return random.choice(len(share), updates, p=share).repeat(self.accumulate_steps)[:steps]

    def _counts(self, epoch: int) -> np.ndarray:
        return np.bincount(self._drawn(epoch), minlength=len(self.lengths))

    def _batches(self, task: str, first: int) -> Iterator[np.ndarray]:
        """The batches of a task from the `first`-th on, pass after pass."""
        number, skip = divmod(first, self.batches_of(task))
        for later in itertools.count():
            yield from self._pass(task, number + later)[0 if later else skip :]

    def _pass(self, task: str, number: int) -> list[np.ndarray]:
        return epoch_order(self.lengths[task], self.batch_size, self.seed, number)


def multi_task_batches(
    records: Mapping[str, Any],
    tasks: Mapping[str, Task],
    encoder: Any,
    batch_size: int = 32,
    sampling: str = "proportional",
    epochs: int | None = None,
    steps_per_epoch: int | None = None,
    seed: int = 0,
    shuffle: bool = True,
    max_length: int | None = None,
    truncate: bool = False,
    first_epoch: int = 0,
    accumulate_steps: int = 1,
    document_context: bool = False,
) -> tf.data.Dataset:
    """Examples of several tasks as a dataset for `fit` and `evaluate` of a `MultiTaskModel`.

    One pass is one epoch. For each step of the optimizer one task is drawn with probability
    `nᵢ^α / Σⱼ nⱼ^α`, nᵢ its number of examples: α = 1 (proportional), 0.5 (square root), 0
    (uniform) or falling from 1 to 0.2 over the epochs (annealed). A task's batches go through its
    data pass after pass, over the epochs.

    Shapes: `(number, {task: (inputs, targets)})`: `number` `[batch] int32` is the position in
    `tasks` of the batch's task, whose inputs and targets are those of `tf_adapt.batches`; those of
    the other tasks are empty, `[batch, 0, …]`. Under a distribution strategy Keras starts more
    passes than it finishes, so that epochs are skipped.

    Args:
        records: for each task its examples, as for `tf_adapt.batches`. A part of the tasks will do:
            with one alone the last epochs can be trained on that task.
        tasks: the tasks of the model, in its order.
        encoder: the model's encoder.
        sampling: proportional, square_root, annealed or uniform.
        epochs: number of epochs over which sampling is annealed.
        steps_per_epoch: by default as many as the tasks have batches together.
        shuffle: with False, an epoch has all examples of each task once, task after task, sorted by
            length: for `evaluate`.
        max_length, truncate, document_context: see `tf_adapt.data.packing.prepare.prepare`.
        first_epoch: the epoch of the first pass.
        accumulate_steps: `gradient_accumulation_steps` of the `DiscriminativeOptimizer`: all
            batches of an update are then of one task.

    Raises:
        ConfigError: a task is not among `tasks`, `sampling` is unknown, or annealed without
            `epochs`; as `prepare`.
        DataError: as `prepare`.

    References: Stickland and Murray 2019, "BERT and PALs", section 4.1.
    """
    unknown = sorted(records.keys() - tasks.keys())
    if unknown or not records:
        raise ConfigError(
            f"records: expected examples of some of the tasks {', '.join(tasks)}, got "
            f"{', '.join(unknown) or 'none'}"
        )
    if sampling == "annealed" and shuffle and epochs is None:
        raise ConfigError("epochs: expected their number with sampling='annealed', got None")
    limits = (max_length, truncate, document_context)
    prepared = {
        name: prepare(records[name], tasks[name], encoder, *limits)
        for name in tasks
        if name in records
    }
    if not shuffle:
        return all_batches(prepared, batch_size, list(tasks))
    lengths = {name: data.lengths for name, data in prepared.items()}
    order = TaskOrder(
        lengths, batch_size, seed, sampling, epochs or 1, steps_per_epoch, accumulate_steps
    )
    iterations = itertools.count(first_epoch)
    dataset = _dataset(prepared, list(tasks), lambda: iter(order.epoch(next(iterations))))
    return dataset.apply(tf.data.experimental.assert_cardinality(order.steps_of(0)))


def batches_of_steps(
    prepared: dict[str, PreparedData], steps: list[Batch], tasks: list[str]
) -> tf.data.Dataset:
    """The batches of these steps; every iteration returns the same ones.

    Args:
        tasks: the tasks of the model, in its order.
    """
    dataset = _dataset(prepared, tasks, lambda: iter(steps))
    return dataset.apply(tf.data.experimental.assert_cardinality(len(steps)))


def all_batches(
    prepared: dict[str, PreparedData], batch_size: int, tasks: list[str]
) -> tf.data.Dataset:
    """All examples of each task, task after task, sorted by length.

    Raises:
        ConfigError: `batch_size` is less than 1.
    """
    steps = [
        (name, batch)
        for name, data in prepared.items()
        for batch in shortest_first(data, batch_size)
    ]
    return batches_of_steps(prepared, steps, tasks)


def _dataset(
    prepared: dict[str, PreparedData], tasks: list[str], order: Callable[[], Iterable[Batch]]
) -> tf.data.Dataset:
    index = tf.TensorSpec([None], tf.int64)
    specs = {
        name: data.batch.get_concrete_function(index).structured_outputs
        for name, data in prepared.items()
    }
    numbers = tf.constant([tasks.index(name) for name in prepared])
    places = {name: place for place, name in enumerate(prepared)}

    def numbered():
        for name, examples in order():
            yield places[name], examples

    def batch_of(name: str, examples: tf.Tensor) -> dict:
        return {
            other: data.batch(examples)
            if other == name
            else _empty(specs[other], tf.size(examples))
            for other, data in prepared.items()
        }

    @functools.partial(tf.function, autograph=False)
    def batch(place, examples):
        branches = [functools.partial(batch_of, name, examples) for name in prepared]
        return tf.fill(tf.shape(examples), numbers[place]), tf.switch_case(place, branches)

    signature = (tf.TensorSpec([], tf.int32), index)
    dataset = tf.data.Dataset.from_generator(numbered, output_signature=signature)
    dataset = dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
    return untuned(dataset.prefetch(_PREFETCHED))


def _empty(spec: Any, count: tf.Tensor) -> Any:
    """Tensors with a row for each example and no positions.

    With rows, because a distribution strategy cuts all tensors of a batch at the same places.
    """

    def rows(spec: tf.TensorSpec) -> tf.Tensor:
        return tf.zeros([count, *(size or 0 for size in spec.shape[1:])], spec.dtype)

    return tf.nest.map_structure(rows, spec)
