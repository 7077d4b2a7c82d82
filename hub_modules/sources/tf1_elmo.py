"""ELMo modules in TF Hub's first format (`google/elmo/1`, `/2`, `/3`; those of DeepPavlov).

Such a checkpoint names its variables as bilm-tf's graph does. Every size is read from their shapes;
what a checkpoint does not hold is in `ASSUMED` and `FIXED`: the published ELMo's. The module's
program is not run.

Source: bilm-tf (`bilm/model.py`); google/elmo's module pages; DeepPavlov (`elmo2tfhub.py`).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.sources import ModuleSource
from hub_modules.sources.bilm_tf import CHARACTER_ROWS, RUN_TIME_CHARACTERS, rows_of
from hub_modules.sources.layouts.layer_mix import LayerMix, layer_mix
from hub_modules.sources.layouts.names import Row, Shape, Table, check, to_ours
from hub_modules.storage.tf_checkpoint import open_checkpoint

# bilm-tf stores the highway's gate as "carry".
_CELL = "bilm/RNN_{direction}/RNN/MultiRNNCell/Cell{{layer}}/rnn/lstm_cell"
_FORWARD, _BACKWARD = _CELL.format(direction=0), _CELL.format(direction=1)
_CHARACTERS = "bilm/char_embed"
_HIGHWAY = "bilm/CNN_high_{highway}"

TABLE: Table = [
    (_CHARACTERS, "char_cnn/embedding", "same"),
    ("bilm/CNN/W_cnn_{filter}", "char_cnn/convolution_{filter}/kernel", "leading_one"),
    ("bilm/CNN/b_cnn_{filter}", "char_cnn/convolution_{filter}/bias", "same"),
    (f"{_HIGHWAY}/W_carry", "char_cnn/highway_{highway}/gate_kernel", "same"),
    (f"{_HIGHWAY}/b_carry", "char_cnn/highway_{highway}/gate_bias", "same"),
    (f"{_HIGHWAY}/W_transform", "char_cnn/highway_{highway}/transform_kernel", "same"),
    (f"{_HIGHWAY}/b_transform", "char_cnn/highway_{highway}/transform_bias", "same"),
    ("bilm/CNN_proj/W_proj", "char_cnn/projection/kernel", "same"),
    ("bilm/CNN_proj/b_proj", "char_cnn/projection/bias", "same"),
    (f"{_FORWARD}/kernel", "lstm_{layer}/forward/kernel", "same"),
    (f"{_FORWARD}/bias", "lstm_{layer}/forward/bias", "same"),
    (f"{_FORWARD}/projection/kernel", "lstm_{layer}/forward/projection", "same"),
    (f"{_BACKWARD}/kernel", "lstm_{layer}/backward/kernel", "same"),
    (f"{_BACKWARD}/bias", "lstm_{layer}/backward/bias", "same"),
    (f"{_BACKWARD}/projection/kernel", "lstm_{layer}/backward/projection", "same"),
]

# Names of the weights and the scale of the mix of layers: Google's and DeepPavlov's.
MIXES = (
    ("aggregation/weights", "aggregation/scaling"),
    ("aggregation/elmo_output_ELMo_W", "aggregation/elmo_output_ELMo_gamma"),
)
# States that DeepPavlov's modules carry between batches.
_STATE = re.compile(r"bilm(_\d+)?/Variable(_\d+)?|bilm_\d+/.*")

# What no checkpoint holds, with the published ELMo's values: arguments of `ElmoEncoder`, and
# `forget_bias`, what a program adds to the stored bias of the forget gate.
ASSUMED = {
    "activation": "relu",
    "cell_clip": 3.0,
    "projection_clip": 3.0,
    "skip_connections": True,
    "sentence_boundaries": True,
    "forget_bias": 1.0,
}
# `ElmoEncoder` adds this one.
_OUR_FORGET_BIAS = 1.0
# What no checkpoint holds either, and is the same for all.
FIXED = {
    "characters": "50 a word: begin, at most 48 bytes of UTF-8, end, padding; ids are bytes + 1",
    "gates": "in the order i, j, f, o",
    "state": "zero at the beginning of every sentence",
    "mix": "softmax of the weights, times the scale",
}


def recognise(folder: str | Path) -> bool:
    """Whether a SavedModel's variables are named as those of an ELMo in TF Hub's first format.

    Raises:
        ArtifactError: the variables are missing or damaged.
    """
    with open_checkpoint(_prefix(folder)) as reader:
        names = reader.get_variable_to_shape_map().keys()
        return _CHARACTERS in names and any(name.startswith("bilm/RNN_0/") for name in names)


def read(
    path: str | Path, lower_case: bool | None = None, assumed: Mapping[str, Any] | None = None
) -> ModuleSource:
    """Reads the weights and the scalar mix of a module's folder, without its graph.

    Args:
        lower_case: must be None: character ids are of the text as it is.
        assumed: other values for keys of `ASSUMED`, for a module that is not the published ELMo.

    Raises:
        ArtifactError: the variables are missing or damaged, or not those of an ELMo: a weight is
            missing, unknown, of another shape or not finite.
        ConfigError: `assumed` has an unknown key or a value out of range.
    """
    folder = Path(path)
    if lower_case is not None:
        raise ArtifactError(
            f"{folder}: ELMo reads characters as they are; leave --lower-case and --cased out"
        )
    assumptions = ASSUMED | _checked(assumed or {})
    forget_bias = assumptions.pop("forget_bias")
    with open_checkpoint(_prefix(folder)) as reader:
        shapes = _shapes(reader)
        config = _sizes(shapes, folder) | assumptions
        weights, mix_names, left_out = _sorted_out(shapes)
        rows = table_rows(config)
        check(rows, _without_padding_row(weights, config, folder), _remedy(folder))

        def array(name: str) -> np.ndarray:
            value = reader.get_tensor(name)
            # The first of 262 rows is of padding words alone, which no state of a word sees.
            return value[-CHARACTER_ROWS:] if name == _CHARACTERS else value

        arrays = _with_forget_bias(to_ours(rows, array, str(folder)), forget_bias)
        mix = _mix(reader, mix_names, config, folder)
    return ModuleSource("elmo", config, arrays, left_out=left_out, mix=mix)


def _with_forget_bias(arrays: dict[str, np.ndarray], forget_bias: float) -> dict[str, np.ndarray]:
    """The weights with which our encoder computes what a program with this bias does."""
    if forget_bias == _OUR_FORGET_BIAS:
        return arrays
    added = np.array([0, 0, forget_bias - _OUR_FORGET_BIAS, 0], "float32")  # i, j, f, o
    return {
        name: array + np.repeat(added, array.size // 4)
        if re.fullmatch(r"lstm_\d+/(forward|backward)/bias", name)
        else array
        for name, array in arrays.items()
    }


def sizes_and_left_out(folder: str | Path) -> tuple[dict, tuple[str, ...]]:
    """The sizes that `read` takes from shapes, and the names that it leaves out; reads no values.

    Raises:
        ArtifactError: the variables are missing or damaged, or not those of an ELMo.
    """
    with open_checkpoint(_prefix(folder)) as reader:
        shapes = _shapes(reader)
    return _sizes(shapes, Path(folder)), _sorted_out(shapes)[2]


def table_rows(config: dict) -> list[Row]:
    """The name table, filled in for an encoder of this configuration."""
    return rows_of(TABLE, config)


def _prefix(folder: str | Path) -> Path:
    return Path(folder) / "variables" / "variables"


def _shapes(reader) -> dict[str, Shape]:
    return {name: tuple(shape) for name, shape in reader.get_variable_to_shape_map().items()}


def _remedy(folder: Path) -> str:
    return f"{folder} (an ELMo in TF Hub's first format; execution='saved_model' runs it as it is)"


def _sizes(shapes: Mapping[str, Shape], folder: Path) -> dict:
    """The sizes of the encoder, each from one shape; `check` then compares all the others."""

    def shape(name: str, form: str) -> Shape:
        got = shapes.get(name)
        if got is None or len(got) != form.count(",") + 1 or 0 in got:
            raise ArtifactError(
                f"{folder}: {name}: expected a weight of the shape [{form}], got "
                f"{'none' if got is None else list(got)}; the module is not complete or not an "
                "ELMo: get it again, or run it as it is (execution='saved_model')"
            )
        return got

    kernel = shape(f"{_FORWARD.format(layer=0)}/kernel", "2 * projection, 4 * cells")
    filters = [
        shape(f"bilm/CNN/W_cnn_{index}", "1, width, characters, filters")
        for index in range(_count(shapes, r"bilm/CNN/[Wb]_cnn_(\d+)") or 1)
    ]
    return {
        "filters": [[width, number] for _, width, _, number in filters],
        "character_width": shape(_CHARACTERS, "rows, characters")[1],
        "num_highway": _count(shapes, r"bilm/CNN_high_(\d+)/.*"),
        "projection_width": kernel[0] // 2,
        "lstm_width": kernel[1] // 4,
        "num_layers": _count(shapes, r"bilm/RNN_[01]/RNN/MultiRNNCell/Cell(\d+)/.*"),
    }


def _count(shapes: Mapping[str, Shape], pattern: str) -> int:
    """How many different numbers stand in the names of a pattern."""
    return len({match[1] for name in shapes if (match := re.fullmatch(pattern, name))})


def _sorted_out(
    shapes: Mapping[str, Shape],
) -> tuple[dict[str, Shape], tuple[str, str] | None, tuple[str, ...]]:
    """The encoder's variables, the names of the mix's scalars, and the names that are left out."""
    mix = next((names for names in MIXES if set(names) <= shapes.keys()), None)
    weights, left_out = {}, []
    for name, shape in shapes.items():
        if name in (mix or ()):
            continue
        if name.startswith("bilm/") and not _STATE.fullmatch(name):
            weights[name] = shape
        else:
            left_out.append(name)
    return weights, mix, tuple(sorted(left_out))


def _without_padding_row(
    weights: Mapping[str, Shape], config: dict, folder: Path
) -> dict[str, Shape]:
    rows, width = weights[_CHARACTERS]
    if rows not in (CHARACTER_ROWS, RUN_TIME_CHARACTERS):
        raise ArtifactError(
            f"{folder}: {_CHARACTERS}: expected {CHARACTER_ROWS} rows, or {RUN_TIME_CHARACTERS} "
            f"with one for padding, got {rows}; only the character ids of the original ELMo are "
            "supported: run the module as it is (execution='saved_model')"
        )
    return {**weights, _CHARACTERS: (CHARACTER_ROWS, width)}


def _mix(reader, names: tuple[str, str] | None, config: dict, folder: Path) -> LayerMix | None:
    if names is None:
        return None
    weights, scale = (np.asarray(reader.get_tensor(name), np.float64) for name in names)
    where = f"{folder}: {' and '.join(names)}"
    return layer_mix(weights, scale, config["num_layers"] + 1, where)


def _checked(assumed: Mapping[str, Any]) -> dict[str, Any]:
    """The user's values in place of the assumed ones, as arguments of `ElmoEncoder`."""
    forms = {
        "activation": ("relu or tanh", lambda value: value in ("relu", "tanh")),
        "cell_clip": ("a positive number, or null for none", _is_clip),
        "projection_clip": ("a positive number, or null for none", _is_clip),
        "skip_connections": ("true or false", lambda value: isinstance(value, bool)),
        "sentence_boundaries": ("true or false", lambda value: isinstance(value, bool)),
        "forget_bias": ("a number", _is_number),
    }
    for key, value in assumed.items():
        if key not in forms:
            raise ConfigError(f"assumption {key!r}: expected one of {', '.join(forms)}")
        form, fits = forms[key]
        if not fits(value):
            raise ConfigError(f"assumption {key}: expected {form}, got {value!r}")
    return {key: float(value) if _is_number(value) else value for key, value in assumed.items()}


def _is_clip(value) -> bool:
    return value is None or (_is_number(value) and value > 0)


def _is_number(value) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < float("inf")
