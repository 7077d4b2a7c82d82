"""BERT modules published on TF Hub, recognised by the names of their variables.

Their checkpoint names variables by position; the full names are in the object graph stored with
them. The activation is the tanh form of GELU, the LayerNorm's ε 1e-12 (both are constants of the
module's graph, the same in every module with these names).

Source: TensorFlow Model Garden (`official/nlp`), transformer-encoder API of TF Hub.
"""

import re
from pathlib import Path

import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import lower_casing, read_vocabulary
from hub_modules.sources.layouts.bert import bert_shapes
from hub_modules.sources.layouts.names import Row, Table, expand, to_ours
from hub_modules.storage.tf_checkpoint import keys_by_full_name, open_checkpoint

_LAYER = "transformer/layer_{layer}"
_SELF = f"{_LAYER}/self_attention"

TABLE: Table = [
    ("word_embeddings/embeddings", "embeddings/word_embeddings", "same"),
    ("position_embedding/embeddings", "embeddings/position_embeddings", "same"),
    ("type_embeddings/embeddings", "embeddings/token_type_embeddings", "same"),
    ("embeddings/layer_norm/gamma", "embeddings/layer_norm/gamma", "same"),
    ("embeddings/layer_norm/beta", "embeddings/layer_norm/beta", "same"),
    (f"{_SELF}/query/kernel", "layer_{layer}/attention/query/kernel", "split_columns"),
    (f"{_SELF}/query/bias", "layer_{layer}/attention/query/bias", "split_columns"),
    (f"{_SELF}/key/kernel", "layer_{layer}/attention/key/kernel", "split_columns"),
    (f"{_SELF}/key/bias", "layer_{layer}/attention/key/bias", "split_columns"),
    (f"{_SELF}/value/kernel", "layer_{layer}/attention/value/kernel", "split_columns"),
    (f"{_SELF}/value/bias", "layer_{layer}/attention/value/bias", "split_columns"),
    (f"{_SELF}/attention_output/kernel", "layer_{layer}/attention/output/kernel", "split_rows"),
    (f"{_SELF}/attention_output/bias", "layer_{layer}/attention/output/bias", "same"),
    (
        f"{_LAYER}/self_attention_layer_norm/gamma",
        "layer_{layer}/attention_layer_norm/gamma",
        "same",
    ),
    (f"{_LAYER}/self_attention_layer_norm/beta", "layer_{layer}/attention_layer_norm/beta", "same"),
    (f"{_LAYER}/intermediate/kernel", "layer_{layer}/intermediate/kernel", "same"),
    (f"{_LAYER}/intermediate/bias", "layer_{layer}/intermediate/bias", "same"),
    (f"{_LAYER}/output/kernel", "layer_{layer}/output/kernel", "same"),
    (f"{_LAYER}/output/bias", "layer_{layer}/output/bias", "same"),
    (f"{_LAYER}/output_layer_norm/gamma", "layer_{layer}/output_layer_norm/gamma", "same"),
    (f"{_LAYER}/output_layer_norm/beta", "layer_{layer}/output_layer_norm/beta", "same"),
    ("pooler_transform/kernel", "pooler/kernel", "same"),
    ("pooler_transform/bias", "pooler/bias", "same"),
]

# The masked-language-model head of modules that carry one.
LEFT_OUT = ("cls/",)


def recognise(folder: str | Path) -> dict | None:
    """The arguments of `BertEncoder` if the module's variables are a published BERT's, else None.

    Raises:
        ArtifactError: the variables are missing or damaged.
    """
    with open_checkpoint(_prefix(folder)) as reader:
        return _config(_shapes(reader, _keys(reader)))


def read(path: str | Path, lower_case: bool | None = None) -> ModuleSource:
    """Reads the weights, the vocabulary and the casing of a published module, without its graph.

    The vocabulary and the casing are None if the module has none: it then needs its preprocessing
    module.

    Args:
        lower_case: the casing, for a module that does not record it.

    Raises:
        ArtifactError: the variables are missing or damaged, or not those of a published BERT; the
            module records another casing.
    """
    folder = Path(path)
    with open_checkpoint(_prefix(folder)) as reader:
        keys = _keys(reader)
        config = _config(_shapes(reader, keys))
        if config is None:
            raise ArtifactError(
                f"{folder}: expected the variables of a BERT module published on TF Hub, got "
                "others; such a module can only be run as it is (execution: saved_model)"
            )
        rows = table_rows(config)
        weights = to_ours(rows, lambda name: reader.get_tensor(keys[name]), str(folder))
        flags = [bool(reader.get_tensor(key)) for key in _flags(reader)]
    if flags or lower_case is not None:
        lower_case = lower_casing(flags[0] if flags else None, lower_case, folder)
    vocabulary_path = folder / "assets" / "vocab.txt"
    vocabulary = None
    if vocabulary_path.is_file():
        vocabulary = read_vocabulary(vocabulary_path, config["vocabulary_size"])
    left_out = sorted(name for name in keys if name.startswith(LEFT_OUT))
    return ModuleSource("bert", config, weights, vocabulary, lower_case, left_out=tuple(left_out))


def table_rows(config: dict) -> list[Row]:
    """The name table, filled in for an encoder of this configuration."""
    counts = {"layer": config["num_layers"]}
    return expand(TABLE, bert_shapes(config), counts, heads=config["num_heads"])


def _prefix(folder: str | Path) -> Path:
    return Path(folder) / "variables" / "variables"


def _flags(reader) -> list[str]:
    """Keys of the boolean scalars: a module has one, its lower-casing."""
    shapes = reader.get_variable_to_shape_map()
    types = reader.get_variable_to_dtype_map()
    return [key for key in shapes if types[key] == tf.bool and not shapes[key]]


def _keys(reader) -> dict[str, str]:
    """Full name of each weight → its key in the checkpoint."""
    flags = _flags(reader)
    return {name: key for name, key in keys_by_full_name(reader).items() if key not in flags}


def _shapes(reader, keys: dict[str, str]) -> dict[str, tuple[int, ...]]:
    shapes = reader.get_variable_to_shape_map()
    return {name: tuple(shapes[key]) for name, key in keys.items() if not name.startswith(LEFT_OUT)}


def _config(shapes: dict[str, tuple[int, ...]]) -> dict | None:
    """Derives every size from the shapes; None unless all names and shapes match."""
    layers = {
        int(match[1]) for name in shapes if (match := re.match(r"transformer/layer_(\d+)/", name))
    }
    query = shapes.get("transformer/layer_0/self_attention/query/kernel", ())
    sizes = {
        "words": shapes.get("word_embeddings/embeddings", ()),
        "positions": shapes.get("position_embedding/embeddings", ()),
        "types": shapes.get("type_embeddings/embeddings", ()),
        "inner": shapes.get("transformer/layer_0/intermediate/kernel", ()),
    }
    if len(query) != 3 or any(len(shape) != 2 for shape in sizes.values()):
        return None
    config = {
        "vocabulary_size": sizes["words"][0],
        "width": sizes["words"][1],
        "num_layers": len(layers),
        "num_heads": query[1],
        "intermediate_width": sizes["inner"][1],
        "max_positions": sizes["positions"][0],
        "type_vocabulary_size": sizes["types"][0],
        "activation": "gelu_tanh",
        "layer_norm_epsilon": 1e-12,
        "dropout": 0.1,
        "attention_dropout": 0.1,
    }
    if query[1] * query[2] != config["width"]:
        return None
    expected = {row.foreign: row.foreign_shape for row in table_rows(config)}
    return config if expected == shapes else None
