"""The weights of a HuggingFace folder: one safetensors file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError, safe_open

from hub_modules.errors import ArtifactError


def weights_file(folder: Path) -> Path:
    """The path of `model.safetensors`.

    Raises:
        ArtifactError: there is none; the message says what there is instead.
    """
    path = folder / "model.safetensors"
    if path.is_file():
        return path
    if (folder / "model.safetensors.index.json").is_file():
        advice = "the weights are in several files: save them again as one"
    elif (folder / "pytorch_model.bin").is_file():
        advice = (
            "pytorch_model.bin is a pickle, which can run code, and is not read; save the model "
            "with safetensors (in transformers: save_pretrained with safe_serialization=True)"
        )
    else:
        advice = "save the model with safetensors"
    raise ArtifactError(f"{path}: expected the weights, got no such file; {advice}")


@contextmanager
def open_weights(path: Path) -> Iterator:
    """The open file.

    Raises:
        ArtifactError: it cannot be read.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    # safetensors reports a type that NumPy lacks as one of the last two.
    except (SafetensorError, OSError, TypeError, KeyError) as error:
        raise ArtifactError(
            f"{path}: expected a safetensors file with float16, bfloat16 or float32 weights, got "
            f"one that cannot be read ({error}); copy it again"
        ) from error
