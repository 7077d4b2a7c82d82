"""Shared by all sources of BERT: their hyper-parameters, the shapes of our weights."""

from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.sources.files.folder import setting


def bert_config(settings: dict, activations: dict[str, str], where: Path) -> dict:
    """Arguments of `BertEncoder` from settings with the keys of google-research/bert.

    Args:
        settings: content of `bert_config.json` or of HuggingFace's `config.json`.
        activations: the source's name of an activation → ours.

    Raises:
        ArtifactError: a key is missing or of the wrong kind, or the activation is not supported.
    """
    activation = setting(settings, "hidden_act", "a text", where)
    if activation not in activations:
        raise ArtifactError(
            f"{where}: hidden_act: expected one of {sorted(activations)}, got {activation!r}; "
            "other activations are not supported"
        )
    integer, share = "a positive integer", "a number from 0 to below 1"
    config = {
        "vocabulary_size": setting(settings, "vocab_size", integer, where),
        "width": setting(settings, "hidden_size", integer, where),
        "num_layers": setting(settings, "num_hidden_layers", "an integer from 1 to 1000", where),
        "num_heads": setting(settings, "num_attention_heads", integer, where),
        "intermediate_width": setting(settings, "intermediate_size", integer, where),
        "max_positions": setting(settings, "max_position_embeddings", integer, where),
        "type_vocabulary_size": setting(settings, "type_vocab_size", integer, where),
        "activation": activations[activation],
        "layer_norm_epsilon": setting(
            settings, "layer_norm_eps", "a positive number", where, default=1e-12
        ),
        "dropout": setting(settings, "hidden_dropout_prob", share, where),
        "attention_dropout": setting(settings, "attention_probs_dropout_prob", share, where),
    }
    check_heads(config, where)
    return config


def bert_settings(config: dict, activations: dict[str, str]) -> dict:
    """The reverse of `bert_config`.

    Raises:
        ArtifactError: the format has no name for the encoder's activation.
    """
    theirs = {ours: name for name, ours in reversed(activations.items())}
    if config["activation"] not in theirs:
        raise ArtifactError(
            f"activation: expected one of {sorted(theirs)} in this format, got "
            f"{config['activation']!r}; write another format"
        )
    return {
        "vocab_size": config["vocabulary_size"],
        "hidden_size": config["width"],
        "num_hidden_layers": config["num_layers"],
        "num_attention_heads": config["num_heads"],
        "intermediate_size": config["intermediate_width"],
        "max_position_embeddings": config["max_positions"],
        "type_vocab_size": config["type_vocabulary_size"],
        "hidden_act": theirs[config["activation"]],
        "layer_norm_eps": config["layer_norm_epsilon"],
        "hidden_dropout_prob": config["dropout"],
        "attention_probs_dropout_prob": config["attention_dropout"],
    }


def check_heads(config: dict, where: Path) -> None:
    """Raises ArtifactError if the width is not a multiple of the number of heads."""
    if config["width"] % config["num_heads"]:
        raise ArtifactError(
            f"{where}: expected a width that is a multiple of the number of heads, got width "
            f"{config['width']} and {config['num_heads']} heads"
        )


def bert_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Our name → shape, of every weight of `BertEncoder(**config)`."""
    width, inner = config["width"], config["intermediate_width"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings/word_embeddings": (config["vocabulary_size"], width),
        "embeddings/position_embeddings": (config["max_positions"], width),
        "embeddings/token_type_embeddings": (config["type_vocabulary_size"], width),
        **_layer_norm("embeddings/layer_norm", width),
    }
    for layer in range(config["num_layers"]):
        for part in ("query", "key", "value", "output"):
            shapes |= _dense(f"layer_{layer}/attention/{part}", width, width)
        shapes |= _layer_norm(f"layer_{layer}/attention_layer_norm", width)
        shapes |= _dense(f"layer_{layer}/intermediate", width, inner)
        shapes |= _dense(f"layer_{layer}/output", inner, width)
        shapes |= _layer_norm(f"layer_{layer}/output_layer_norm", width)
    return shapes | _dense("pooler", width, width)


def _dense(name: str, rows: int, columns: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}/kernel": (rows, columns), f"{name}/bias": (columns,)}


def _layer_norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}/gamma": (width,), f"{name}/beta": (width,)}
