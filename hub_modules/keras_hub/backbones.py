"""keras-hub's backbones that can be encoders: their arguments, tokenizers and HuggingFace names.

Files name a backbone; only those of this table are built, from checked values.
"""

import importlib
import re
from dataclasses import dataclass
from pathlib import Path

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.sources.files.folder import setting

_INTEGER, _COUNT, _SHARE = (
    "a positive integer",
    "an integer from 1 to 1000",
    "a number from 0 to below 1",
)
_SIZES = {
    "vocabulary_size": _INTEGER,
    "num_layers": _COUNT,
    "num_heads": _INTEGER,
    "hidden_dim": _INTEGER,
    "intermediate_dim": _INTEGER,
    "max_sequence_length": _INTEGER,
    "dropout": _SHARE,
}
_SEGMENTS = _SIZES | {"num_segments": _INTEGER}
_ALBERT = _SEGMENTS | {
    "embedding_dim": _INTEGER,
    "num_groups": _COUNT,
    "num_inner_repetitions": _COUNT,
}
_ELECTRA = {
    "vocab_size" if name == "vocabulary_size" else name: _SEGMENTS[name] for name in _SEGMENTS
}


@dataclass(frozen=True)
class Backbone:
    """A kind of backbone.

    Attributes:
        arguments: of its class, with the kind of each value (`KINDS` of `sources.files.folder`).
        model_type: its name in HuggingFace's `config.json`.
        tokenizer: class of its tokenizer in a preset.
    """

    arguments: dict[str, str]
    model_type: str
    tokenizer: str


BACKBONES = {
    "BertBackbone": Backbone(_SEGMENTS, "bert", "BertTokenizer"),
    "RobertaBackbone": Backbone(_SIZES, "roberta", "RobertaTokenizer"),
    "XLMRobertaBackbone": Backbone(_SIZES, "xlm-roberta", "XLMRobertaTokenizer"),
    "DistilBertBackbone": Backbone(_SIZES, "distilbert", "DistilBertTokenizer"),
    "AlbertBackbone": Backbone(_ALBERT, "albert", "AlbertTokenizer"),
    "ElectraBackbone": Backbone(
        _ELECTRA | {"embedding_dim": _INTEGER}, "electra", "ElectraTokenizer"
    ),
    "DebertaV3Backbone": Backbone(
        _SIZES | {"bucket_size": _INTEGER}, "deberta-v2", "DebertaV3Tokenizer"
    ),
}
OLDEST = (0, 32)
INSTALL = "pip install 'tf_adapt[keras-hub]'"


def checked_settings(name: str, settings: dict, where: Path) -> dict:
    """The arguments of a backbone's class, from a file's values; other values are left out.

    Raises:
        ArtifactError: a value is missing, of the wrong kind, or does not fit another one.
    """
    kinds = BACKBONES[name].arguments
    checked = {key: setting(settings, key, kind, where) for key, kind in kinds.items()}
    for whole, part in (("hidden_dim", "num_heads"), ("num_layers", "num_groups")):
        if checked[whole] % checked.get(part, 1):
            raise ArtifactError(
                f"{where}: expected a {whole} that is a multiple of {part}, got {checked[whole]} "
                f"and {checked[part]}"
            )
    return checked


def vocabulary_rows(settings: dict) -> int:
    """Rows of the word embeddings, by the arguments of a backbone's class."""
    return settings["vocab_size" if "vocab_size" in settings else "vocabulary_size"]


def backbone_class(name: str, where: str = "this module"):
    """keras-hub's class of this name.

    Args:
        where: what is built of it, for a message.

    Raises:
        ConfigError: keras-hub is not installed, or too old.
    """
    try:
        keras_hub = importlib.import_module("keras_hub")
    except ImportError as error:
        raise ConfigError(
            f"{where}: it is built of keras-hub's layers, and keras-hub cannot be imported "
            f"({error}); install the extra: {INSTALL}"
        ) from None
    version = tuple(int(part) for part in re.findall(r"\d+", keras_hub.__version__)[:2])
    if version < OLDEST:
        raise ConfigError(
            f"{where}: it is built of keras-hub's layers: expected keras-hub "
            f"{OLDEST[0]}.{OLDEST[1]} or newer, got {keras_hub.__version__}; "
            f"install the extra: {INSTALL}"
        )
    return getattr(keras_hub.models, name)
