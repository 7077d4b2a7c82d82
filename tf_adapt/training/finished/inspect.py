"""Contents of a module, for commands that do not train."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from hub_modules.families import FAMILIES
from hub_modules.find import encoder_folder, find_module
from hub_modules.manifest import read_manifest
from hub_modules.native.weights import count_parameters
from hub_modules.programs.program_check import TOLERANCE, check_program, suspects
from hub_modules.programs.saved_model import is_tf1
from hub_modules.sources import tf1_elmo
from tf_adapt.encoder.hub_encoder import HubEncoder


def inspect_module(handle: str, trust: bool = False, verify: bool = False) -> dict[str, Any]:
    """Layers, layer groups bottom to top, widths, parameter counts and hashes of a module.

    `lower_case`: of word vectors, whether texts are lower-cased, as all words of the file are.
    `recognised`: whether its weights run in a native encoder, not as the module's own program. Of
    an ELMo in TF Hub's first format also what was read (`sizes`, `left_out`) and what was assumed.

    Args:
        verify: also run the module's program and compare every layer: `verified`, see
            `hub_modules.programs.program_check`.

    Raises:
        ArtifactError: as `HubEncoder`, `check_program`.
        ConfigError: `verify` for a module without a native encoder.
    """
    folder = find_module(handle)
    manifest = read_manifest(folder)
    encoder = HubEncoder(handle, trainable=False, trust=trust)
    files = {} if manifest is None else manifest.files
    # A sentence module reads texts of any length.
    max_length = encoder.max_length if FAMILIES[encoder.family].has_words else None
    lower_case = getattr(encoder.preprocessor, "lower_case", None)
    words = {} if lower_case is None else {"lower_case": lower_case}
    return {
        "handle": handle,
        "family": encoder.family,
        "recognised": encoder.execution == "native",
        "layers": encoder.num_layers,
        "output_width": encoder.output_width,
        "max_length": max_length,
        **({"prompts": list(encoder.prompts)} if encoder.prompts else {}),
        **words,
        "parameters": count_parameters(encoder.weights),
        "groups": {name: count_parameters(weights) for name, weights in encoder.layer_groups},
        **({"layer_mix": asdict(encoder.layer_mix)} if encoder.layer_mix else {}),
        **(_of_tf1_elmo(encoder_folder(folder)) if manifest is None else {}),
        "hash": encoder.module_hash,
        "files": {name: entry.sha256 for name, entry in files.items()},
        **({"verified": _verified(handle, trust)} if verify else {}),
    }


def _of_tf1_elmo(folder: Path) -> dict[str, Any]:
    if not is_tf1(folder) or not tf1_elmo.recognise(folder):
        return {}
    sizes, left_out = tf1_elmo.sizes_and_left_out(folder)
    assumed = {**tf1_elmo.ASSUMED, **tf1_elmo.FIXED}
    return {"sizes": sizes, "left_out": list(left_out), "assumed": assumed}


def _verified(handle: str, trust: bool) -> dict[str, Any]:
    check = check_program(handle, trust)
    return {
        "largest_difference": check.differences,
        "tolerance": TOLERANCE,
        "agrees": check.agrees,
        "undecided": list(check.undecided),
        "fitting": check.fitting,
        "suspects": None if check.agrees else suspects(check),
    }
