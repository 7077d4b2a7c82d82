"""The report on the data of a run's config, without training."""

from typing import Any

from tf_adapt.config.sections import Config, EncoderConfig
from tf_adapt.config.training_sections import TrainingConfig
from tf_adapt.data.batches import PreparedData, prepare
from tf_adapt.data.check import check_data
from tf_adapt.data.packing.prepare import task_of
from tf_adapt.data.splits.read_splits import Splits, load_splits
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving.compiled_model import configured_encoder


def inspect_data(config: Config) -> dict[str, Any]:
    """Reads and tokenizes the data of a run as training would; see `tf_adapt.data.check`.

    Raises:
        ConfigError, DataError, ArtifactError: as `train` before its first step, except for too long
            examples, which are reported.
    """
    splits = load_splits(config.data, config.weak)
    return check_data(splits, read_by(config.encoder, config.training, splits)[1])


def read_by(
    section: EncoderConfig, training: TrainingConfig, splits: Splits
) -> tuple[HubEncoder, dict[str, PreparedData]]:
    """An encoder, and all splits prepared for it.

    Too long examples are truncated, even where training would refuse them.
    """
    needed = KINDS[splits.kind].encoder_options
    encoder = configured_encoder(section, trainable=False, needed=needed)
    limits = {
        "max_length": training.max_length,
        "document_context": training.document_context,
        "memory_mb": splits.memory_mb,
    }
    return encoder, {
        split: prepare(examples, task_of(splits), encoder, truncate=True, **limits)
        for split, examples in splits.examples.items()
    }
