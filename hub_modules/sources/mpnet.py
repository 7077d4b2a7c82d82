"""MPNet from HuggingFace's format: `config.json`, `model.safetensors`, `vocab.txt`.

Source: HuggingFace transformers (`models/mpnet/modeling_mpnet.py`).
"""

import re
from pathlib import Path

from hub_modules.manifest_schemas import MPNetArguments
from hub_modules.native.relative.mpnet import UNUSED_POSITIONS
from hub_modules.preprocess.bert import MPNET_TOKENS
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import read_json, setting
from hub_modules.sources.files.huggingface_files import (
    ACTIVATIONS,
    Beside,
    write_folder,
)
from hub_modules.sources.files.safetensors_file import read_weights, weights_file
from hub_modules.sources.files.tokenizer_files import (
    read_tokenizer_files,
    word_piece_casing,
    word_pieces,
)
from hub_modules.sources.files.tokenizer_texts import word_piece_texts
from hub_modules.sources.layouts.bert import bert_config, bert_settings, bert_shapes
from hub_modules.sources.layouts.names import Row, Table, expand, to_foreign
from hub_modules.storage.json_files import checked

MODEL_TYPE = "mpnet"


def _both(foreign: str, ours: str, step: str, names: tuple[str, str]) -> Table:
    return [
        (f"{foreign}.weight", f"{ours}/{names[0]}", step),
        (f"{foreign}.bias", f"{ours}/{names[1]}", "same"),
    ]


def _dense(foreign: str, ours: str) -> Table:
    return _both(foreign, ours, "transpose", ("kernel", "bias"))


def _norm(foreign: str, ours: str) -> Table:
    return _both(foreign, ours, "same", ("gamma", "beta"))


_LAYER, _OURS = "encoder.layer.{layer}", "layer_{layer}"
TABLE: Table = [
    ("embeddings.word_embeddings.weight", "embeddings/word_embeddings", "same"),
    ("embeddings.position_embeddings.weight", "embeddings/position_embeddings", "same"),
    *_norm("embeddings.LayerNorm", "embeddings/layer_norm"),
    (
        "encoder.relative_attention_bias.weight",
        "embeddings/relative_positions/table",
        "same",
    ),
    *_dense(f"{_LAYER}.attention.attn.q", f"{_OURS}/attention/query"),
    *_dense(f"{_LAYER}.attention.attn.k", f"{_OURS}/attention/key"),
    *_dense(f"{_LAYER}.attention.attn.v", f"{_OURS}/attention/value"),
    *_dense(f"{_LAYER}.attention.attn.o", f"{_OURS}/attention/output"),
    *_norm(f"{_LAYER}.attention.LayerNorm", f"{_OURS}/attention_layer_norm"),
    *_dense(f"{_LAYER}.intermediate.dense", f"{_OURS}/intermediate"),
    *_dense(f"{_LAYER}.output.dense", f"{_OURS}/output"),
    *_norm(f"{_LAYER}.output.LayerNorm", f"{_OURS}/output_layer_norm"),
    *_dense("pooler.dense", "pooler"),
]
# Prefix of the encoder's names in checkpoints of a model with a head, and these heads.
PREFIX = "mpnet."
LEFT_OUT = re.compile(r"lm_head\.|classifier\.|qa_outputs\.|embeddings\.position_ids$")


def read(path: str | Path, lower_case: bool | None = None) -> ModuleSource:
    """Reads a folder with `config.json`, `model.safetensors`, and `vocab.txt` or
    `tokenizer.json`.

    Args:
        lower_case: needed where the tokenizer's files are missing or do not record it.

    Raises:
        ArtifactError: a file is missing or damaged; another architecture or tokenizer; a weight is
            missing, unknown or of another shape; the casing is unknown.
    """
    folder = Path(path)
    config = _config(read_json(folder / "config.json"), folder / "config.json")
    rows, special = config["vocabulary_size"], tuple(MPNET_TOKENS.values())
    files = read_tokenizer_files(folder, MODEL_TYPE)
    vocabulary = word_pieces(files, rows, special)
    casing = word_piece_casing(files, lower_case, rows, special)
    weights, left_out = read_weights(weights_file(folder), table_rows(config), PREFIX, LEFT_OUT)
    return ModuleSource("mpnet", config, weights, vocabulary, casing, left_out=tuple(left_out))


def write(source: ModuleSource, folder: str | Path, beside: Beside = None) -> None:
    """Writes the files that `read` and HuggingFace's `MPNetModel` read.

    Args:
        beside: further files by name, as text.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
    """
    config = source.config
    settings = bert_settings(config | {"type_vocabulary_size": 0}, ACTIVATIONS) | {
        "model_type": MODEL_TYPE,
        "architectures": ["MPNetModel"],
        "max_position_embeddings": config["max_positions"] + UNUSED_POSITIONS,
        "relative_attention_num_buckets": config["num_buckets"],
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
    }
    del settings["type_vocab_size"]
    texts = word_piece_texts(
        source.vocabulary, source.lower_case, MPNET_TOKENS, True, "MPNetTokenizer"
    )
    arrays = to_foreign(table_rows(config), source.weights)
    write_folder(folder, settings, arrays, texts, beside)


def table_rows(config: dict) -> list[Row]:
    """The name table, filled in for an encoder of this configuration."""
    return expand(TABLE, mpnet_shapes(config), {"layer": config["num_layers"]})


def mpnet_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Our name → shape, of every weight of `MPNetEncoder(**config)`."""
    shapes = bert_shapes(config | {"type_vocabulary_size": 0})
    del shapes["embeddings/token_type_embeddings"]
    rows = config["max_positions"] + UNUSED_POSITIONS
    return shapes | {
        "embeddings/position_embeddings": (rows, config["width"]),
        "embeddings/relative_positions/table": (config["num_buckets"], config["num_heads"]),
    }


def _config(settings: dict, where: Path) -> dict:
    config = bert_config(settings | {"type_vocab_size": 1}, ACTIVATIONS, where)
    del config["type_vocabulary_size"]
    config["max_positions"] -= UNUSED_POSITIONS
    buckets = setting(
        settings, "relative_attention_num_buckets", "a positive integer", where, default=32
    )
    arguments = config | {"num_buckets": buckets}
    return checked(MPNetArguments, arguments, str(where)).model_dump()
