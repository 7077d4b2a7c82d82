"""What each wrong handle is told: `python -m tests.hub_modules.loading.refusals` writes
docs/refused_handles.json, from which the site makes the table of docs/guide_encoders.md.

Nothing is fetched: what a hub or a server answers is given.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest import mock
from urllib.error import URLError

import numpy as np
import tensorflow as tf
from safetensors.numpy import load_file, save_file

from hub_modules.errors import TfAdaptError
from hub_modules.load import load_module
from hub_modules.shipped import PRETRAINED
from hub_modules.storage.files import write_text
from tf_adapt.encoder.hub_encoder import HubEncoder

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "docs" / "refused_handles.json"
RECORDED = ROOT / "tests" / "parity" / "recorded"

# What is wrong → the handle.
NAMES = {
    "a shipped name, misspelt": "bert_smal",
    "a folder that is not there": "modules/none",
    "a file of word vectors that is not there": "vectors.txt",
    "a name of HuggingFace's hub without `hf://`": "bert-base-uncased",
    "the same, with its organisation": "sentence-transformers/all-MiniLM-L6-v2",
    "one slash too few": "hf:org/name",
    "large letters": "HF://org/name",
    "a page of HuggingFace's hub": "https://huggingface.co/org/name/tree/main",
    "the same, without `https://`": "huggingface.co/bert-base-uncased",
    "a page of Kaggle's": "https://www.kaggle.com/models/google/bert/tensorFlow2/small/2",
    "no name of HuggingFace's hub": "hf://a/b/c",
    "no name of Kaggle's": "kaggle://google/bert",
    "a preset of keras-hub without `keras:`": "roberta_base_en",
    "a preset, misspelt": "keras:roberta_bas_en",
    "a preset of a GPT-2": "keras:gpt2_base_en",
    "a folder for keras-hub that is not there": "keras:./none",
}


# What is wrong with a model of HuggingFace's hub → its name, and its files.
_BERT = {"config.json": {"model_type": "bert"}}
ON_THE_HUB = {
    "on the hub, a family that is not here": ("t5", {"config.json": {"model_type": "t5"}}),
    "on the hub, weights in several files": (
        "sharded",
        _BERT | {"model.safetensors.index.json": {}},
    ),
    "on the hub, weights as a pickle alone": ("pickled", _BERT),
}


def status(code: int) -> Exception:
    """As the hubs' packages report an answer."""
    error = ValueError(code)
    error.response = SimpleNamespace(status_code=code)
    return error


class OfflineModeIsEnabled(ConnectionError):  # noqa: N818
    """As huggingface_hub's, which need not be installed."""


# What is wrong → the handle, what is replaced, and what that raises.
_HUGGINGFACE, _KAGGLE = "huggingface_hub.snapshot_download", "kagglehub.model_download"
ANSWERS = {
    "no such model": ("hf://org/none", _HUGGINGFACE, status(404)),
    "no such revision": ("hf://org/name@v9", _HUGGINGFACE, status(404)),
    "a model that needs a login": ("hf://org/private", _HUGGINGFACE, status(401)),
    "a model that is not open to everybody": ("hf://org/gated", _HUGGINGFACE, status(403)),
    "offline, and not in the cache": ("hf://org/name", _HUGGINGFACE, ConnectionError()),
    "`HF_HUB_OFFLINE=1`, and not in the cache": (
        "hf://org/name",
        _HUGGINGFACE,
        OfflineModeIsEnabled(),
    ),
    "offline, of Kaggle's": ("kaggle://org/bert/keras/small", _KAGGLE, ConnectionError()),
    "the same, of TensorFlow Hub's": (
        "https://tfhub.dev/google/elmo/3",
        "urllib.request.urlopen",
        URLError("Name or service not known"),
    ),
    "without the extra `[hubs]`": (
        "hf://org/name",
        "builtins.__import__",
        ModuleNotFoundError("No module named 'huggingface_hub'"),
    ),
    "without the extra `[keras-hub]`": (
        "keras:roberta_base_en",
        "importlib.import_module",
        ModuleNotFoundError("No module named 'keras_hub'"),
    ),
}


def configured(**changes) -> Callable[[Path], None]:
    """Changes values of `config.json`."""

    def edit(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")

    return edit


def renamed(old: str, new: str, *absent: str) -> Callable[[Path], None]:
    """Another file in the place of one; without some files."""

    def edit(folder: Path) -> None:
        (folder / old).rename(folder / new)
        removed(*absent)(folder)

    return edit


def written(name: str, content: dict | list) -> Callable[[Path], None]:
    """One more file."""

    def edit(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), "utf-8")

    return edit


def removed(*names: str) -> Callable[[Path], None]:
    """Without some files."""

    def edit(folder: Path) -> None:
        for name in names:
            (folder / name).unlink(missing_ok=True)

    return edit


def cut(name: str) -> Callable[[Path], None]:
    """Half of a file's bytes."""

    def edit(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return edit


def of_nan(folder: Path) -> None:
    """One weight of NaN."""
    weights = load_file(folder / "model.safetensors")
    first = min(weights)
    weights[first] = np.full_like(weights[first], np.nan)
    save_file(weights, folder / "model.safetensors")


def with_prompt(folder: Path) -> None:
    """A default prompt whose states are not pooled."""
    prompts = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    written("config_sentence_transformers.json", prompts)(folder)
    pooling = {"pooling_mode_mean_tokens": True, "include_prompt": False}
    written("1_Pooling/config.json", pooling)(folder)


def without_pooler(folder: Path) -> None:
    """As models of masked words are saved."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    save_file({n: array for n, array in weights.items() if not n.startswith("pooler.")}, path)


# What is wrong → the folder's name, and what is done to a whole one of HuggingFace's format.
FOLDERS = {
    "a family that is not here": ("t5", configured(model_type="t5")),
    "weights of other sizes": ("resized", configured(hidden_size=32)),
    "weights as a pickle": ("pickled", renamed("model.safetensors", "pytorch_model.bin")),
    "weights in several files": (
        "sharded",
        renamed("model.safetensors", "model.safetensors.index.json"),
    ),
    "weights cut off": ("cut", cut("model.safetensors")),
    "weights of NaN": ("nan", of_nan),
    "no pooler": ("no_pooler", without_pooler),
    "no weights": ("no_weights", removed("model.safetensors")),
    "no tokenizer": ("no_tokenizer", removed("vocab.txt", "tokenizer.json")),
    "no record of the casing": (
        "no_casing",
        removed("tokenizer.json", "tokenizer_config.json"),
    ),
    "another tokenizer": (
        "other_tokenizer",
        written("tokenizer_config.json", {"tokenizer_class": "T5Tokenizer"}),
    ),
    "a damaged `config.json`": ("damaged", cut("config.json")),
    "another pooling": (
        "pooled",
        written("1_Pooling/config.json", {"pooling_mode_max_tokens": True}),
    ),
    "more layers behind the pooling": (
        "dense",
        written("modules.json", [{"type": f"x.{kind}"} for kind in ("Transformer", "Dense")]),
    ),
    "an adapter of PEFT's": (
        "adapter",
        renamed("config.json", "adapter_config.json", "model.safetensors"),
    ),
    "none of a model's files": (
        "empty",
        removed("config.json", "model.safetensors", "vocab.txt", "tokenizer.json"),
    ),
}


def folder_of(name: str, edit: Callable[[Path], None], place: Path) -> str:
    """A small MPNet, edited."""
    folder = shutil.copytree(RECORDED / "huggingface_mpnet" / "model", place / name)
    edit(folder)
    return str(folder)


def modules(place: Path) -> Iterator[tuple[str, str, dict]]:
    """What is wrong with a folder of another format, the handle, options of `_row`."""
    gpt2 = RECORDED / "huggingface_gpt2" / "model"
    yield (
        "a GPT-2 as an encoder of keras-hub's",
        f"keras:{shutil.copytree(gpt2, place / 'gpt2')}",
        {},
    )
    whole = folder_of("whole", lambda folder: None, place)
    yield "a file of a folder", f"{whole}/model.safetensors", {}
    cased = shutil.copytree(RECORDED / "huggingface_modern_bert" / "model", place / "cased")
    written("sentence_bert_config.json", {"do_lower_case": True})(cased)
    yield "lower-casing before a cased tokenizer", str(cased), {}
    prompted = folder_of("prompt", with_prompt, place)
    yield "a prompt that the vector leaves out", prompted, {"load": HubEncoder}
    module = tf.Module()
    module.vectors = tf.Variable([1.0])
    tf.saved_model.save(module, str(place / "saved_model"))
    yield "a SavedModel that was not trusted", str(place / "saved_model"), {}
    options = {"trust": True, "execution": "native"}
    yield "`execution: native` of an unknown SavedModel", str(place / "saved_model"), options
    shipped = shutil.copytree(PRETRAINED / "bert_small", place / "changed")
    (shipped / "vocab.txt").write_text("changed", "utf-8")
    yield "a module whose files were changed", str(shipped), {}
    part = shutil.copytree(PRETRAINED / "bert_small", place / "incomplete")
    shutil.rmtree(part / "encoder" / "variables")
    yield "a module that is not whole", str(part), {}


@contextmanager
def nothing_cached(place: Path) -> Iterator[None]:
    """Empty caches of all hubs."""
    variables = {"KAGGLEHUB_CACHE": str(place / "kaggle"), "TFHUB_CACHE_DIR": str(place / "tfhub")}
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict("os.environ", variables))
        stack.enter_context(
            mock.patch("huggingface_hub.constants.HF_HUB_CACHE", str(place / "huggingface"))
        )
        yield


def refusals() -> list[dict[str, str]]:
    """What is wrong, handle and message of each case."""
    with tempfile.TemporaryDirectory() as folder, nothing_cached(Path(folder)):
        place = Path(folder)
        rows = [_row(wrong, handle, place) for wrong, handle in NAMES.items()]
        for wrong, (handle, replaced, error) in ANSWERS.items():
            with mock.patch(replaced, side_effect=error):
                rows.append(_row(wrong, handle, place))
        for wrong, (name, files) in ON_THE_HUB.items():
            rows.append(_row_of_hub(wrong, files, place / "hub" / name))
        for wrong, (name, edit) in FOLDERS.items():
            rows.append(_row(wrong, folder_of(name, edit, place), place))
        return rows + [_row(*of_module[:2], place, **of_module[2]) for of_module in modules(place)]


def _row_of_hub(wrong: str, files: dict, folder: Path) -> dict[str, str]:
    """As `_row`; `folder`: a new one, which is the hub's answer."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        written(name, content)(folder)
    with (
        mock.patch(_HUGGINGFACE, return_value=str(folder)),
        mock.patch("huggingface_hub.file_exists", return_value=False),
    ):
        return _row(wrong, f"hf://org/{folder.name}", folder)


def _row(wrong: str, handle: str, place: Path, load=load_module, **options) -> dict[str, str]:
    try:
        load(handle, **options)
    except TfAdaptError as error:
        said = f"{type(error).__name__}: {error}"
    else:
        raise AssertionError(f"{wrong}: {handle} was taken")
    said = " ".join(said.split()).replace(f"{place}/", "")
    return {"wrong": wrong, "handle": handle.replace(f"{place}/", ""), "message": said}


if __name__ == "__main__":
    write_text(FILE, json.dumps(refusals(), indent=1, ensure_ascii=False) + "\n")
