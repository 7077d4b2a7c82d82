"""Writes an encoder of keras-hub's layers in HuggingFace's format.

Of a folder of that format, configuration and tokenizer are copied and the weights replaced; of a
preset they are written, for the families whose tokenizer has the same files in both.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hub_modules.errors import ConfigError
from hub_modules.huggingface_handles import CONFIG, preset_class
from hub_modules.keras_hub.backbones import BACKBONES, vocabulary_rows
from hub_modules.keras_hub.encoder import KerasHubEncoder
from hub_modules.keras_hub.huggingface import KEYS, POSITIONS, TYPES, offset_of, table_rows
from hub_modules.keras_hub.tokenizers import ROBERTA, read_merges
from hub_modules.native.added.adapters import pretrained_by_name
from hub_modules.preprocess.bert import SPECIAL_TOKENS
from hub_modules.sources.files.folder import read_json, read_text, read_vocabulary, setting
from hub_modules.sources.files.huggingface_files import (
    Beside,
    as_json,
    write_files,
)
from hub_modules.sources.files.tokenizer_texts import roberta_texts, word_piece_texts
from hub_modules.sources.layouts.names import to_foreign

# The files of a tokenizer in a folder of HuggingFace's.
_TOKENIZER = (
    "added_tokens.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "special_tokens_map.json",
    "spiece.model",
    "spm.model",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)
_MODEL_CLASSES = {
    "BertBackbone": "BertModel",
    "RobertaBackbone": "RobertaModel",
    "XLMRobertaBackbone": "XLMRobertaModel",
    "DistilBertBackbone": "DistilBertModel",
    "AlbertBackbone": "AlbertModel",
    "ElectraBackbone": "ElectraModel",
    "DebertaV3Backbone": "DebertaV2Model",
}


def write(
    encoder: KerasHubEncoder,
    special: Mapping[str, int],
    origin: Path,
    folder: str | Path,
    beside: Beside = None,
) -> None:
    """Writes `config.json`, `model.safetensors` and the tokenizer's files.

    Args:
        special: the ids of the preprocessor's special tokens.
        origin: the folder that the encoder was made of.
        beside: further files by name, as text.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
        ConfigError: the encoder is of a preset whose tokenizer is not written.
    """
    if preset_class(origin) is not None:
        settings, texts = _of_preset(encoder, special, origin)
        copied = []
    else:
        settings, texts = read_json(origin / CONFIG), {}
        settings[KEYS[encoder.backbone]["num_layers"]] = encoder.settings["num_layers"]
        copied = [path for name in _TOKENIZER if (path := origin / name).is_file()]
    settings |= {"architectures": [_MODEL_CLASSES[encoder.backbone]], "dtype": "float32"}
    settings.pop("torch_dtype", None)
    offset = offset_of(encoder.backbone, settings, origin / CONFIG)
    # As HuggingFace's RobertaConfig where the folder says nothing.
    arrays = _arrays(encoder, offset, settings.get("type_vocab_size", 2))
    texts |= {CONFIG: as_json(settings), **(beside or {})}
    write_files(folder, texts, "model.safetensors", arrays, copied)


def _arrays(encoder: KerasHubEncoder, offset: int, types: int) -> dict[str, np.ndarray]:
    weights = {name: weight.numpy() for name, weight in pretrained_by_name(encoder).items()}
    arrays = to_foreign(table_rows(encoder), weights)
    if offset:
        # No token has the first positions; the token type is in the others.
        before = np.zeros((offset, arrays[POSITIONS].shape[1]), np.float32)
        arrays[TYPES] = np.zeros((types, before.shape[1]), np.float32)
        arrays[POSITIONS] = np.concatenate([before, arrays[POSITIONS]])
    return arrays


def _word_pieces(kind: str) -> Callable[[dict, Path, int], dict[str, str]]:
    def texts(config: dict, assets: Path, rows: int) -> dict[str, str]:
        return word_piece_texts(
            read_vocabulary(assets / "vocabulary.txt", rows),
            config.get("lowercase", False),
            SPECIAL_TOKENS,
            False,
            kind,
            config.get("strip_accents", False),
            config.get("split_on_cjk", True),
        )

    return texts


def _byte_pairs(config: dict, assets: Path, rows: int) -> dict[str, str]:
    prefixed = config.get("add_prefix_space", False)
    ids, merges = read_json(assets / "vocabulary.json"), read_merges(assets / "merges.txt")
    return {
        "vocab.json": read_text(assets / "vocabulary.json"),
        "merges.txt": read_text(assets / "merges.txt"),
        **roberta_texts(ids, merges, ROBERTA, prefixed),
    }


class _Preset(NamedTuple):
    """How a preset is written: its tokenizer's files (of its config, its assets and the rows of the
    word embeddings), its activation, further settings."""

    texts: Callable[[dict, Path, int], dict[str, str]]
    activation: tuple[str, str]
    more: dict


_PRESETS = {
    "BertBackbone": _Preset(_word_pieces("BertTokenizer"), ("hidden_act", "gelu_new"), {}),
    "DistilBertBackbone": _Preset(
        _word_pieces("DistilBertTokenizer"),
        ("activation", "gelu"),
        {"sinusoidal_pos_embds": False},
    ),
    "ElectraBackbone": _Preset(_word_pieces("ElectraTokenizer"), ("hidden_act", "gelu_new"), {}),
    "RobertaBackbone": _Preset(_byte_pairs, ("hidden_act", "gelu"), {"type_vocab_size": 1}),
}


def _of_preset(
    encoder: KerasHubEncoder, special: Mapping[str, int], origin: Path
) -> tuple[dict, dict[str, str]]:
    """The content of `config.json`, and the tokenizer's files."""
    name = encoder.backbone
    if name not in _PRESETS:
        raise ConfigError(
            f"module {origin}: HuggingFace's format is written of presets of "
            f"{', '.join(_PRESETS)}, got {name}; start from the model's folder in HuggingFace's "
            "format (hf://ORG/NAME), which is written again"
        )
    row, own = _PRESETS[name], encoder.settings
    key, activation = row.activation
    dropout = "attention_dropout" if "dropout" in KEYS[name].values() else _ATTENTION_DROPOUT
    settings = {
        "model_type": BACKBONES[name].model_type,
        **{theirs: own[ours] for ours, theirs in KEYS[name].items()},
        key: activation,
        dropout: own["dropout"],
        "layer_norm_eps": encoder.keras_hub_model.embeddings_layer_norm.epsilon,
        "pad_token_id": special["padding_id"],
        "bos_token_id": special["start_of_sequence_id"],
        "eos_token_id": special["end_of_segment_id"],
        **row.more,
    }
    settings["max_position_embeddings"] += offset_of(name, settings, origin)
    stored = read_json(origin / "tokenizer.json")
    config = setting(stored, "config", "an object", origin)
    texts = row.texts(config, origin / _ASSETS, vocabulary_rows(own))
    return settings, texts


_ATTENTION_DROPOUT, _ASSETS = "attention_probs_dropout_prob", "assets/tokenizer"
