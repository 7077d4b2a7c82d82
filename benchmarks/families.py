"""`python -m benchmarks.families [FAMILY …]`: what each family of encoders can do, how exactly.

Writes docs/families.json: for each family and column a number, or why the family has none.
`python -m benchmarks.results write` makes the table of docs/parity.md of it. Small models of random
weights, most made by transformers (`tests/parity/recorded`), the shipped ELMo and AWD-LSTM, and
MiniLM where TF_ADAPT_SHARED is; padded texts. Needs the environment pytorch (CONTRIBUTING).
"""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import keras
import numpy as np
import tensorflow as tf

import tf_adapt as ta
from benchmarks.side_by_side.environments import ROOT, how_to_install, interpreter
from hub_modules.keras_hub.handles import keras_folder
from hub_modules.native.added.lora import merged
from hub_modules.storage.files import write_text
from tests.helpers.huggingface_folders import FAMILIES, RECORDED, write_folder
from tests.helpers.transformers_process import transformers_states
from tf_adapt.errors import ConfigError
from tf_adapt.light.light_model import LightModel
from tf_adapt.serving.exports.shared_export import ServedTask
from tf_adapt.serving.light_exports.export import export_light
from tf_adapt.training.finished.module_export import export_huggingface

FILE = ROOT / "docs" / "families.json"
TEXTS = ["the cat sat on the mat", "you", "they will be late"]
TASK = ta.Task("classification", labels=["no", "yes"])
NAMES = {
    "bert": "BERT",
    "roberta": "RoBERTa",
    "xlm_roberta": "XLM-RoBERTa",
    "distilbert": "DistilBERT",
    "albert": "ALBERT",
    "electra": "ELECTRA",
    "deberta_v3": "DeBERTa-v3",
}
FOLDERS = {
    "GPT-2": "huggingface_gpt2",
    "ModernBERT": "huggingface_modern_bert",
    "MPNet": "huggingface_mpnet",
}
SHIPPED = {"ELMo": "elmo_small", "AWD-LSTM": "lstm_small"}
REAL = {"MiniLM (real)": "minilm_l6_h384"}
LARGEST_LOG_ODDS = 3.0  # those of a new head are all near 0


def handles(place: Path) -> dict[str, str]:
    """The module of each family; folders are written into `place`."""
    made = {NAMES[name]: write_folder(name, place / name) for name in FAMILIES}
    recorded = {name: RECORDED.parent / folder / "model" for name, folder in FOLDERS.items()}
    shared = Path(os.environ.get("TF_ADAPT_SHARED", "none")) / "models"
    real = {name: shared / folder for name, folder in REAL.items() if (shared / folder).is_dir()}
    return {name: str(handle) for name, handle in (made | recorded | real).items()} | SHIPPED


def groups(handle: str, place: Path) -> int:
    """Layer groups, which are a partition of the weights."""
    encoder = ta.HubEncoder(handle)
    weights = [id(weight) for _, group in encoder.layer_groups for weight in group]
    if sorted(weights) != sorted(id(weight) for weight in encoder.weights):
        raise AssertionError(f"{handle}: a weight is in no group, or in two")
    return len(encoder.layer_groups)


def states(handle: str, place: Path) -> float:
    """Of every hidden state from transformers' of the module's own folder."""
    if handle in SHIPPED.values():
        raise ConfigError("transformers has no such model")
    return _from_transformers(handle, handle, place)


def lora(handle: str, place: Path) -> float:
    """Of the top states, A and B apart and merged."""
    encoder = ta.HubEncoder(handle)
    _moved(encoder, ta.lora(rank=2))
    apart = _top(encoder)
    with merged(encoder):
        return _largest(apart, _top(encoder))


def adapters(handle: str, place: Path) -> float:
    """Of the scores of a model with adapters from those of its SavedModel."""
    model = _model(handle, ta.adapters(size=2))
    return _served(model, ta.export(model, place / "adapters"))


def bfloat16(handle: str, place: Path) -> float:
    """Of the top states from those in float32, as a share of the largest."""
    expected = _top(ta.HubEncoder(handle))
    half = ta.HubEncoder(handle, dtype=keras.DTypePolicy("mixed_bfloat16"))
    return _largest(expected, _top(half)) / float(np.abs(expected).max())


def export(handle: str, place: Path) -> float:
    """Of the scores of a fine-tuned model from those of its SavedModel."""
    model = _model(handle, ta.fine_tuning())
    return _served(model, ta.export(model, place / "export"))


def huggingface(handle: str, place: Path) -> float:
    """Of every hidden state from transformers' of the folder that is written for it."""
    return _from_transformers(handle, export_huggingface(handle, place / "huggingface"), place)


def openvino(handle: str, place: Path) -> float:
    """Of the scores of a model from those of its light export; keras-hub's layers, which have none:
    of the top states from those of the engine."""
    return (_light if keras_folder(handle) is None else _engine)(handle, place)


def _engine(handle: str, place: Path) -> float:
    fast = ta.HubEncoder(handle, trainable=False, engine="openvino")
    return _largest(_top(ta.HubEncoder(handle)), _top(fast))


def _light(handle: str, place: Path) -> float:
    model = _model(handle, ta.fine_tuning())
    folder = export_light({"serving_default": ServedTask(model)}, place / "light", "")
    return _largest(_scores(model), LightModel(folder).answer({"text": TEXTS})["scores"])


COLUMNS: dict[str, Callable[[str, Path], float]] = {
    "groups": groups,
    "states": states,
    "LoRA": lora,
    "adapters": adapters,
    "bfloat16": bfloat16,
    "SavedModel": export,
    "HuggingFace": huggingface,
    "OpenVINO": openvino,
}


def _from_transformers(handle: str, folder: str | Path, place: Path) -> float:
    theirs = transformers_states(folder, TEXTS, place)
    inputs = {"input_word_ids": theirs.ids, "input_mask": theirs.mask}
    inputs["input_type_ids"] = np.zeros_like(theirs.ids)
    inputs = {name: array.astype("int32") for name, array in inputs.items()}
    layers = np.stack(ta.HubEncoder(handle).native(inputs)["layers"])
    return _largest(layers[:, theirs.mask == 1], theirs.states[:, theirs.mask == 1])


def _model(handle: str, adaptation):
    keras.utils.set_random_seed(1)
    model = ta.build_model(TASK, ta.HubEncoder(handle), "linear", adaptation)
    _move_added(model.encoder)
    scores, kernel = _scores(model), model.head.dense.kernel
    kernel.assign(kernel * LARGEST_LOG_ODDS / np.abs(np.log(scores[:, 1] / scores[:, 0])).max())
    return model


def _moved(encoder: ta.HubEncoder, adaptation) -> None:
    keras.utils.set_random_seed(1)
    encoder.add(adaptation.added)
    _move_added(encoder)


def _move_added(encoder: ta.HubEncoder) -> None:
    """What is added begins as nothing."""
    random = np.random.default_rng(2)
    for layer in getattr(encoder.native, "adapter_layers", ()):
        for weight in layer.weights:
            weight.assign(weight + 0.1 * random.normal(size=weight.shape))


def _served(model, folder: Path) -> float:
    serve = tf.saved_model.load(folder).signatures["serving_default"]
    return _largest(_scores(model), serve(text=tf.constant(TEXTS))["scores"].numpy())


def _scores(model) -> np.ndarray:
    return np.array([answer.scores for answer in ta.predict(model, TEXTS)])


def _top(encoder: ta.HubEncoder) -> np.ndarray:
    """Of the positions that are no padding."""
    encoded = encoder(TEXTS)
    return np.float32(encoded["layers"][-1])[np.asarray(encoded["mask"])]


def _largest(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(np.float64(one) - np.asarray(other)).max())


def _cell(column: Callable[[str, Path], float], handle: str) -> float | str:
    with tempfile.TemporaryDirectory() as place:
        try:
            value = column(handle, Path(place))
        except ConfigError as refused:
            return str(refused).replace(handle, Path(handle).name)
    return value if type(value) is int else float(f"{value:.1e}")


@click.command()
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Measures some families, or all."""
    if interpreter("pytorch") is None:
        raise click.ClickException(how_to_install("pytorch"))
    rows = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    with tempfile.TemporaryDirectory() as place:
        families = handles(Path(place))
        for name in names or families:
            rows[name] = {}
            for column, run in COLUMNS.items():
                rows[name][column] = _cell(run, families[name])
                click.echo(f"{name}, {column}: {rows[name][column]}")
            ordered = {name: rows[name] for name in families if name in rows}
            write_text(FILE, json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
