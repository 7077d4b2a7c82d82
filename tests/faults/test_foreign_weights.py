"""Foreign weights that lie, point elsewhere, or are damaged (A6 and A7, and damage by chance).

Every case works on a good folder and spoils one thing; only `ArtifactError` may come out.
"""

import json
import pickle
import shutil
import tracemalloc
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest

from hub_modules.sources import (
    ModuleSource,
    bilm_tf,
    fastai,
    google_bert,
    huggingface,
    keras_nlp,
)
from hub_modules.sources.layouts.bert import bert_shapes
from tf_adapt.errors import ArtifactError, TfAdaptError

RECORDED = Path(__file__).parents[1] / "parity" / "recorded"
COPIED = {"keras-nlp": RECORDED / "keras_hub" / "preset", "fastai": RECORDED / "fastai" / "model"}
SECRET = np.arange(13.0, dtype=np.float32)
LARGEST_MEMORY = 100 * 2**20


def random_weights(shapes: dict) -> dict:
    random = np.random.default_rng(0)
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def write_elmo(folder: Path) -> None:
    config = {
        "filters": [[1, 3], [2, 4]],
        "character_width": 5,
        "num_highway": 1,
        "projection_width": 6,
        "lstm_width": 8,
        "num_layers": 1,
        "skip_connections": True,
        "cell_clip": 3.0,
        "projection_clip": 3.0,
        "activation": "relu",
    }
    weights = random_weights(bilm_tf.elmo_shapes(config))
    bilm_tf.write(ModuleSource("elmo", config, weights), folder)


def tiny_bert() -> ModuleSource:
    config = {
        "vocabulary_size": 6,
        "width": 4,
        "num_layers": 1,
        "num_heads": 2,
        "intermediate_width": 5,
        "max_positions": 3,
        "type_vocabulary_size": 2,
        "activation": "gelu_tanh",
        "layer_norm_epsilon": 1e-12,
        "dropout": 0.1,
        "attention_dropout": 0.1,
    }
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
    return ModuleSource("bert", config, random_weights(bert_shapes(config)), pieces, True)


def write_format(name: str, folder: Path) -> None:
    """A good folder of the format, to be spoilt."""
    if name == "bilm-tf":
        write_elmo(folder)
    elif name == "huggingface":
        huggingface.write(tiny_bert(), folder)
    elif name == "google-bert":
        google_bert.write(tiny_bert(), folder)
    else:
        shutil.copytree(COPIED[name], folder)


READERS = {
    "bilm-tf": bilm_tf.read,
    "huggingface": huggingface.read,
    "google-bert": lambda folder: google_bert.read(folder, lower_case=True),
    "keras-nlp": keras_nlp.read,
    "fastai": fastai.read,
}
# Format → its file of weights, and one array in it.
HDF5_FILES = {
    "bilm-tf": ("weights.hdf5", "CNN_proj/b_proj"),
    "keras-nlp": ("model.weights.h5", "layers/dense/vars/1"),
}


def soft_link(file, name):
    file["elsewhere"] = SECRET
    file[name] = h5py.SoftLink("/elsewhere")


def external_link(file, name):
    file[name] = h5py.ExternalLink("secret.h5", "/secret")


def external_storage(file, name):
    file.create_dataset(name, (6,), np.float32, external=[("secret.bin", 0, 24)])


def virtual_dataset(file, name):
    layout = h5py.VirtualLayout((6,), np.float32)
    layout[:] = h5py.VirtualSource("secret.h5", "secret", (6,))
    file.create_virtual_dataset(name, layout)


def shape_bomb(file, name):
    file.create_dataset(name, (2**50,), np.float32, chunks=(2**10,))


def compressed_bomb(file, name):
    file.create_dataset(name, (2**24,), np.float32, compression="gzip", chunks=(2**20,))
    file[name][:] = 0


def never_stored(file, name):
    file.create_dataset(name, (6,), np.float32, chunks=(6,))


def objects(file, name):
    file.create_dataset(name, data=["a", "b"], dtype=h5py.string_dtype())


def references(file, name):
    file.create_dataset(name, data=[file.ref], dtype=h5py.ref_dtype)


def named_type(file, name):
    file[name] = np.dtype(np.float32)


def circle(file, name):
    file[name] = file["/"]


def two_names(file, name):
    file[name] = file[next(key for key in file if isinstance(file[key], h5py.Group))]


HDF5_TRICKS = [
    (soft_link, "got a SoftLink"),
    (external_link, "got a ExternalLink"),
    (external_storage, "got external storage"),
    (virtual_dataset, "got a virtual dataset"),
    (shape_bomb, "got a declared size of 4503599627370496 bytes with 0 stored"),
    (compressed_bomb, "got a declared size of 67108864 bytes with"),
    (never_stored, "got a declared size of 24 bytes with 0 stored"),
    (objects, "got object"),
    (references, "got object"),
    (named_type, "got a Datatype"),
    (circle, "got a second name of something else"),
    (two_names, "got a second name of something else"),
]


@pytest.mark.parametrize("name", HDF5_FILES)
def test_a7_hdf5_that_is_more_than_arrays(tmp_path, monkeypatch, name):
    file_name, array = HDF5_FILES[name]
    for trick, message in HDF5_TRICKS:
        folder = tmp_path / trick.__name__
        write_format(name, folder)
        # Links in HDF5 may be relative to the file or to the current folder.
        monkeypatch.chdir(folder)
        (folder / "secret.bin").write_bytes(SECRET.tobytes())
        with h5py.File(folder / "secret.h5", "w") as file:
            file["secret"] = SECRET[:6]
        with h5py.File(folder / file_name, "r+") as file:
            del file[array]
            trick(file, array)
        tracemalloc.start()
        try:
            with pytest.raises(ArtifactError, match=message):
                READERS[name](folder)
            assert tracemalloc.get_traced_memory()[1] < LARGEST_MEMORY
        finally:
            tracemalloc.stop()


def test_a7_settings_that_agree_with_a_bomb(tmp_path):
    folder, width = tmp_path / "module", 2**22
    write_format("bilm-tf", folder)
    options = json.loads((folder / "options.json").read_text("utf-8"))
    options["char_cnn"]["embedding"]["dim"] = width
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    with h5py.File(folder / "weights.hdf5", "r+") as file:
        del file["char_embed"]
        file.create_dataset("char_embed", (261, width), np.float32, chunks=(1, 2**16))
        file["char_embed"][0, :10] = 1
    with pytest.raises(ArtifactError, match="char_embed: .* got a declared size of"):
        bilm_tf.read(folder)


def test_a7_keras_model_with_a_lambda(tmp_path):
    marker = tmp_path / "marker"

    def leave_marker(states):
        marker.touch()
        return states

    model = keras.Sequential([keras.Input((2,)), keras.layers.Lambda(leave_marker)])
    marker.unlink(missing_ok=True)
    folder = tmp_path / "module"
    write_format("keras-nlp", folder)
    model.save(tmp_path / "model.h5")
    (tmp_path / "model.h5").replace(folder / "model.weights.h5")
    with pytest.raises(ArtifactError, match="expected 39 weights, 39 are missing"):
        keras_nlp.read(folder)
    assert not marker.exists()


class LeaveMarker:
    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickled_weights_are_not_opened(tmp_path):
    folder, marker = tmp_path / "module", tmp_path / "marker"
    write_format("huggingface", folder)
    pickled = pickle.dumps(LeaveMarker(marker))
    (folder / "pytorch_model.bin").write_bytes(pickled)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ArtifactError, match="pytorch_model.bin is a pickle.*safe_serialization"):
        huggingface.read(folder)
    (folder / "model.safetensors").write_bytes(pickled)
    with pytest.raises(ArtifactError, match="expected a safetensors file"):
        huggingface.read(folder)
    assert not marker.exists()


def claim_a_huge_shape(content: bytes) -> bytes:
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["pooler.dense.bias"]["shape"] = [2**50]
    new = json.dumps(header).encode()
    return len(new).to_bytes(8, "little") + new + content[8 + length :]


def test_damaged_safetensors(tmp_path):
    write_format("huggingface", tmp_path / "module")
    path = tmp_path / "module" / "model.safetensors"
    good = path.read_bytes()
    for spoilt in (
        b"",
        good[:-1],
        good[: len(good) // 2],
        (2**50).to_bytes(8, "little") + good[8:],
        claim_a_huge_shape(good),
    ):
        path.write_bytes(spoilt)
        with pytest.raises(ArtifactError, match="expected a safetensors file"):
            huggingface.read(tmp_path / "module")


def test_damaged_checkpoint(tmp_path):
    write_format("google-bert", tmp_path / "module")
    for suffix in (".index", ".data-00000-of-00001"):
        path = tmp_path / "module" / f"bert_model.ckpt{suffix}"
        good = path.read_bytes()
        middle = len(good) // 2
        flipped = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]
        for content in (None, b"", good[:middle], flipped):
            path.unlink() if content is None else path.write_bytes(content)
            with pytest.raises(ArtifactError, match="bert_model.ckpt"):
                READERS["google-bert"](tmp_path / "module")
            path.write_bytes(good)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("bilm-tf", "module: expected weights.hdf5 or exactly one .*, got none"),
        ("keras-nlp", "model.weights.h5: expected an HDF5 file, got no such file"),
    ],
)
def test_damaged_hdf5(tmp_path, name, missing):
    write_format(name, tmp_path / "module")
    path = tmp_path / "module" / HDF5_FILES[name][0]
    for content in (b"", b"not HDF5", path.read_bytes()[: path.stat().st_size // 2]):
        path.write_bytes(content)
        with pytest.raises(ArtifactError, match="expected a readable HDF5 file"):
            READERS[name](tmp_path / "module")
    path.unlink()
    with pytest.raises(ArtifactError, match=missing):
        READERS[name](tmp_path / "module")


def mutate(content: bytes, random: np.random.Generator) -> bytes:
    spoilt = bytearray(content)
    for _ in range(int(random.integers(1, 4))):
        # The beginning of a file says how the rest is to be read.
        end = len(spoilt) if random.random() < 0.5 else min(len(spoilt), 2048)
        spoilt[int(random.integers(end))] = int(random.integers(256))
    if random.random() < 0.2:
        del spoilt[int(random.integers(len(spoilt))) :]
    return bytes(spoilt)


FUZZED = [
    ("bilm-tf", "weights.hdf5"),
    ("bilm-tf", "options.json"),
    ("keras-nlp", "model.weights.h5"),
    ("huggingface", "model.safetensors"),
    ("huggingface", "config.json"),
    ("huggingface", "vocab.txt"),
    ("google-bert", "bert_model.ckpt.index"),
    ("google-bert", "bert_model.ckpt.data-00000-of-00001"),
    ("fastai", "model.safetensors"),
    ("fastai", "vocab.txt"),
]


@pytest.mark.parametrize(
    "count",
    [pytest.param(100, marks=pytest.mark.slow), pytest.param(2000, marks=pytest.mark.large)],
)
def test_mutated_files(tmp_path, count):
    for name, file_name in FUZZED:
        folder = tmp_path / f"{name} {file_name}"
        write_format(name, folder)
        path = folder / file_name
        content = path.read_bytes()
        for seed in range(count):
            path.write_bytes(mutate(content, np.random.default_rng(seed)))
            try:
                READERS[name](folder)
            except TfAdaptError:
                continue
            except Exception as error:
                raise AssertionError(f"{name}, {file_name}, seed {seed}: {error!r}") from error
