"""How a run reads examples: what a finished run keeps of its config. Imports no TensorFlow."""

from dataclasses import dataclass

from tf_adapt.config.data_sections import DatasetConfig, FilesConfig, TextConfig, TfdsConfig
from tf_adapt.config.sections import Config
from tf_adapt.config.signal_sections import WeakConfig
from tf_adapt.runs.slices import Slices

DataSection = DatasetConfig | FilesConfig | TextConfig | TfdsConfig


@dataclass(frozen=True)
class Reading:
    """How a run reads examples.

    Attributes:
        data, weak: where they are, and the votes that are train's labels, or None.
        slices: parts of the data that are scored by themselves.
        batch_size: examples in a batch.
        limits: `max_length, truncate, document_context` of `tf_adapt.data.packing.prepare`.
        module: the handle of the encoder.
    """

    data: DataSection
    weak: WeakConfig | None
    slices: Slices
    batch_size: int
    limits: tuple[int | None, bool, bool]
    module: str


def reading_of(config: Config) -> Reading:
    """How the run of a config reads examples; of one task."""
    return Reading(
        config.data,
        config.weak,
        config.slices,
        config.training.batch_size,
        config.training.limits,
        config.encoder.handle,
    )
