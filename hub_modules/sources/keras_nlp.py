"""BERT from keras-nlp (today keras-hub): a `BertBackbone` object, or a preset folder.

A preset is `config.json`, `model.weights.h5`, `tokenizer.json`, `assets/tokenizer/vocabulary.txt`;
it is read as data, so keras-hub need not be installed. The activation is the tanh form of GELU, the
LayerNorm's ε 1e-12. Text is lower-cased and stripped of accents together, as in the original BERT,
whatever a preset's `strip_accents` says: its weights come from there.

Source: keras-hub (`models/bert/bert_backbone.py`, `layers/modeling/transformer_encoder.py`).
"""

import re
from pathlib import Path

from hub_modules.sources import ModuleSource
from hub_modules.sources.bert_layout import bert_shapes, check_heads
from hub_modules.sources.folder import (
    check_vocabulary,
    lower_casing,
    read_json,
    read_vocabulary,
    setting,
)
from hub_modules.sources.hdf5 import open_strictly
from hub_modules.sources.names import Row, Table, check, expand, to_ours
from tf_adapt.errors import ArtifactError

KERNEL_BIAS, GAMMA_BETA = ("kernel", "bias"), ("gamma", "beta")


def _pair(layer: str, saved: str, ours: str, parts: tuple[str, str], *steps: str) -> list[tuple]:
    """The two weights of one layer, which the file numbers 0 and 1."""
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


# Name of the weight in the object; in the file; ours; step.
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
        source: folder, or backbone. A backbone without a tokenizer gives no vocabulary, and the
            casing that was told.
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
    config = _config(_class_config(config_path, "BertBackbone"), config_path)
    tokenizer_path = folder / "tokenizer.json"
    if not tokenizer_path.is_file():
        raise ArtifactError(
            f"{tokenizer_path}: expected the preset's tokenizer, got no such file; save it into "
            "the same folder (in keras-hub: tokenizer.save_to_preset)"
        )
    tokenizer = _class_config(tokenizer_path, "BertTokenizer")
    recorded = setting(tokenizer, "lowercase", "true or false", tokenizer_path, default=None)
    lower_case = lower_casing(recorded, lower_case, tokenizer_path)
    vocabulary_path = folder / "assets" / "tokenizer" / "vocabulary.txt"
    vocabulary = read_vocabulary(vocabulary_path, config["vocabulary_size"])
    rows = table_rows(FILE_TABLE, config)
    with open_strictly(weights_path) as stored:
        arrays = {_plain_name(name): array for name, array in stored.items()}
        left_out = {name for name in arrays if "/seed_generator/" in name}
        kept = {name: arrays[name].shape for name in arrays.keys() - left_out}
        check(rows, kept, str(weights_path))
        weights = to_ours(rows, lambda name: arrays[name][()], str(weights_path))
    return ModuleSource(
        "bert", config, weights, vocabulary, lower_case, left_out=tuple(sorted(left_out))
    )


def _class_config(path: Path, class_name: str) -> dict:
    settings = read_json(path)
    got = setting(settings, "class_name", "a text", path)
    if got != class_name:
        raise ArtifactError(f"{path}: class_name: expected {class_name}, got {got}")
    return setting(settings, "config", "an object", path)


def _config(settings: dict, where: Path) -> dict:
    integer = "a positive integer"
    dropout = setting(settings, "dropout", "a number from 0 to below 1", where)
    config = {
        "vocabulary_size": setting(settings, "vocabulary_size", integer, where),
        "width": setting(settings, "hidden_dim", integer, where),
        "num_layers": setting(settings, "num_layers", "an integer from 1 to 1000", where),
        "num_heads": setting(settings, "num_heads", integer, where),
        "intermediate_width": setting(settings, "intermediate_dim", integer, where),
        "max_positions": setting(settings, "max_sequence_length", integer, where),
        "type_vocabulary_size": setting(settings, "num_segments", integer, where),
        "activation": "gelu_tanh",
        "layer_norm_epsilon": 1e-12,
        "dropout": dropout,
        "attention_dropout": dropout,
    }
    check_heads(config, where)
    return config


def _plain_name(name: str) -> str:
    """Keras saves attributes with their leading underscore, and does not number a first layer."""
    plain = re.sub(r"(^|/)_+", r"\1", name)
    return plain.replace("layers/transformer_encoder/", "layers/transformer_encoder_0/", 1)
