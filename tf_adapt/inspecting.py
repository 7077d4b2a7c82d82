"""What is in a module or in the data of a config, for the commands that look and train nothing."""

from typing import Any

from hub_modules.load import find_module
from hub_modules.manifest import read_manifest
from hub_modules.weights import count_parameters
from tf_adapt.comparison.settings import Cell, Comparison, short_name
from tf_adapt.config_sections import Config
from tf_adapt.data.batches import PreparedData, prepare
from tf_adapt.data.check import check_data, unit_lengths
from tf_adapt.data.prepare import checked_limit
from tf_adapt.data.splits import Splits, load_splits
from tf_adapt.encoder import HubEncoder
from tf_adapt.tasks import Task


def inspect_module(handle: str, trust: bool = False) -> dict[str, Any]:
    """Layers, layer groups bottom to top, widths, parameter counts and hashes of a module.

    `recognised` says whether its weights run in a native encoder; else its own program runs.

    Raises:
        ArtifactError: as `HubEncoder`.
    """
    manifest = read_manifest(find_module(handle))
    encoder = HubEncoder(handle, trainable=False, trust=trust)
    files = {} if manifest is None else manifest["files"]
    return {
        "handle": handle,
        "family": encoder.family,
        "recognised": encoder.execution == "native",
        "layers": encoder.num_layers,
        "output_width": encoder.output_width,
        "max_length": encoder.max_length,
        "parameters": count_parameters(encoder.weights),
        "groups": {name: count_parameters(weights) for name, weights in encoder.layer_groups},
        "hash": encoder.module_hash,
        "files": {name: entry["sha256"] for name, entry in files.items()},
    }


def inspect_data(config: Config) -> dict[str, Any]:
    """Reads and tokenizes the data of a run as training would; see `tf_adapt.data.check`.

    Raises:
        ConfigError, DataError, ArtifactError: as `train` before its first step, save for over-long
            examples, which are reported.
    """
    splits = load_splits(config.data)
    return check_data(splits, _read_by(config, splits)[1])


def inspect_comparison_data(comparison: Comparison) -> dict[str, Any]:
    """As `inspect_data` once for all cells; under `encoders` what each makes of the texts.

    Raises:
        ConfigError, DataError, ArtifactError: as `inspect_data`.
    """
    splits = load_splits(comparison.cells[0].config.data)
    report = check_data(splits) | {"encoders": {}}
    for name, config in {reading(cell): cell.config for cell in comparison.cells}.items():
        encoder, prepared = _read_by(config, splits)
        report["encoders"][name] = {
            "limit": checked_limit(config.training.max_length, encoder),
            **{split: unit_lengths(part) for split, part in prepared.items()},
        }
    return report


def reading(cell: Cell) -> str:
    """A name for the way in which a cell reads texts: its encoder, and what bears on lengths."""
    encoder, limit = cell.config.encoder, cell.config.training.max_length
    parts = [short_name(encoder.handle), encoder.pairs, encoder.execution]
    parts.append(None if limit is None else f"max_length_{limit}")
    return "-".join(part for part in parts if part)


def _read_by(config: Config, splits: Splits) -> tuple[HubEncoder, dict[str, PreparedData]]:
    """The encoder of a config, and all splits as it reads them; cut where training would refuse,
    so that a report can tell of all examples."""
    settings, training = config.encoder, config.training
    encoder = HubEncoder(
        settings.handle,
        trainable=False,
        execution=settings.execution,
        trust=settings.trust,
        preprocessor=settings.preprocessor,
        pairs=settings.pairs,
    )
    limits = {"max_length": training.max_length, "document_context": training.document_context}
    return encoder, {
        split: prepare(examples, Task.of(splits), encoder, truncate=True, **limits)
        for split, examples in splits.examples.items()
    }
