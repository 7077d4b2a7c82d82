"""AWD-LSTM from fast.ai's weights: `model.safetensors` and `vocab.txt`, one word a line, by id.

fast.ai's own files are pickles, which can run code, and are not read. To write the two files where
PyTorch is, with `vocab` the list of words and `path` the `.pth`:

    state = torch.load(path, map_location="cpu", weights_only=True)
    state = state.get("model", state)  # beside an optimizer
    safetensors.torch.save_file({k: v.clone().contiguous() for k, v in state.items()},
                                "model.safetensors")
    words = [word if word.split() == [word] else repr(word) for word in vocab]  # "\\n" is one
    open("vocab.txt", "w", encoding="utf-8").write("".join(f"{word}\\n" for word in words))

Models that read forwards only. Gates are in our order (i, f, g, o); kernels are transposed, both
biases are added. Padding, which fast.ai has as id 1, changes places with the unknown word, id 0 (or
whatever ids they have).

Source: fast.ai, `text/models/awdlstm.py`.
"""

import re
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError
from hub_modules.preprocess.lstm_words import PADDING_WORD, UNKNOWN_WORD
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import read_text
from hub_modules.sources.files.safetensors_file import open_weights
from hub_modules.sources.layouts.awd_lstm import (
    LARGEST_VOCABULARY,
    awd_lstm_shapes,
    check_lstm_words,
)
from hub_modules.sources.layouts.names import as_float32

_PREFIX = "0."  # of the encoder in a language model; a saved encoder has none
_OUTPUT = "1.decoder."
_FAKE = "xxfake"
# Copies of other weights: without dropout, and after it.
_COPY = re.compile(r"encoder_dp\.emb\.weight|rnns\.\d+\.module\.weight_hh_l0")
_RECURRENT = re.compile(r"rnns\.(\d+)\.weight_hh_l0_raw")
_OF_LAYER = ("module.weight_ih_l0", "weight_hh_l0_raw", "module.bias_ih_l0", "module.bias_hh_l0")


def read(path: str | Path, lower_case: bool | None = None) -> ModuleSource:
    """Reads a folder with `model.safetensors` and `vocab.txt`.

    Args:
        lower_case: as fast.ai's vocabularies are, with `xxmaj` and `xxup`; False for another.

    Raises:
        ArtifactError: a file is missing or damaged, a weight is missing, unknown or of another
            shape than those beside it, twice there or not finite, or the output is not tied to the
            word embeddings.
    """
    folder = Path(path)
    weights = _weights_file(folder)
    with open_weights(weights) as file:
        stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    left_out = sorted(name for name in stored if _COPY.fullmatch(name.removeprefix(_PREFIX)))
    arrays: dict[str, np.ndarray] = {}
    for name in sorted(stored.keys() - left_out):
        own_name = name.removeprefix(_PREFIX)
        if own_name in arrays:
            raise ArtifactError(
                f"{weights}: expected {own_name} or {name}, got both; save one of the two models"
            )
        arrays[own_name] = as_float32(np.asarray(stored[name]), f"{weights}: {name}")
    output = {name: arrays.pop(f"{_OUTPUT}{name}", None) for name in ("weight", "bias")}
    config = _config(arrays, weights)
    ours = _to_ours(arrays, config, weights)
    where = folder / "vocab.txt"
    text = _with_numbered_fakes(read_text(where, LARGEST_VOCABULARY))
    words = check_lstm_words(text, config["vocabulary_size"], str(where))
    order = _own_order(words)
    name = "embeddings/word_embeddings"
    bias = _output_bias(output["weight"], output["bias"], ours[name], weights)
    ours[name] = ours[name][order]
    return ModuleSource(
        "lstm",
        config,
        ours,
        [words[number] for number in order],
        lower_case is not False,
        output_layer=None if bias is None else {"bias": bias[order]},
        left_out=tuple(left_out),
    )


def _weights_file(folder: Path) -> Path:
    path = folder / "model.safetensors"
    if path.is_file():
        return path
    pickles = sorted(file.name for file in folder.glob("*.p*") if file.suffix in (".pth", ".pkl"))
    advice = "save the state of the model with safetensors"
    if pickles:
        advice = (
            f"{pickles[0]} is a pickle, which can run code, and is not read: save its weights with "
            "safetensors (safetensors.torch.save_file(torch.load(…, weights_only=True), …))"
        )
    raise ArtifactError(f"{path}: expected the weights, got no such file; {advice}")


def _config(arrays: dict[str, np.ndarray], where: Path) -> dict:
    layers = sorted(int(match[1]) for match in map(_RECURRENT.fullmatch, arrays) if match)
    if not layers or layers != list(range(len(layers))) or "encoder.weight" not in arrays:
        raise ArtifactError(
            f"{where}: expected encoder.weight and rnns.0.weight_hh_l0_raw, … (fast.ai's AWD-LSTM, "
            f"with or without 0. before), got {', '.join(sorted(arrays)[:5]) or 'nothing'}; save "
            "the state of the whole language model, or of its encoder"
        )
    if len(layers) > 1000:
        raise ArtifactError(f"{where}: expected at most 1000 LSTMs, got {len(layers)}")
    for name in ("encoder.weight", "rnns.0.weight_hh_l0_raw"):
        if arrays[name].ndim != 2:
            raise ArtifactError(
                f"{where}: {name}: expected a matrix, got shape {arrays[name].shape}"
            )
    return {
        "vocabulary_size": arrays["encoder.weight"].shape[0],
        "width": arrays["encoder.weight"].shape[-1],
        "lstm_width": arrays["rnns.0.weight_hh_l0_raw"].shape[-1],
        "num_layers": len(layers),
    }


def _to_ours(arrays: dict[str, np.ndarray], config: dict, where: Path) -> dict[str, np.ndarray]:
    needed = {"encoder.weight"} | {
        f"rnns.{layer}.{name}" for layer in range(config["num_layers"]) for name in _OF_LAYER
    }
    for what, names in (("missing", needed - set(arrays)), ("unknown", set(arrays) - needed)):
        if names:
            raise ArtifactError(
                f"{where}: expected the weights of fast.ai's AWD-LSTM, got {what}: "
                f"{', '.join(sorted(names)[:5])} ({len(names)} in all)"
            )
    ours = {"embeddings/word_embeddings": arrays["encoder.weight"]}
    for layer in range(config["num_layers"]):
        inner, recurrent, *biases = (arrays[f"rnns.{layer}.{name}"] for name in _OF_LAYER)
        if biases[0].shape != biases[1].shape:
            raise ArtifactError(
                f"{where}: rnns.{layer}: expected two biases of one shape, got {biases[0].shape} "
                f"and {biases[1].shape}"
            )
        ours[f"lstm_{layer}/kernel"] = inner.T
        ours[f"lstm_{layer}/recurrent_kernel"] = recurrent.T
        ours[f"lstm_{layer}/bias"] = biases[0] + biases[1]
    for name, shape in awd_lstm_shapes(config).items():
        if ours[name].shape != shape:
            raise ArtifactError(
                f"{where}: {name}: expected shape {shape} beside the other weights, got "
                f"{ours[name].shape}"
            )
    return ours


def _with_numbered_fakes(text: str) -> str:
    """fast.ai fills its vocabularies up with equal words, so that their size is a multiple of 8."""
    lines = text.split("\n")
    return "\n".join(
        f"{line}{number}" if line.rstrip("\r") == _FAKE else line
        for number, line in enumerate(lines)
    )


def _own_order(words: list[str]) -> list[int]:
    """The ids of the words in our order: padding, the unknown word, the others as they are."""
    first = [words.index(PADDING_WORD), words.index(UNKNOWN_WORD)]
    return first + [number for number in range(len(words)) if number not in first]


def _output_bias(
    kernel: np.ndarray | None, bias: np.ndarray | None, embeddings: np.ndarray, where: Path
) -> np.ndarray | None:
    """The bias of the output layer; None for an encoder without."""
    if kernel is not None and not np.array_equal(kernel, embeddings):
        raise ArtifactError(
            f"{where}: {_OUTPUT}weight: expected the word embeddings (0.encoder.weight), to which "
            "the output is tied, got other numbers; a model whose output is not tied is not read"
        )
    if bias is not None and bias.shape != (len(embeddings),):
        raise ArtifactError(
            f"{where}: {_OUTPUT}bias: expected shape {(len(embeddings),)}, got {bias.shape}"
        )
    return bias
