"""BERT from google-research/bert's format: `bert_config.json`, `bert_model.ckpt.*`, `vocab.txt`.

The activation called "gelu" there is the tanh form; the LayerNorm's ε is 1e-12.

Source: google-research/bert (`modeling.py`).
"""

import json
from pathlib import Path

import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import (
    lower_casing,
    read_json,
    read_vocabulary,
    require_file,
    write_vocabulary,
)
from hub_modules.sources.layouts.bert import bert_config, bert_settings, bert_shapes
from hub_modules.sources.layouts.names import Row, Table, check, expand, to_foreign, to_ours
from hub_modules.storage.files import publish_folder
from hub_modules.storage.tf_checkpoint import open_checkpoint

ACTIVATIONS = {"gelu": "gelu_tanh"}

_LAYER = "bert/encoder/layer_{layer}"

TABLE: Table = [
    ("bert/embeddings/word_embeddings", "embeddings/word_embeddings", "same"),
    ("bert/embeddings/position_embeddings", "embeddings/position_embeddings", "same"),
    ("bert/embeddings/token_type_embeddings", "embeddings/token_type_embeddings", "same"),
    ("bert/embeddings/LayerNorm/gamma", "embeddings/layer_norm/gamma", "same"),
    ("bert/embeddings/LayerNorm/beta", "embeddings/layer_norm/beta", "same"),
    (f"{_LAYER}/attention/self/query/kernel", "layer_{layer}/attention/query/kernel", "same"),
    (f"{_LAYER}/attention/self/query/bias", "layer_{layer}/attention/query/bias", "same"),
    (f"{_LAYER}/attention/self/key/kernel", "layer_{layer}/attention/key/kernel", "same"),
    (f"{_LAYER}/attention/self/key/bias", "layer_{layer}/attention/key/bias", "same"),
    (f"{_LAYER}/attention/self/value/kernel", "layer_{layer}/attention/value/kernel", "same"),
    (f"{_LAYER}/attention/self/value/bias", "layer_{layer}/attention/value/bias", "same"),
    (f"{_LAYER}/attention/output/dense/kernel", "layer_{layer}/attention/output/kernel", "same"),
    (f"{_LAYER}/attention/output/dense/bias", "layer_{layer}/attention/output/bias", "same"),
    (
        f"{_LAYER}/attention/output/LayerNorm/gamma",
        "layer_{layer}/attention_layer_norm/gamma",
        "same",
    ),
    (
        f"{_LAYER}/attention/output/LayerNorm/beta",
        "layer_{layer}/attention_layer_norm/beta",
        "same",
    ),
    (f"{_LAYER}/intermediate/dense/kernel", "layer_{layer}/intermediate/kernel", "same"),
    (f"{_LAYER}/intermediate/dense/bias", "layer_{layer}/intermediate/bias", "same"),
    (f"{_LAYER}/output/dense/kernel", "layer_{layer}/output/kernel", "same"),
    (f"{_LAYER}/output/dense/bias", "layer_{layer}/output/bias", "same"),
    (f"{_LAYER}/output/LayerNorm/gamma", "layer_{layer}/output_layer_norm/gamma", "same"),
    (f"{_LAYER}/output/LayerNorm/beta", "layer_{layer}/output_layer_norm/beta", "same"),
    ("bert/pooler/dense/kernel", "pooler/kernel", "same"),
    ("bert/pooler/dense/bias", "pooler/bias", "same"),
]

# Pretraining heads, a fine-tuned classifier, and the optimizer's state are skipped.
LEFT_OUT_HEADS = ("cls/", "output_weights", "output_bias", "global_step")
LEFT_OUT_SLOTS = ("/adam_m", "/adam_v")


def read(path: str | Path, lower_case: bool | None = None) -> ModuleSource:
    """Reads a folder with `bert_config.json`, one checkpoint, `vocab.txt`.

    Args:
        lower_case: True for an "uncased" model; the format does not record it.

    Raises:
        ArtifactError: a file is missing or damaged, a weight is missing, unknown or of another
            shape, or `lower_case` is None.
    """
    folder = Path(path)
    config_path = folder / "bert_config.json"
    config = bert_config(read_json(config_path), ACTIVATIONS, config_path)
    lower_case = lower_casing(None, lower_case, folder)
    vocabulary = read_vocabulary(folder / "vocab.txt", config["vocabulary_size"])
    prefix = _checkpoint(folder)
    rows = table_rows(config)
    with open_checkpoint(prefix) as reader:
        shapes = reader.get_variable_to_shape_map()
        left_out = {
            name
            for name in shapes
            if name.startswith(LEFT_OUT_HEADS) or name.endswith(LEFT_OUT_SLOTS)
        }
        kept = {name: tuple(shapes[name]) for name in shapes.keys() - left_out}
        check(rows, kept, str(prefix))
        weights = to_ours(rows, reader.get_tensor, str(prefix))
    return ModuleSource(
        "bert", config, weights, vocabulary, lower_case, left_out=tuple(sorted(left_out))
    )


def write(source: ModuleSource, folder: str | Path) -> None:
    """Writes the files that `read` and google-research/bert's scripts read.

    Raises:
        ArtifactError: the format lacks the encoder's activation, or the folder exists already or
            cannot be written.
    """
    settings = bert_settings(source.config, ACTIVATIONS)
    arrays = to_foreign(table_rows(source.config), source.weights)
    with publish_folder(folder) as aside:
        (aside / "bert_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
        write_vocabulary(aside / "vocab.txt", source.vocabulary)
        tf.raw_ops.SaveV2(
            prefix=str(aside / "bert_model.ckpt"),
            tensor_names=list(arrays),
            shape_and_slices=[""] * len(arrays),
            tensors=[tf.constant(array) for array in arrays.values()],
        )


def table_rows(config: dict) -> list[Row]:
    """The name table, filled in for an encoder of this configuration."""
    return expand(TABLE, bert_shapes(config), {"layer": config["num_layers"]})


def _checkpoint(folder: Path) -> Path:
    index = folder / "bert_model.ckpt.index"
    indices = [index] if index.is_file() else sorted(folder.glob("*.index"))
    if len(indices) > 1:
        raise ArtifactError(
            f"{folder}: expected bert_model.ckpt.index or exactly one *.index, got "
            f"{', '.join(file.name for file in indices)}; keep the one to be read"
        )
    index = require_file(indices[0] if indices else index, "the index of a TensorFlow checkpoint")
    return index.with_suffix("")
