"""ELMo from bilm-tf's format: `options.json` and `weights.hdf5`, the format of the original models.

Source: bilm-tf (`bilm/model.py`, `bilm/training.py`).
"""

import json
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import read_json, setting
from hub_modules.sources.files.hdf5 import open_strictly, write_arrays
from hub_modules.sources.files.npz import read_arrays
from hub_modules.sources.files.words import read_words
from hub_modules.sources.layouts.names import Row, Table, check, expand, to_foreign, to_ours
from hub_modules.storage.files import publish_folder

# bilm-tf names the layers of one direction "cells", and stores the highway's gate as "carry".
_CELL = "RNN_{direction}/RNN/MultiRNNCell/Cell{{layer}}/LSTMCell"
_FORWARD, _BACKWARD = _CELL.format(direction=0), _CELL.format(direction=1)

TABLE: Table = [
    ("char_embed", "char_cnn/embedding", "same"),
    ("CNN/W_cnn_{filter}", "char_cnn/convolution_{filter}/kernel", "leading_one"),
    ("CNN/b_cnn_{filter}", "char_cnn/convolution_{filter}/bias", "same"),
    ("CNN_high_{highway}/W_carry", "char_cnn/highway_{highway}/gate_kernel", "same"),
    ("CNN_high_{highway}/b_carry", "char_cnn/highway_{highway}/gate_bias", "same"),
    ("CNN_high_{highway}/W_transform", "char_cnn/highway_{highway}/transform_kernel", "same"),
    ("CNN_high_{highway}/b_transform", "char_cnn/highway_{highway}/transform_bias", "same"),
    ("CNN_proj/W_proj", "char_cnn/projection/kernel", "same"),
    ("CNN_proj/b_proj", "char_cnn/projection/bias", "same"),
    (f"{_FORWARD}/W_0", "lstm_{layer}/forward/kernel", "same"),
    (f"{_FORWARD}/B", "lstm_{layer}/forward/bias", "same"),
    (f"{_FORWARD}/W_P_0", "lstm_{layer}/forward/projection", "same"),
    (f"{_BACKWARD}/W_0", "lstm_{layer}/backward/kernel", "same"),
    (f"{_BACKWARD}/B", "lstm_{layer}/backward/bias", "same"),
    (f"{_BACKWARD}/W_P_0", "lstm_{layer}/backward/projection", "same"),
]

CHARACTER_ROWS = 261
RUN_TIME_CHARACTERS = 262
CHARACTERS_PER_WORD = 50


def read(path: str | Path, lower_case: bool | None = None) -> ModuleSource:
    """Reads a folder with one `*options*.json` and one `*weights*.hdf5`.

    A `softmax.npz` (`W` `[words, projection]`, `b` `[words]`) and a `vocab.txt` with its words, if
    there, are the output layer.

    Args:
        lower_case: must be None: character ids are of the text as it is.

    Raises:
        ArtifactError: a file is missing, ambiguous, damaged, or refers to something outside itself;
            settings are missing or not supported; a weight is missing, unknown or of another shape.
    """
    folder = Path(path)
    if lower_case is not None:
        raise ArtifactError(
            f"{folder}: ELMo reads characters as they are; leave --lower-case and --cased out"
        )
    options_path = _find(folder, "options.json", "*options*.json")
    weights_path = _find(folder, "weights.hdf5", "*weights*.hdf5")
    config = _config(read_json(options_path), options_path)
    rows = table_rows(config)
    with open_strictly(weights_path) as arrays:
        check(rows, {name: array.shape for name, array in arrays.items()}, str(weights_path))
        weights = to_ours(rows, lambda name: arrays[name][()], str(weights_path))
    return ModuleSource("elmo", config, weights, **_output_layer(folder, config))


def write(source: ModuleSource, folder: str | Path) -> None:
    """Writes `options.json` and `weights.hdf5`, for `read` and for bilm-tf itself.

    Raises:
        ArtifactError: the folder exists already or cannot be written; the encoder reads sentences
            without boundaries, which this format cannot say.
    """
    if not source.config.get("sentence_boundaries", True):
        raise ArtifactError(
            f"{folder}: bilm-tf's format is for an ELMo that reads a begin and an end of each "
            "sentence, got one with sentence_boundaries=False; keep it as a module of ours"
        )
    arrays = to_foreign(table_rows(source.config), source.weights)
    with publish_folder(folder) as aside:
        options = json.dumps(_options(source.config), indent=1)
        (aside / "options.json").write_text(options, encoding="utf-8")
        write_arrays(aside / "weights.hdf5", arrays)


def table_rows(config: dict) -> list[Row]:
    """The name table, filled in for an encoder of this configuration."""
    return rows_of(TABLE, config)


def rows_of(table: Table, config: dict) -> list[Row]:
    """A name table of ELMo, filled in for an encoder of this configuration."""
    counts = {
        "filter": len(config["filters"]),
        "highway": config["num_highway"],
        "layer": config["num_layers"],
    }
    return expand(table, elmo_shapes(config), counts)


def elmo_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Our name → shape, of every weight of `ElmoEncoder(**config)`."""
    projection, lstm = config["projection_width"], config["lstm_width"]
    filters = sum(number for _, number in config["filters"])
    shapes: dict[str, tuple[int, ...]] = {
        "char_cnn/embedding": (CHARACTER_ROWS, config["character_width"])
    }
    for index, (width, number) in enumerate(config["filters"]):
        name = f"char_cnn/convolution_{index}"
        shapes[f"{name}/kernel"] = (width, config["character_width"], number)
        shapes[f"{name}/bias"] = (number,)
    for index in range(config["num_highway"]):
        for part in ("gate", "transform"):
            shapes[f"char_cnn/highway_{index}/{part}_kernel"] = (filters, filters)
            shapes[f"char_cnn/highway_{index}/{part}_bias"] = (filters,)
    if filters != projection:
        shapes["char_cnn/projection/kernel"] = (filters, projection)
        shapes["char_cnn/projection/bias"] = (projection,)
    for index in range(config["num_layers"]):
        for direction in ("forward", "backward"):
            name = f"lstm_{index}/{direction}"
            shapes[f"{name}/kernel"] = (2 * projection, 4 * lstm)
            shapes[f"{name}/bias"] = (4 * lstm,)
            shapes[f"{name}/projection"] = (lstm, projection)
    return shapes


def _output_layer(folder: Path, config: dict) -> dict:
    path = folder / "softmax.npz"
    if not path.is_file():
        return {}
    words = read_words(folder / "vocab.txt")
    # A line of the published vocabulary that bilm/data.py skips.
    words = [word for word in words if word != "!!!MAXTERMID"]
    shapes = {"W": (len(words), config["projection_width"]), "b": (len(words),)}
    arrays = read_arrays(path, shapes)
    return {
        "output_layer": {"kernel": arrays["W"], "bias": arrays["b"]},
        "output_words": words,
    }


def _config(options: dict, where: Path) -> dict:
    def value(key: str, kind: str, **default):
        return setting(options, key, kind, where, **default)

    def clip(key: str) -> float | None:
        bound = value(key, "a positive number or null", default=None)
        return None if bound is None else float(bound)

    _check_characters(value, where)
    positive, few = "a positive integer", "an integer from 1 to 1000"
    return {
        "filters": _filters(value("char_cnn.filters", "a list"), where),
        "character_width": value("char_cnn.embedding.dim", positive),
        "num_highway": value("char_cnn.n_highway", "an integer from 0 to 1000", default=0),
        "projection_width": value("lstm.projection_dim", positive),
        "lstm_width": value("lstm.dim", positive),
        "num_layers": value("lstm.n_layers", few),
        "skip_connections": value("lstm.use_skip_connections", "true or false"),
        "cell_clip": clip("lstm.cell_clip"),
        "projection_clip": clip("lstm.proj_clip"),
        "activation": value("char_cnn.activation", "a text"),
    }


def _check_characters(value, where: Path) -> None:
    characters = value("char_cnn.n_characters", "a positive integer")
    if characters == CHARACTER_ROWS:
        raise ArtifactError(
            f"{where}: char_cnn.n_characters: expected {RUN_TIME_CHARACTERS}, got {characters}, "
            "the number used while training; id 0 is added for padding afterwards: set "
            f"n_characters to {RUN_TIME_CHARACTERS}"
        )
    for key, expected in (
        ("n_characters", RUN_TIME_CHARACTERS),
        ("max_characters_per_token", CHARACTERS_PER_WORD),
    ):
        got = value(f"char_cnn.{key}", "a positive integer")
        if got != expected:
            raise ArtifactError(
                f"{where}: char_cnn.{key}: expected {expected}, got {got}; only the character ids "
                "of the original ELMo are supported"
            )
    activation = value("char_cnn.activation", "a text")
    if activation not in ("relu", "tanh"):
        raise ArtifactError(
            f"{where}: char_cnn.activation: expected relu or tanh, got {activation!r}; the format "
            "knows no other"
        )


def _filters(filters: list, where: Path) -> list[list[int]]:
    for index, pair in enumerate(filters):
        numbers = isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)
        if not numbers or not 1 <= pair[0] <= CHARACTERS_PER_WORD or pair[1] < 1:
            raise ArtifactError(
                f"{where}: char_cnn.filters[{index}]: expected [width from 1 to "
                f"{CHARACTERS_PER_WORD}, number of filters], got {pair!r}"
            )
    if not filters:
        raise ArtifactError(f"{where}: char_cnn.filters: expected at least one filter, got none")
    return [list(pair) for pair in filters]


def _options(config: dict) -> dict:
    return {
        "lstm": {
            "use_skip_connections": config["skip_connections"],
            "projection_dim": config["projection_width"],
            "cell_clip": config["cell_clip"],
            "proj_clip": config["projection_clip"],
            "dim": config["lstm_width"],
            "n_layers": config["num_layers"],
        },
        "char_cnn": {
            "activation": config["activation"],
            "filters": config["filters"],
            "n_highway": config["num_highway"],
            "embedding": {"dim": config["character_width"]},
            "n_characters": RUN_TIME_CHARACTERS,
            "max_characters_per_token": CHARACTERS_PER_WORD,
        },
    }


def _find(folder: Path, exact: str, pattern: str) -> Path:
    if (folder / exact).is_file():
        return folder / exact
    files = sorted(file for file in folder.glob(pattern) if file.is_file())
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise ArtifactError(
            f"{folder}: expected {exact} or exactly one {pattern}, got {names}; "
            f"name the right file {exact}"
        )
    return files[0]
