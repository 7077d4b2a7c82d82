"""What each family of encoders can do, and how exactly: `python -m tests.parity.families`.

Prints a Markdown table. A cell is the largest difference of a text's top states (OpenVINO, export,
HuggingFace's format), of LoRA apart and merged, or of a computation in bfloat16 from that in
float32; `–`: the family has no place for it. Not a test: each cell has its own.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import tf_adapt as ta
from tests.helpers.huggingface_folders import FAMILIES, write_folder
from tf_adapt.errors import ConfigError
from tf_adapt.training.finished.module_export import export_huggingface

RECORDED = Path(__file__).parent / "recorded"
TEXTS = ["the cat sat on the mat", "you", "they will be late"]
TASK = ta.Task("classification", labels=["no", "yes"])
NONE = "–"


def handles(folder: Path) -> dict[str, str]:
    """A small module of each family; of keras-hub's of random weights."""
    own = {
        "BERT": "bert_small",
        "GPT-2": str(RECORDED / "huggingface_gpt2" / "model"),
        "ModernBERT": str(RECORDED / "huggingface_modern_bert" / "model"),
        "MPNet": str(RECORDED / "huggingface_mpnet" / "model"),
        "ELMo": "elmo_small",
        "AWD-LSTM": "lstm_small",
    }
    others = [name for name in FAMILIES if name != "bert"]
    return own | {n: f"keras:{write_folder(n, folder / n)}" for n in others}


def difference(one: dict, other: dict) -> str:
    """Of the top states, without padding."""
    mask = np.asarray(one["mask"])
    first, second = (np.float32(given["layers"][-1])[mask] for given in (one, other))
    return f"{np.abs(first - second).max():.0e}"


def groups(handle: str, folder: Path) -> str:
    """The number of groups, which are a partition of the weights."""
    encoder = ta.HubEncoder(handle)
    weights = [id(weight) for _, group in encoder.layer_groups for weight in group]
    assert sorted(weights) == sorted({id(weight) for weight in encoder.weights})
    return str(len(encoder.layer_groups))


def lora(handle: str, folder: Path) -> str:
    """Apart and merged."""
    from hub_modules.native.added.lora import merged

    encoder = _adapted(handle, ta.lora(rank=2))
    apart = encoder(TEXTS)
    with merged(encoder):
        return difference(apart, encoder(TEXTS))


def adapters(handle: str, folder: Path) -> str:
    """With W_up = 0, from the encoder without."""
    encoder = _adapted(handle, ta.adapters(size=2))
    for layer in encoder.native.adapter_layers:
        for weight in layer.weights:
            if "/up/" in weight.path:
                weight.assign(weight * 0)
    return difference(ta.HubEncoder(handle)(TEXTS), encoder(TEXTS))


def bfloat16(handle: str, folder: Path) -> str:
    """From float32."""
    half = ta.HubEncoder(handle, dtype=keras.DTypePolicy("mixed_bfloat16"))
    return difference(ta.HubEncoder(handle)(TEXTS), half(TEXTS))


def export(handle: str, folder: Path) -> str:
    """Scores of a SavedModel from those of the model."""
    model = ta.build_model(TASK, ta.HubEncoder(handle), adaptation="fine_tuning")
    expected = [answer.scores for answer in ta.predict(model, TEXTS)]
    ta.export(model, folder / "export")
    serve = tf.saved_model.load(folder / "export").signatures["serving_default"]
    return f"{np.abs(serve(text=tf.constant(TEXTS))['scores'].numpy() - expected).max():.0e}"


def huggingface(handle: str, folder: Path) -> str:
    """Written and read again (against transformers: `-m oracle`)."""
    written = export_huggingface(handle, folder / "huggingface")
    again = f"keras:{written}" if handle.startswith("keras:") else written
    return difference(ta.HubEncoder(handle)(TEXTS), ta.HubEncoder(again)(TEXTS))


def openvino(handle: str, folder: Path) -> str:
    """From TensorFlow."""
    fast = ta.HubEncoder(handle, trainable=False, engine="openvino")
    return difference(ta.HubEncoder(handle)(TEXTS), fast(TEXTS))


COLUMNS: dict[str, Callable[[str, Path], str]] = {
    "groups": groups,
    "LoRA": lora,
    "adapters": adapters,
    "bfloat16": bfloat16,
    "export": export,
    "HuggingFace": huggingface,
    "OpenVINO": openvino,
}


def _adapted(handle: str, adaptation) -> ta.HubEncoder:
    keras.utils.set_random_seed(1)
    encoder = ta.HubEncoder(handle)
    encoder.add(adaptation.added)
    for layer in encoder.native.adapter_layers:
        for weight in layer.weights:
            weight.assign(weight + 0.1 * np.random.default_rng(2).normal(size=weight.shape))
    return encoder


def _cell(column: Callable[[str, Path], str], handle: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return column(handle, Path(folder))
        except ConfigError:
            return NONE


def main(names: list[str]) -> None:
    """Prints the rows of some families, or of all."""
    print(f"| family | {' | '.join(COLUMNS)} |\n| --- |{' --- |' * len(COLUMNS)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, handle in handles(Path(folder)).items():
            if not names or name in names:
                cells = [_cell(column, handle) for column in COLUMNS.values()]
                print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
