"""GPT-2 from a keras-hub preset: `config.json`, `model.weights.h5`, `tokenizer.json`, and
`vocabulary.json` and `merges.txt` in `assets/tokenizer`.

The folder is read as data, so keras-hub need not be installed. The activation is the tanh form of
GELU, the LayerNorm's ε 1e-5.

Source: keras-hub (`models/gpt2/gpt2_backbone.py`, `layers/modeling/transformer_decoder.py`).
"""

from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.sources import ModuleSource
from hub_modules.sources.keras_preset import class_config, read_weights, sizes
from hub_modules.sources.layouts.bert import check_heads
from hub_modules.sources.layouts.causal import MERGES_FILE, causal_shapes, read_byte_pairs
from hub_modules.sources.layouts.names import Row, Table, expand

_KERNEL_BIAS, _GAMMA_BETA = ("kernel", "bias"), ("gamma", "beta")


def _pair(saved: str, ours: str, names: tuple[str, str], *steps: str) -> Table:
    steps = steps or ("same", "same")
    return [
        (f"{saved}/vars/{number}", f"{ours}/{name}", step)
        for number, (name, step) in enumerate(zip(names, steps, strict=True))
    ]


def _block(saved: str, ours: str, names: tuple[str, str], *steps: str) -> Table:
    saved = f"layers/transformer_decoder_{{layer}}/{saved}"
    return _pair(saved, f"layer_{{layer}}/{ours}", names, *steps)


_SPLIT = ("split_columns", "split_columns")
TABLE: Table = [
    ("layers/reversible_embedding/vars/0", "embeddings/word_embeddings", "same"),
    ("layers/position_embedding/vars/0", "embeddings/position_embeddings", "same"),
    *(
        row
        for part in ("query", "key", "value")
        for row in _block(
            f"self_attention_layer/{part}_dense", f"attention/{part}", _KERNEL_BIAS, *_SPLIT
        )
    ),
    *_block(
        "self_attention_layer/output_dense", "attention/output", _KERNEL_BIAS, "split_rows", "same"
    ),
    *_block("self_attention_layer_norm", "attention_layer_norm", _GAMMA_BETA),
    *_block("feedforward_intermediate_dense", "intermediate", _KERNEL_BIAS),
    *_block("feedforward_output_dense", "output", _KERNEL_BIAS),
    *_block("feedforward_layer_norm", "output_layer_norm", _GAMMA_BETA),
    *_pair("layers/layer_normalization", "final_norm", _GAMMA_BETA),
]


def read(path: str | Path, lower_case: bool | None = None) -> ModuleSource:
    """Reads the preset of a `GPT2Backbone` with its `GPT2Tokenizer`.

    Raises:
        ArtifactError: a file is missing or damaged; another backbone or tokenizer; a weight is
            missing, unknown or of another shape; `lower_case` is given.
    """
    folder = Path(path)
    if lower_case is not None:
        raise ArtifactError(
            f"{folder}: GPT-2's vocabulary has both cases; leave --lower-case or --cased out"
        )
    config_path = folder / "config.json"
    config = _config(class_config(config_path, "GPT2Backbone"), config_path)
    tokenizer_path, assets = folder / "tokenizer.json", folder / "assets" / "tokenizer"
    tokenizer = class_config(tokenizer_path, "GPT2Tokenizer")
    if tokenizer.get("add_prefix_space", False) is not False:
        raise ArtifactError(
            f"{tokenizer_path}: add_prefix_space: expected false, got "
            f"{tokenizer['add_prefix_space']!r}; such a tokenizer is not supported"
        )
    vocabulary, merges = read_byte_pairs(
        assets / "vocabulary.json", assets / MERGES_FILE, config["vocabulary_size"]
    )
    rows = table_rows(config)
    weights_path = folder / "model.weights.h5"
    weights, left_out = read_weights(weights_path, rows, "transformer_decoder")
    return ModuleSource("causal", config, weights, vocabulary, merges=merges, left_out=left_out)


def table_rows(config: dict) -> list[Row]:
    """The name table, filled in for an encoder of this configuration."""
    counts = {"layer": config["num_layers"]}
    return expand(TABLE, causal_shapes(config), counts, heads=config["num_heads"])


def _config(settings: dict, where: Path) -> dict:
    config = sizes(settings, where) | {"layer_norm_epsilon": 1e-5}
    check_heads(config, where)
    return config
