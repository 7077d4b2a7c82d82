"""ModernBERT from HuggingFace's format: `config.json`, `model.safetensors`, `tokenizer.json`.

Linear layers are stored as `[out, in]`; those of query, key and value one above the other.

Source: HuggingFace transformers (`models/modernbert/modeling_modernbert.py`).
"""

import re
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.manifest_schemas import ModernBertArguments
from hub_modules.preprocess.bert import SPECIAL_TOKENS
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import SPECIAL_PIECES, read_json, require_file, setting
from hub_modules.sources.files.huggingface_files import ACTIVATIONS, Beside, write_folder
from hub_modules.sources.files.safetensors_file import (
    PARTS,
    joined_thirds,
    read_weights,
    weights_file,
)
from hub_modules.sources.files.tokenizer_files import (
    added_tokens,
    read_tokenizer_files,
    refuse_others,
)
from hub_modules.sources.files.tokenizer_texts import byte_pair_texts
from hub_modules.sources.layouts.causal import by_id, merge_text
from hub_modules.sources.layouts.modern_bert import check_texts, modern_bert_shapes
from hub_modules.sources.layouts.names import Row, Table, expand, to_foreign
from hub_modules.storage.json_files import checked

MODEL_TYPE = "modernbert"

# Of the merged kernel each third is a weight of its own here.
MERGED = ".attn.Wqkv."
TABLE: Table = [
    ("embeddings.tok_embeddings.weight", "embeddings/word_embeddings", "same"),
    ("embeddings.norm.weight", "embeddings/layer_norm/gamma", "same"),
    ("layers.{layer}.attn_norm.weight", "layer_{layer}/attention_layer_norm/gamma", "same"),
    *(
        (
            f"layers.{{layer}}.attn.Wqkv.weight[{part}]",
            f"layer_{{layer}}/attention/{part}/kernel",
            "transpose",
        )
        for part in PARTS
    ),
    ("layers.{layer}.attn.Wo.weight", "layer_{layer}/attention/output/kernel", "transpose"),
    ("layers.{layer}.mlp_norm.weight", "layer_{layer}/output_layer_norm/gamma", "same"),
    ("layers.{layer}.mlp.Wi.weight", "layer_{layer}/intermediate/kernel", "transpose"),
    ("layers.{layer}.mlp.Wo.weight", "layer_{layer}/output/kernel", "transpose"),
    ("final_norm.weight", "final_norm/gamma", "same"),
]
# Prefix of the encoder's names in checkpoints of a model with a head, and these heads.
PREFIX = "model."
LEFT_OUT = re.compile(r"(head|decoder|classifier)\.")
# As `refuse_others`, of config.json and of tokenizer.json.
_SETTINGS = [
    ("model_type", (MODEL_TYPE,)),
    ("norm_bias", (False,)),
    ("attention_bias", (False,)),
    ("mlp_bias", (False,)),
    ("rope_scaling", (None,)),
    ("rope_parameters.full_attention.rope_type", ("default", None)),
    ("rope_parameters.sliding_attention.rope_type", ("default", None)),
]
_TOKENIZER = [
    ("model.type", ("BPE",)),
    ("normalizer.type", ("NFC",)),
    ("pre_tokenizer.type", ("ByteLevel",)),
    ("pre_tokenizer.use_regex", (True,)),
    ("pre_tokenizer.add_prefix_space", (False,)),
]
_GLOBAL, _LOCAL = "full_attention", "sliding_attention"


def read(path: str | Path, lower_case: bool | None = None) -> ModuleSource:
    """Reads a folder as `save_pretrained` of model and tokenizer writes it.

    Raises:
        ArtifactError: a file is missing or damaged; another architecture or tokenizer; a weight is
            missing, unknown or of another shape; `lower_case` is given.
    """
    folder = Path(path)
    if lower_case is not None:
        raise ArtifactError(
            f"{folder}: ModernBERT's vocabulary has both cases; leave --lower-case or --cased out"
        )
    config = _config(read_json(folder / "config.json"), folder / "config.json")
    texts = _texts(folder, config["vocabulary_size"])
    weights, left_out = read_weights(
        weights_file(folder), table_rows(config), PREFIX, LEFT_OUT, MERGED
    )
    return ModuleSource("modern_bert", config, weights, left_out=tuple(left_out), **texts)


def write(source: ModuleSource, folder: str | Path, beside: Beside = None) -> None:
    """Writes the files that `read` and HuggingFace's `ModernBertModel` read.

    Args:
        beside: further files by name, as text.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
    """
    config, ids = source.config, {piece: n for n, piece in enumerate(source.vocabulary)}
    theirs = {ours: name for name, ours in reversed(ACTIVATIONS.items())}
    kinds = [
        _GLOBAL if layer in config["global_layers"] else _LOCAL
        for layer in range(config["num_layers"])
    ]
    settings = {
        "model_type": MODEL_TYPE,
        "architectures": ["ModernBertModel"],
        "vocab_size": config["vocabulary_size"],
        "hidden_size": config["width"],
        "num_hidden_layers": config["num_layers"],
        "num_attention_heads": config["num_heads"],
        "intermediate_size": config["intermediate_width"],
        "max_position_embeddings": config["max_positions"],
        "layer_types": kinds,
        "local_attention": config["local_attention"],
        "global_rope_theta": config["global_base"],
        "local_rope_theta": config["local_base"],
        "hidden_activation": theirs[config["activation"]],
        "norm_eps": config["layer_norm_epsilon"],
        "mlp_dropout": config["dropout"],
        "embedding_dropout": config["embedding_dropout"],
        "attention_dropout": config["attention_dropout"],
        "norm_bias": False,
        "attention_bias": False,
        "mlp_bias": False,
        "pad_token_id": ids["[PAD]"],
        "cls_token_id": ids["[CLS]"],
        "sep_token_id": ids["[SEP]"],
        "bos_token_id": ids["[CLS]"],
        "eos_token_id": ids["[SEP]"],
    }
    texts = byte_pair_texts(source.vocabulary, source.merges, source.added, SPECIAL_TOKENS)
    arrays = joined_thirds(to_foreign(table_rows(config), source.weights))
    write_folder(folder, settings, arrays, texts, beside)


def table_rows(config: dict) -> list[Row]:
    """The name table, filled in for an encoder of this configuration."""
    return expand(TABLE, modern_bert_shapes(config), {"layer": config["num_layers"]})


def _config(settings: dict, where: Path) -> dict:
    refuse_others(settings, _SETTINGS, where, "such a model is not supported")
    activation = setting(settings, "hidden_activation", "a text", where, default="gelu")
    if activation not in ACTIVATIONS:
        raise ArtifactError(
            f"{where}: hidden_activation: expected one of {sorted(ACTIVATIONS)}, got "
            f"{activation!r}; other activations are not supported"
        )
    integer, share = "a positive integer", "a number from 0 to below 1"
    num_layers = setting(settings, "num_hidden_layers", "an integer from 1 to 1000", where)
    config = {
        "vocabulary_size": setting(settings, "vocab_size", integer, where),
        "width": setting(settings, "hidden_size", integer, where),
        "num_layers": num_layers,
        "num_heads": setting(settings, "num_attention_heads", integer, where),
        "intermediate_width": setting(settings, "intermediate_size", integer, where),
        "max_positions": setting(settings, "max_position_embeddings", integer, where),
        "global_layers": _global_layers(settings, num_layers, where),
        "local_attention": setting(settings, "local_attention", integer, where, default=128),
        "global_base": _base(settings, _GLOBAL, "global_rope_theta", 160_000.0, where),
        "local_base": _base(settings, _LOCAL, "local_rope_theta", 10_000.0, where),
        "activation": ACTIVATIONS[activation],
        "layer_norm_epsilon": setting(
            settings, "norm_eps", "a positive number", where, default=1e-5
        ),
        "dropout": setting(settings, "mlp_dropout", share, where, default=0.0),
        "embedding_dropout": setting(settings, "embedding_dropout", share, where, default=0.0),
        "attention_dropout": setting(settings, "attention_dropout", share, where, default=0.0),
    }
    return checked(ModernBertArguments, config, str(where)).model_dump()


def _global_layers(settings: dict, num_layers: int, where: Path) -> list[int]:
    """The numbers of the layers that attend to the whole row; each third where it is not said."""
    every = setting(settings, "global_attn_every_n_layers", "a positive integer", where, default=3)
    types = setting(settings, "layer_types", "a list", where, default=None)
    if types is None:
        return list(range(0, num_layers, every))
    if len(types) != num_layers or any(kind not in (_GLOBAL, _LOCAL) for kind in types):
        raise ArtifactError(
            f"{where}: layer_types: expected {num_layers} times {_GLOBAL} or {_LOCAL}, got "
            f"{str(types)[:100]}; the file is damaged, or of another architecture"
        )
    return [number for number, kind in enumerate(types) if kind == _GLOBAL]


def _base(settings: dict, kind: str, old_key: str, default: float, where: Path) -> float:
    number = "a positive number"
    old = setting(settings, old_key, number, where, default=default)
    return float(setting(settings, f"rope_parameters.{kind}.rope_theta", number, where, old))


def _texts(folder: Path, rows: int) -> dict:
    """`vocabulary`, `merges` and `added` of a `ModuleSource`."""
    path = require_file(folder / "tokenizer.json", "the tokenizer of a ModernBERT")
    files = read_tokenizer_files(folder, MODEL_TYPE)
    refuse_others(files.fast, _TOKENIZER, path)
    ids = dict(setting(files.fast, "model.vocab", "an object", path))
    merges = setting(files.fast, "model.merges", "a long list", path)
    for token in setting(files.fast, "added_tokens", "a long list", path, default=[]):
        if isinstance(token, dict):
            ids[str(token.get("content"))] = token.get("id")
    pieces = by_id(ids, path)
    special = {ids[piece] for piece in SPECIAL_PIECES if piece in ids}
    as_written, normalized = added_tokens(files, rows, special, blanks_count=True)
    texts = {
        "vocabulary": pieces,
        "merges": [merge_text(merge) for merge in merges],
        "added": {"as_written": as_written, "normalized": normalized},
    }
    return check_texts(texts, rows, str(path))
