"""What is in a module or in the data of a config, for the commands that look and train nothing."""

from typing import Any

from hub_modules.load import find_module
from hub_modules.manifest import read_manifest
from hub_modules.weights import count_parameters
from tf_adapt.config_sections import Config
from tf_adapt.data.batches import prepare
from tf_adapt.data.check import check_data
from tf_adapt.data.splits import load_splits
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
    task = Task.of(splits)
    settings = config.encoder
    encoder = HubEncoder(
        settings.handle,
        trainable=False,
        execution=settings.execution,
        trust=settings.trust,
        preprocessor=settings.preprocessor,
    )
    # Cut where training would refuse, so that the report can tell of all examples.
    prepared = {
        split: prepare(examples, task, encoder, config.training.max_length, truncate=True)
        for split, examples in splits.examples.items()
    }
    return check_data(splits, prepared)
