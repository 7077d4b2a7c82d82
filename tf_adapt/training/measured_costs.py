"""What a training step and a forward pass cost, measured on a few batches of a run's data."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hub_modules.storage.machine import has_gpu
from tf_adapt.config.training_sections import FeaturesConfig
from tf_adapt.data.batches import PreparedData, epoch_batches, prepare
from tf_adapt.encoder.feature_arrays import BATCH_SIZE, shard_orders
from tf_adapt.encoder.feature_cache import with_features
from tf_adapt.layers.head_inputs import head_inputs_of
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.training.costs import MeasuredCosts
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.results.memory import forget_peak, peak_memory

BATCHES = 3


def measured_costs(
    model: AdaptedModel,
    train: PreparedData,
    examples: list[Any],
    size: int,
    limits: tuple[int | None, bool, bool],
    features: FeaturesConfig,
) -> MeasuredCosts:
    """Trains `model` on `BATCHES` batches, after which it is of no further use.

    CPU seconds do not depend on what else the machine does.

    Args:
        train: of all training examples, for their lengths.
        examples: all training examples.
        size: of a batch.
        features: how the outputs of a frozen encoder are kept.
    """
    forget_peak()
    chosen = _typical(train.uncut_lengths, size)
    records = [examples[number] for number in chosen]
    sample, twice = (
        prepare(some, model.task, model.encoder, *limits) for some in (records, 2 * records)
    )
    seconds, data = _with_features(features, model, sample, twice)
    batches = -(-len(data.lengths) // size)
    all_batches = epoch_batches(data, size, 0, 0)
    in_all = len(model.epoch_order(data, size, 0, 0))
    first, later = (model.epoch_batches(data, size, 0, 0, in_all - n) for n in (1, batches))
    first_step = _seconds(lambda: model.fit(first, verbose=0))
    steps = _seconds(lambda: model.fit(later, verbose=0))
    first_pass = _seconds(lambda: model.evaluate(all_batches.take(1), verbose=0))
    passes = _seconds(lambda: model.evaluate(all_batches, verbose=0))
    count = len(data.lengths)
    evaluation = passes / count
    per_example = seconds * float(train.lengths.mean()) / _padded(sample.lengths)
    return MeasuredCosts(
        tracing=max(0.0, first_step + first_pass - (steps + passes) / batches),
        step=steps / batches,
        evaluation=evaluation,
        features=per_example,
        serving=evaluation + per_example,
        memory_mb=peak_memory()["peak_memory_mb"],
    )


def _typical(lengths: np.ndarray, size: int) -> np.ndarray:
    """The numbers of `BATCHES` times `size` examples: neighbours in length, as in a batch, of the
    middles of equal parts of all examples."""
    order = np.argsort(lengths, kind="stable")
    if len(order) <= BATCHES * size:
        return order
    middles = len(order) * (np.arange(BATCHES) + 0.5) / BATCHES
    starts = (middles - size / 2).astype(int)
    return np.concatenate([order[start : start + size] for start in starts])


def _padded(lengths: np.ndarray) -> int:
    """The tokens, with padding, of the batches in which features are computed; of all of the data,
    in the order of their lengths, hardly any are padding."""
    orders = [order[start : start + BATCH_SIZE] for order in shard_orders(lengths)
              for start in range(0, len(order), BATCH_SIZE)]  # fmt: skip
    return sum(len(batch) * int(lengths[batch].max()) for batch in orders)


def _with_features(
    features: FeaturesConfig, model: AdaptedModel, sample: PreparedData, twice: PreparedData
) -> tuple[float, PreparedData]:
    """The sample with the outputs of a frozen encoder, and the seconds that these took: what the
    sample taken twice takes more, since each call also has a cost of its own."""
    encoder = model.encoder
    if encoder.trainable_groups or KINDS[model.task.kind].head_encoder(model) is None:
        return 0.0, sample
    kept = {"head_inputs": head_inputs_of(model.head), "dtype": features.dtype}
    results: list[PreparedData] = []

    def compute(data: PreparedData) -> None:
        results.append(with_features(data, encoder, engine=features.engine, **kept))

    compute(sample)  # traces
    once, both = _seconds(lambda: compute(sample)), _seconds(lambda: compute(twice))
    return max(both - once, 0.0), results[0]


def _seconds(call: Callable[[], Any]) -> float:
    """The CPU seconds of a call; with a GPU its seconds."""
    clock = time.monotonic if has_gpu() else time.process_time
    started = clock()
    call()
    return clock() - started
