"""BERT from keras-nlp (today keras-hub): a `BertBackbone` object, or a preset folder.

A preset is `config.json`, `model.weights.h5`, `tokenizer.json`, `assets/tokenizer/vocabulary.txt`;
it is read as data, so keras-hub need not be installed. The activation is the tanh form of GELU, the
LayerNorm's ε 1e-12. Text is lower-cased and stripped of accents together, as in the original BERT,
whatever a preset's `strip_accents` is: its weights are converted from the original's.

A preset of a `GPT2Backbone` is read by `hub_modules.sources.keras_gpt2`.

Source: keras-hub (`models/bert/bert_backbone.py`, `layers/modeling/transformer_encoder.py`).
"""

from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.sources import ModuleSource, keras_gpt2
from hub_modules.sources.files.folder import (
    check_vocabulary,
    lower_casing,
    read_json,
    read_vocabulary,
    setting,
)
from hub_modules.sources.keras_preset import class_config, read_weights, sizes
from hub_modules.sources.layouts.bert import bert_shapes, check_heads
from hub_modules.sources.layouts.names import Row, Table, check, expand, to_ours

BACKBONES = ("BertBackbone", "GPT2Backbone")
KERNEL_BIAS, GAMMA_BETA = ("kernel", "bias"), ("gamma", "beta")


def _pair(layer: str, saved: str, ours: str, parts: tuple[str, str], *steps: str) -> list[tuple]:
    """Table rows of the two weights of one layer, `vars/0` and `vars/1` in the file."""
    steps = steps or ("same", "same")
    return [
        (f"{layer}/{part}", f"{saved}/vars/{number}", f"{ours}/{part}", step)
        for number, (part, step) in enumerate(zip(parts, steps, strict=True))
    ]


def _attention(part: str, saved: str, ours: str, *steps: str) -> list[tuple]:
    return _pair(
        f"transformer_layer_{{layer}}/self_attention_layer/{part}",
        f"layers/transformer_encoder_{{layer}}/self_attention_layer/{saved}",
        f"layer_{{layer}}/attention/{ours}",
        KERNEL_BIAS,
        *steps,
    )


def _block(part: str, ours: str, parts: tuple[str, str]) -> list[tuple]:
    return _pair(
        f"transformer_layer_{{layer}}/{part}",
        f"layers/transformer_encoder_{{layer}}/{part}",
        f"layer_{{layer}}/{ours}",
        parts,
    )


# Name of the weight in the object; in the file; ours; step (see `names`).
LAYOUT: list[tuple[str, str, str, str]] = [
    (
        "token_embedding/embeddings",
        "layers/reversible_embedding/vars/0",
        "embeddings/word_embeddings",
        "same",
    ),
    (
        "position_embedding/embeddings",
        "layers/position_embedding/vars/0",
        "embeddings/position_embeddings",
        "same",
    ),
    (
        "segment_embedding/embeddings",
        "layers/embedding/vars/0",
        "embeddings/token_type_embeddings",
        "same",
    ),
    *_pair(
        "embeddings_layer_norm",
        "layers/layer_normalization",
        "embeddings/layer_norm",
        GAMMA_BETA,
    ),
    *_attention("query", "query_dense", "query", "split_columns", "split_columns"),
    *_attention("key", "key_dense", "key", "split_columns", "split_columns"),
    *_attention("value", "value_dense", "value", "split_columns", "split_columns"),
    *_attention("attention_output", "output_dense", "output", "split_rows", "same"),
    *_block("self_attention_layer_norm", "attention_layer_norm", GAMMA_BETA),
    *_block("feedforward_intermediate_dense", "intermediate", KERNEL_BIAS),
    *_block("feedforward_output_dense", "output", KERNEL_BIAS),
    *_block("feedforward_layer_norm", "output_layer_norm", GAMMA_BETA),
    *_pair("pooled_dense", "layers/dense", "pooler", KERNEL_BIAS),
]
OBJECT_TABLE: Table = [(layer, ours, step) for layer, _, ours, step in LAYOUT]
FILE_TABLE: Table = [(saved, ours, step) for _, saved, ours, step in LAYOUT]


def read(source, lower_case: bool | None = None, tokenizer=None) -> ModuleSource:
    """Reads a preset folder, or a `BertBackbone` with (or without) its `BertTokenizer`.

    Args:
        source: folder, or backbone. Without a tokenizer a backbone has no vocabulary, and its
            casing is `lower_case`.
        lower_case: needed where neither preset nor tokenizer records it.

    Raises:
        ArtifactError: a file is missing, damaged, or refers to something outside itself; another
            architecture; a weight is missing, unknown or of another shape; the casing is unknown.
    """
    if isinstance(source, str | Path):
        return _read_preset(Path(source), lower_case)
    return _read_backbone(source, lower_case, tokenizer)


def table_rows(table: Table, config: dict) -> list[Row]:
    """A name table, filled in for an encoder of this configuration."""
    counts = {"layer": config["num_layers"]}
    return expand(table, bert_shapes(config), counts, heads=config["num_heads"])


def _read_backbone(backbone, lower_case: bool | None, tokenizer) -> ModuleSource:
    where = type(backbone).__name__
    if "BertBackbone" not in [parent.__name__ for parent in type(backbone).__mro__]:
        raise ArtifactError(f"expected a BertBackbone of keras-nlp or keras-hub, got a {where}")
    config = _config(backbone.get_config(), Path(where))
    rows = table_rows(OBJECT_TABLE, config)
    weights = {weight.path: weight for weight in backbone.weights}
    check(rows, {name: tuple(weight.shape) for name, weight in weights.items()}, where)
    arrays = to_ours(rows, lambda name: weights[name].numpy(), where)
    vocabulary = None
    if tokenizer is not None:
        lower_case = lower_casing(tokenizer.lowercase, lower_case, Path("tokenizer"))
        pieces = list(tokenizer.get_vocabulary())
        vocabulary = check_vocabulary(pieces, config["vocabulary_size"], "tokenizer")
    return ModuleSource("bert", config, arrays, vocabulary, lower_case)


def _read_preset(folder: Path, lower_case: bool | None) -> ModuleSource:
    config_path, weights_path = folder / "config.json", folder / "model.weights.h5"
    if read_json(config_path).get("class_name") == "GPT2Backbone":
        return keras_gpt2.read(folder, lower_case)
    config = _config(class_config(config_path, "BertBackbone"), config_path)
    tokenizer_path = folder / "tokenizer.json"
    if not tokenizer_path.is_file():
        raise ArtifactError(
            f"{tokenizer_path}: expected the preset's tokenizer, got no such file; save it into "
            "the same folder (in keras-hub: tokenizer.save_to_preset)"
        )
    tokenizer = class_config(tokenizer_path, "BertTokenizer")
    recorded = setting(tokenizer, "lowercase", "true or false", tokenizer_path, default=None)
    lower_case = lower_casing(recorded, lower_case, tokenizer_path)
    vocabulary_path = folder / "assets" / "tokenizer" / "vocabulary.txt"
    vocabulary = read_vocabulary(vocabulary_path, config["vocabulary_size"])
    rows = table_rows(FILE_TABLE, config)
    weights, left_out = read_weights(weights_path, rows, "transformer_encoder")
    return ModuleSource("bert", config, weights, vocabulary, lower_case, left_out=left_out)


def _config(settings: dict, where: Path) -> dict:
    config = sizes(settings, where) | {
        "type_vocabulary_size": setting(settings, "num_segments", "a positive integer", where),
        "layer_norm_epsilon": 1e-12,
    }
    check_heads(config, where)
    return config
