"""HuggingFace folders of the families of keras-hub's backbones: `config.json`, safetensors.

Their activation and LayerNorm's ε are taken over; keras-hub's own converters leave them as they
are. RoBERTa's positions begin after the padding's id, and its one token type, which every token
has, is added to the positions.

Source: HuggingFace transformers (`models/*/configuration_*.py`, `models/*/modeling_*.py`).
"""

import functools
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError
from hub_modules.keras_hub.backbones import BACKBONES, checked_settings
from hub_modules.keras_hub.description import Description, check_numbers, count_numbers
from hub_modules.keras_hub.encoder import KerasHubEncoder
from hub_modules.keras_hub.tables import TABLES
from hub_modules.keras_hub.tokenizers import huggingface_preprocessor
from hub_modules.sources.files.folder import setting
from hub_modules.sources.files.safetensors_file import open_weights, weights_file
from hub_modules.sources.huggingface import RENAMED
from hub_modules.sources.layouts.names import Row, check, expand, to_ours

ACTIVATIONS = {
    "gelu": "gelu_exact",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
_COMMON = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "dropout": "hidden_dropout_prob",
    "max_sequence_length": "max_position_embeddings",
}
_SEGMENTS = _COMMON | {"num_segments": "type_vocab_size"}
# keras-hub's argument → HuggingFace's key.
KEYS = {
    "BertBackbone": _SEGMENTS,
    "RobertaBackbone": _COMMON,
    "XLMRobertaBackbone": _COMMON,
    "DistilBertBackbone": {
        "vocabulary_size": "vocab_size",
        "num_layers": "n_layers",
        "num_heads": "n_heads",
        "hidden_dim": "dim",
        "intermediate_dim": "hidden_dim",
        "dropout": "dropout",
        "max_sequence_length": "max_position_embeddings",
    },
    "AlbertBackbone": _SEGMENTS
    | {
        "embedding_dim": "embedding_size",
        "num_groups": "num_hidden_groups",
        "num_inner_repetitions": "inner_group_num",
    },
    "ElectraBackbone": {k: v for k, v in _SEGMENTS.items() if k != "vocabulary_size"}
    | {"vocab_size": "vocab_size", "embedding_dim": "embedding_size"},
    "DebertaV3Backbone": _COMMON | {"bucket_size": "position_buckets"},
}
# What must be so, as (key, value where the file says nothing, values that keras-hub's layers have).
_PLAIN = [
    ("position_embedding_type", "absolute", ("absolute", None)),
    ("is_decoder", False, (False,)),
    ("add_cross_attention", False, (False,)),
]
_DEBERTA = [
    ("relative_attention", False, (True,)),
    ("share_att_key", False, (True,)),
    ("position_biased_input", True, (False,)),
    ("pos_att_type", None, ("p2c|c2p", "c2p|p2c", ["p2c", "c2p"], ["c2p", "p2c"])),
    ("norm_rel_ebd", "none", ("layer_norm",)),
    ("type_vocab_size", 0, (0,)),
    ("conv_kernel_size", 0, (0, None)),
]
# Parts of an encoder; names that begin otherwise are those of heads.
_PARTS = ("embeddings", "encoder.", "transformer.")
POSITIONS, TYPES = (
    "embeddings.position_embeddings.weight",
    "embeddings.token_type_embeddings.weight",
)


def backbone_of(settings: dict) -> str | None:
    """The name of the backbone for HuggingFace's configuration, or None."""
    names = [n for n, row in BACKBONES.items() if row.model_type == settings.get("model_type")]
    return names[0] if names else None


def describe(folder: Path, settings: dict) -> Description:
    """What a folder of HuggingFace's format holds; `settings`: the content of `config.json`.

    Raises:
        ArtifactError: a file is missing or damaged; the weights do not fit the configuration, or
            keras-hub's layers cannot compute what it asks for.
    """
    name, where = backbone_of(settings), folder / "config.json"
    _check_supported(name, settings, where)
    offset = offset_of(name, settings, where)
    given = {ours: settings.get(theirs, _REQUIRED) for ours, theirs in KEYS[name].items()}
    given = {key: value for key, value in given.items() if value is not _REQUIRED}
    if type(given.get("max_sequence_length")) is int:
        given["max_sequence_length"] -= offset
    arguments = checked_settings(name, given, where)
    path = weights_file(folder)
    shapes = _shapes(path, BACKBONES[name].model_type.removesuffix("-v2").removeprefix("xlm-"))
    check_numbers(arguments, count_numbers(shape for _, shape in shapes.values()), path)
    pooler = any(row[0] in shapes for row in TABLES[name] if row[1] == "pooled_dense/kernel")
    return Description(
        arguments={
            "backbone": name,
            "settings": arguments,
            "activation": _activation(name, settings, where),
            "layer_norm_epsilon": setting(
                settings, "layer_norm_eps", "a positive number", where, default=1e-12
            ),
            "pooler": pooler,
        },
        load=functools.partial(_load, path=path, shapes=shapes, offset=offset),
        preprocessor=functools.partial(huggingface_preprocessor, folder, name, arguments),
    )


_REQUIRED = object()


def _check_supported(name: str, settings: dict, where: Path) -> None:
    longest = settings.get("max_position_embeddings")
    needed = _PLAIN
    if name == "DebertaV3Backbone":
        width = settings.get("hidden_size")
        needed = [
            *_DEBERTA,
            ("max_relative_positions", -1, (-1, longest)),
            ("embedding_size", width, (width,)),
        ]
    for key, default, expected in needed:
        got = settings.get(key, default)
        if got not in expected:
            raise ArtifactError(
                f"{where}: {key}: expected {expected[0]!r}, got {got!r}; keras-hub's {name} "
                "computes nothing else"
            )


def offset_of(name: str, settings: dict, where: Path) -> int:
    """The number of position embeddings before that of the first token."""
    if name not in ("RobertaBackbone", "XLMRobertaBackbone"):
        return 0
    return 1 + setting(settings, "pad_token_id", "an integer from 0 to 1000", where, default=1)


def _activation(name: str, settings: dict, where: Path) -> str:
    key = "activation" if name == "DistilBertBackbone" else "hidden_act"
    got = setting(settings, key, "a text", where)
    if got not in ACTIVATIONS:
        raise ArtifactError(
            f"{where}: {key}: expected one of {sorted(ACTIVATIONS)}, got {got!r}; other "
            "activations are not supported"
        )
    return ACTIVATIONS[got]


def _shapes(path: Path, prefix: str) -> dict[str, tuple[str, tuple]]:
    """The encoder's weights by their plain names: (name in the file, shape)."""
    weights: dict[str, tuple[str, tuple]] = {}
    with open_weights(path) as file:
        names = list(file.keys())
        with_head = any(name.startswith(f"{prefix}.") for name in names)
        for name in names:
            plain = name.removeprefix(f"{prefix}.")
            if with_head and plain == name:
                continue
            for old, new in RENAMED.items():
                plain = plain.removesuffix(old) + new if plain.endswith(old) else plain
            if plain in weights:
                raise ArtifactError(
                    f"{path}: {name}: expected one weight of this name, got {weights[plain][0]} too"
                )
            weights[plain] = (name, tuple(file.get_slice(name).get_shape()))
    return weights


def _load(encoder: KerasHubEncoder, path: Path, shapes: dict, offset: int) -> None:
    rows = table_rows(encoder)
    known = {row.foreign for row in rows}
    left_out = {"embeddings.position_ids"} | ({TYPES} if offset else set())
    declared = {
        name: shape
        for name, (_, shape) in shapes.items()
        if name in known or (name.startswith(_PARTS) and name not in left_out)
    }
    if offset and POSITIONS in declared:
        first, *rest = declared[POSITIONS]
        declared[POSITIONS] = (first - offset, *rest)
    check(rows, declared, str(path))
    with open_weights(path) as file:

        def read(name: str) -> np.ndarray:
            array = file.get_tensor(shapes[name][0])
            if not (offset and name == POSITIONS):
                return array
            types = file.get_tensor(shapes[TYPES][0])[0] if TYPES in shapes else 0
            return np.asarray(array[offset:], np.float32) + np.asarray(types, np.float32)

        encoder.load_weights_by_name(to_ours(rows, read, str(path)))


def table_rows(encoder: KerasHubEncoder) -> list[Row]:
    """HuggingFace's names of all weights of an encoder."""
    settings = encoder.settings
    counts = {
        "layer": settings["num_layers"],
        "group": settings.get("num_groups", 0),
        "inner": settings.get("num_inner_repetitions", 0),
    }
    shapes = {name: tuple(weight.shape) for name, weight in encoder.weights_by_name().items()}
    return expand(TABLES[encoder.backbone], shapes, counts)
