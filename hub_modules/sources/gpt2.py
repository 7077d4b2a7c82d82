"""GPT-2 from HuggingFace's format: `config.json`, `model.safetensors`, and the tokenizer's
`vocab.json` and `merges.txt`, or `tokenizer.json`.

Kernels are stored as ours, `[in, out]`; those of query, key and value side by side as one. The
output layer is tied to the word embeddings.

Source: HuggingFace transformers (`models/gpt2/modeling_gpt2.py`).
"""

import re
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError
from hub_modules.preprocess.causal import END
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import read_json, setting
from hub_modules.sources.files.huggingface_files import ACTIVATIONS, Beside, write_folder
from hub_modules.sources.files.safetensors_file import (
    PARTS,
    joined_thirds,
    open_weights,
    read_weights,
    weights_file,
)
from hub_modules.sources.files.tokenizer_texts import gpt2_texts
from hub_modules.sources.layouts.bert import check_heads
from hub_modules.sources.layouts.causal import (
    MERGES_FILE,
    byte_pair_files,
    causal_shapes,
    read_byte_pairs,
    read_tokenizer_json,
)
from hub_modules.sources.layouts.names import Row, Table, expand, to_foreign

# Of the merged kernel and bias each third is a weight of its own here.
MERGED = "attn.c_attn."


def _pair(foreign: str, ours: str, names: tuple[str, str], part: str = "") -> Table:
    return [
        (f"{foreign}.{theirs}{part}", f"{ours}/{name}", "same")
        for theirs, name in zip(("weight", "bias"), names, strict=True)
    ]


_KERNEL_BIAS, _GAMMA_BETA = ("kernel", "bias"), ("gamma", "beta")
TABLE: Table = [
    ("wte.weight", "embeddings/word_embeddings", "same"),
    ("wpe.weight", "embeddings/position_embeddings", "same"),
    *_pair("h.{layer}.ln_1", "layer_{layer}/attention_layer_norm", _GAMMA_BETA),
    *(
        row
        for part in PARTS
        for row in _pair(
            "h.{layer}.attn.c_attn", f"layer_{{layer}}/attention/{part}", _KERNEL_BIAS, f"[{part}]"
        )
    ),
    *_pair("h.{layer}.attn.c_proj", "layer_{layer}/attention/output", _KERNEL_BIAS),
    *_pair("h.{layer}.ln_2", "layer_{layer}/output_layer_norm", _GAMMA_BETA),
    *_pair("h.{layer}.mlp.c_fc", "layer_{layer}/intermediate", _KERNEL_BIAS),
    *_pair("h.{layer}.mlp.c_proj", "layer_{layer}/output", _KERNEL_BIAS),
    *_pair("ln_f", "final_norm", _GAMMA_BETA),
]

# Prefix of the encoder's names in checkpoints of a model with a head.
PREFIX = "transformer."
# The causal mask, which older versions stored; heads, the tied output among them.
LEFT_OUT = re.compile(
    r"h\.\d+\.attn\.(masked_)?bias$|lm_head\.|score\.|classifier\.|multiple_choice_head\."
)


def read(path: str | Path, lower_case: bool | None = None) -> ModuleSource:
    """Reads a folder as `save_pretrained` of model and tokenizer writes it.

    Raises:
        ArtifactError: a file is missing or damaged; another architecture; a weight is missing,
            unknown or of another shape; the output is not tied; `lower_case` is given.
    """
    folder = Path(path)
    if lower_case is not None:
        raise ArtifactError(
            f"{folder}: GPT-2's vocabulary has both cases; leave --lower-case or --cased out"
        )
    config = _config(read_json(folder / "config.json"), folder / "config.json")
    rows = config["vocabulary_size"]
    if (folder / "vocab.json").is_file() or not (folder / "tokenizer.json").is_file():
        tokenizer = read_byte_pairs(folder / "vocab.json", folder / MERGES_FILE, rows)
    else:
        tokenizer = read_tokenizer_json(folder / "tokenizer.json", rows)
    weights, left_out = _read_weights(weights_file(folder), table_rows(config))
    vocabulary, merges = tokenizer
    return ModuleSource(
        "causal", config, weights, vocabulary, merges=merges, left_out=tuple(left_out)
    )


def write(source: ModuleSource, folder: str | Path, beside: Beside = None) -> None:
    """Writes the files that `read` and HuggingFace's `GPT2Model` read.

    Args:
        beside: further files by name, as text.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
    """
    config = source.config
    theirs = {ours: name for name, ours in reversed(ACTIVATIONS.items())}
    settings = {
        "model_type": "gpt2",
        "architectures": ["GPT2Model"],
        "vocab_size": config["vocabulary_size"],
        "n_positions": config["max_positions"],
        "n_embd": config["width"],
        "n_layer": config["num_layers"],
        "n_head": config["num_heads"],
        "n_inner": config["intermediate_width"],
        "activation_function": theirs[config["activation"]],
        "layer_norm_epsilon": config["layer_norm_epsilon"],
        "resid_pdrop": config["dropout"],
        "embd_pdrop": config["dropout"],
        "attn_pdrop": config["attention_dropout"],
        "bos_token_id": source.vocabulary.index(END),
        "eos_token_id": source.vocabulary.index(END),
    }
    arrays = joined_thirds(to_foreign(table_rows(config), source.weights), axis=-1)
    texts = byte_pair_files(source.vocabulary, source.merges)
    texts |= gpt2_texts(source.vocabulary, source.merges, END)
    write_folder(folder, settings, arrays, texts, beside)


def table_rows(config: dict) -> list[Row]:
    """The name table, filled in for an encoder of this configuration."""
    return expand(TABLE, causal_shapes(config), {"layer": config["num_layers"]})


def _config(settings: dict, where: Path) -> dict:
    for key, expected in (
        ("model_type", "gpt2"),
        ("scale_attn_weights", True),
        ("scale_attn_by_inverse_layer_idx", False),
        ("add_cross_attention", False),
        ("tie_word_embeddings", True),
    ):
        got = settings.get(key, expected)
        if got != expected:
            raise ArtifactError(
                f"{where}: {key}: expected {expected!r}, got {got!r}; only GPT-2 as it was "
                "published is supported"
            )
    activation = setting(settings, "activation_function", "a text", where, default="gelu_new")
    if activation not in ACTIVATIONS:
        raise ArtifactError(
            f"{where}: activation_function: expected one of {sorted(ACTIVATIONS)}, got "
            f"{activation!r}; other activations are not supported"
        )
    integer, share = "a positive integer", "a number from 0 to below 1"
    width = setting(settings, "n_embd", integer, where)
    inner = settings.get("n_inner")
    config = {
        "vocabulary_size": setting(settings, "vocab_size", integer, where),
        "width": width,
        "num_layers": setting(settings, "n_layer", "an integer from 1 to 1000", where),
        "num_heads": setting(settings, "n_head", integer, where),
        "intermediate_width": 4 * width
        if inner is None
        else setting(settings, "n_inner", integer, where),
        "max_positions": setting(settings, "n_positions", integer, where),
        "activation": ACTIVATIONS[activation],
        "layer_norm_epsilon": setting(
            settings, "layer_norm_epsilon", "a positive number", where, default=1e-5
        ),
        "dropout": setting(settings, "resid_pdrop", share, where, default=0.1),
        "attention_dropout": setting(settings, "attn_pdrop", share, where, default=0.1),
    }
    check_heads(config, where)
    return config


def _read_weights(path: Path, rows: list[Row]) -> tuple[dict[str, np.ndarray], list[str]]:
    weights, left_out = read_weights(path, rows, PREFIX, LEFT_OUT, MERGED, axis=-1)
    with open_weights(path) as file:
        _check_tied(file, weights["embeddings/word_embeddings"], path)
    return weights, left_out


def _check_tied(file, embeddings: np.ndarray, path: Path) -> None:
    if "lm_head.weight" not in file.keys():  # noqa: SIM118 (not a dict)
        return
    output = file.get_tensor("lm_head.weight")
    if output.shape != embeddings.shape or not np.array_equal(output, embeddings):
        raise ArtifactError(
            f"{path}: lm_head.weight: expected the word embeddings, to which GPT-2's output is "
            "tied, got other numbers; a model whose output is not tied is not supported"
        )
