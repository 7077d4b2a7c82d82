"""BERT from HuggingFace's format: `config.json`, `model.safetensors`, `vocab.txt`.

GPT-2, ModernBERT and MPNet in this format are read by the files of their names.

Source: HuggingFace transformers (`models/bert/modeling_bert.py`); linear layers are stored as
`[out, in]`.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError
from hub_modules.preprocess.bert import SPECIAL_TOKENS
from hub_modules.sources import ModuleSource, gpt2, modern_bert, mpnet
from hub_modules.sources.files.folder import (
    SPECIAL_PIECES,
    read_json,
)
from hub_modules.sources.files.huggingface_files import (
    ACTIVATIONS,
    Beside,
    write_folder,
)
from hub_modules.sources.files.safetensors_file import check_pooler, open_weights, weights_file
from hub_modules.sources.files.tokenizer_files import (
    read_tokenizer_files,
    word_piece_casing,
    word_pieces,
)
from hub_modules.sources.files.tokenizer_texts import word_piece_texts
from hub_modules.sources.layouts.bert import bert_config, bert_settings, bert_shapes
from hub_modules.sources.layouts.names import Row, Table, check, expand, to_foreign, to_ours

_SELF, _ATTENTION = "encoder.layer.{layer}.attention.self", "encoder.layer.{layer}.attention"

TABLE: Table = [
    ("embeddings.word_embeddings.weight", "embeddings/word_embeddings", "same"),
    ("embeddings.position_embeddings.weight", "embeddings/position_embeddings", "same"),
    ("embeddings.token_type_embeddings.weight", "embeddings/token_type_embeddings", "same"),
    ("embeddings.LayerNorm.weight", "embeddings/layer_norm/gamma", "same"),
    ("embeddings.LayerNorm.bias", "embeddings/layer_norm/beta", "same"),
    (f"{_SELF}.query.weight", "layer_{layer}/attention/query/kernel", "transpose"),
    (f"{_SELF}.query.bias", "layer_{layer}/attention/query/bias", "same"),
    (f"{_SELF}.key.weight", "layer_{layer}/attention/key/kernel", "transpose"),
    (f"{_SELF}.key.bias", "layer_{layer}/attention/key/bias", "same"),
    (f"{_SELF}.value.weight", "layer_{layer}/attention/value/kernel", "transpose"),
    (f"{_SELF}.value.bias", "layer_{layer}/attention/value/bias", "same"),
    (f"{_ATTENTION}.output.dense.weight", "layer_{layer}/attention/output/kernel", "transpose"),
    (f"{_ATTENTION}.output.dense.bias", "layer_{layer}/attention/output/bias", "same"),
    (f"{_ATTENTION}.output.LayerNorm.weight", "layer_{layer}/attention_layer_norm/gamma", "same"),
    (f"{_ATTENTION}.output.LayerNorm.bias", "layer_{layer}/attention_layer_norm/beta", "same"),
    (
        "encoder.layer.{layer}.intermediate.dense.weight",
        "layer_{layer}/intermediate/kernel",
        "transpose",
    ),
    ("encoder.layer.{layer}.intermediate.dense.bias", "layer_{layer}/intermediate/bias", "same"),
    ("encoder.layer.{layer}.output.dense.weight", "layer_{layer}/output/kernel", "transpose"),
    ("encoder.layer.{layer}.output.dense.bias", "layer_{layer}/output/bias", "same"),
    (
        "encoder.layer.{layer}.output.LayerNorm.weight",
        "layer_{layer}/output_layer_norm/gamma",
        "same",
    ),
    (
        "encoder.layer.{layer}.output.LayerNorm.bias",
        "layer_{layer}/output_layer_norm/beta",
        "same",
    ),
    ("pooler.dense.weight", "pooler/kernel", "transpose"),
    ("pooler.dense.bias", "pooler/bias", "same"),
]

# The masked language model's output layer, without its copies of the tied word embeddings and of
# the bias.
OUTPUT_TABLE: Table = [
    ("predictions.transform.dense.weight", "dense/kernel", "transpose"),
    ("predictions.transform.dense.bias", "dense/bias", "same"),
    ("predictions.transform.LayerNorm.weight", "layer_norm/gamma", "same"),
    ("predictions.transform.LayerNorm.bias", "layer_norm/beta", "same"),
    ("predictions.bias", "bias", "same"),
]
OUTPUT_PREFIX = "cls."
# A separate file of these weights for an encoder without heads, with names without the prefix.
HEADS_FILE = "heads.safetensors"

# Prefix of the encoder's names in checkpoints of a model with a head.
PREFIX = "bert."
# Checkpoints converted from TensorFlow keep its names for the two weights of a LayerNorm.
RENAMED = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
# Heads, and the numbers 0, 1, 2, … that some versions stored.
LEFT_OUT = ("cls.", "classifier.", "qa_outputs.", "embeddings.position_ids")
# What reads the model types that are not BERT's.
_OTHERS = {
    "gpt2": gpt2.read,
    modern_bert.MODEL_TYPE: modern_bert.read,
    mpnet.MODEL_TYPE: mpnet.read,
}


def read(path: str | Path, lower_case: bool | None = None) -> ModuleSource:
    """Reads a folder with `config.json`, `model.safetensors`, and `vocab.txt` or
    `tokenizer.json`.

    The masked language model's output layer is read if it is complete and tied to the word
    embeddings: from `cls.predictions.*` in `model.safetensors`, or from `heads.safetensors`.

    Args:
        lower_case: needed where `tokenizer_config.json` is missing or does not record it.

    Raises:
        ArtifactError: a file is missing or damaged; another architecture; a weight is missing,
            unknown or of another shape; the casing is unknown.
    """
    folder = Path(path)
    config_path = folder / "config.json"
    settings = read_json(config_path)
    if (other := _OTHERS.get(settings.get("model_type"))) is not None:
        return other(folder, lower_case)
    config = _config(settings, config_path)
    rows = config["vocabulary_size"]
    files = read_tokenizer_files(folder, "bert")
    vocabulary = word_pieces(files, rows)
    lower_case = word_piece_casing(files, lower_case, rows, SPECIAL_PIECES)
    weights, left_out = _read_weights(weights_file(folder), table_rows(config))
    output_layer, used, unused = _output_layer(folder, config, weights)
    return ModuleSource(
        "bert",
        config,
        weights,
        vocabulary,
        lower_case,
        output_layer,
        left_out=tuple(name for name in (*left_out, *unused) if name not in used),
    )


def write(source: ModuleSource, folder: str | Path, beside: Beside = None) -> None:
    """Writes the files that `read` and HuggingFace's `BertModel` read.

    Args:
        beside: further files by name, as text.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
    """
    settings = bert_settings(source.config, ACTIVATIONS) | {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "position_embedding_type": "absolute",
    }
    texts = word_piece_texts(
        source.vocabulary, source.lower_case, SPECIAL_TOKENS, False, "BertTokenizer"
    )
    arrays = to_foreign(table_rows(source.config), source.weights)
    write_folder(folder, settings, arrays, texts, beside)


def writer_of(family: str) -> Callable[[ModuleSource, str | Path, Beside], None] | None:
    """What writes an encoder of a family in HuggingFace's format, or None."""
    return _WRITERS.get(family)


def rows_of(family: str, config: dict) -> list[Row]:
    """The name table of an encoder of a family that `writer_of` knows."""
    return _ROWS[family](config)


def table_rows(config: dict) -> list[Row]:
    """The name table, filled in for an encoder of this configuration."""
    return expand(TABLE, bert_shapes(config), {"layer": config["num_layers"]})


def _config(settings: dict, where: Path) -> dict:
    for key, expected in (
        ("model_type", "bert"),
        ("position_embedding_type", "absolute"),
        ("is_decoder", False),
        ("add_cross_attention", False),
    ):
        got = settings.get(key, expected)
        if got != expected:
            raise ArtifactError(
                f"{where}: {key}: expected {expected!r}, got {got!r}; only BERT encoders with "
                "absolute positions are supported"
            )
    return bert_config(settings, ACTIVATIONS, where)


def _read_weights(path: Path, rows: list[Row]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    with open_weights(path) as file:
        stored = {}  # the table's name → the file's
        left_out = []
        for name in file.keys():  # noqa: SIM118 (not a dict)
            plain = _plain_name(name)
            if plain.startswith(LEFT_OUT):
                left_out.append(name)
            elif plain in stored:
                raise ArtifactError(
                    f"{path}: {name}: expected one weight of this name, got {stored[plain]} too"
                )
            else:
                stored[plain] = name
        shapes = {plain: tuple(file.get_slice(name).get_shape()) for plain, name in stored.items()}
        check_pooler(rows, stored, path)
        check(rows, shapes, str(path))
        weights = to_ours(rows, lambda plain: file.get_tensor(stored[plain]), str(path))
    return weights, tuple(sorted(left_out))


def _output_layer(
    folder: Path, config: dict, weights: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray] | None, list[str], list[str]]:
    """The output layer, if the source has one with tied embeddings; the names of its weights, and
    the unused names of a file of heads."""
    has_heads_file = (folder / HEADS_FILE).is_file()
    path, prefix = folder / (HEADS_FILE if has_heads_file else "model.safetensors"), OUTPUT_PREFIX
    rows = expand(OUTPUT_TABLE, output_shapes(config), {})
    with open_weights(path) as file:
        stored = {_plain_name(name).removeprefix(prefix): name for name in file.keys()}  # noqa: SIM118
        if not {row.foreign for row in rows} <= stored.keys():
            return None, [], sorted(stored.values()) if has_heads_file else []
        decoder = stored.get("predictions.decoder.weight")
        embeddings = weights["embeddings/word_embeddings"]
        if decoder and not np.array_equal(file.get_tensor(decoder), embeddings):
            return None, [], sorted(stored.values()) if has_heads_file else []
        used = {row.foreign: stored[row.foreign] for row in rows}
        shapes = {plain: tuple(file.get_slice(name).get_shape()) for plain, name in used.items()}
        check(rows, shapes, str(path))
        layer = to_ours(rows, lambda plain: file.get_tensor(used[plain]), str(path))
    unused = sorted(set(stored.values()) - set(used.values())) if has_heads_file else []
    return layer, list(used.values()), unused


def output_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Our name → shape, of every weight of BERT's output layer."""
    width = config["width"]
    return {
        "dense/kernel": (width, width),
        "dense/bias": (width,),
        "layer_norm/gamma": (width,),
        "layer_norm/beta": (width,),
        "bias": (config["vocabulary_size"],),
    }


def _plain_name(name: str) -> str:
    plain = name.removeprefix(PREFIX)
    for old, new in RENAMED.items():
        if plain.endswith(old):
            plain = plain.removesuffix(old) + new
    return plain


_WRITERS = {
    "bert": write,
    "causal": gpt2.write,
    "modern_bert": modern_bert.write,
    "mpnet": mpnet.write,
}
_ROWS = {
    "bert": table_rows,
    "causal": gpt2.table_rows,
    "modern_bert": modern_bert.table_rows,
    "mpnet": mpnet.table_rows,
}
