"""The output layer of a module: written, hashed, read back, refused where it does not fit."""

import dataclasses
import io
import shutil
import zipfile

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from hub_modules.export import native_encoder, write_module
from hub_modules.load import load_module, load_output_layer
from hub_modules.manifest import read_manifest, write_manifest
from hub_modules.sources import ModuleSource, bilm_tf, huggingface
from tf_adapt.errors import ArtifactError, ConfigError

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
WORDS = ["<S>", "</S>", "<UNK>", "the", "cat"]
CONFIGS = {
    "bert": {
        "vocabulary_size": len(PIECES),
        "width": 8,
        "num_layers": 1,
        "num_heads": 2,
        "intermediate_width": 12,
        "max_positions": 16,
    },
    "elmo": {
        "filters": [[1, 4], [2, 4]],
        "character_width": 4,
        "num_highway": 1,
        "projection_width": 6,
        "lstm_width": 5,
    },
}
SHAPES = {
    "bert": huggingface.output_shapes(CONFIGS["bert"]),
    "elmo": {"kernel": (5, 6), "bias": (5,)},
}


def random_arrays(shapes):
    random = np.random.default_rng(0)
    return {name: random.normal(size=shape).astype("float32") for name, shape in shapes.items()}


def source(family):
    encoder = native_encoder(family, CONFIGS[family])
    weights = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    found = ModuleSource(
        family, CONFIGS[family], weights, output_layer=random_arrays(SHAPES[family])
    )
    if family == "bert":
        return dataclasses.replace(found, vocabulary=PIECES, lower_case=True)
    return dataclasses.replace(found, output_words=WORDS)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Writing takes seconds: each test gets a copy."""
    folder = tmp_path_factory.mktemp("written")
    for family in CONFIGS:
        write_module(source(family), folder / family)
    return folder


@pytest.fixture(params=["bert", "elmo"])
def folder(request, written, tmp_path):
    return shutil.copytree(written / request.param, tmp_path / request.param)


def test_the_layer_comes_back_bit_by_bit(folder):
    layer, words = load_output_layer(folder, load_module(folder).encoder)
    assert words == (WORDS if folder.name == "elmo" else None)
    for name, array in source(folder.name).output_layer.items():
        np.testing.assert_array_equal(layer.weights_by_name()[name].numpy(), array)


def test_a_change_shows(folder):
    name = "output_words.txt" if folder.name == "elmo" else "output_layer.npz"
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    encoder = load_module(folder).encoder
    (folder / name).write_bytes(content)
    with pytest.raises(ArtifactError, match=f"{name} does not have the SHA-256"):
        load_output_layer(folder, encoder)
    with pytest.raises(ArtifactError, match=f"{name} does not have the SHA-256"):
        load_module(folder)


@pytest.mark.slow
def test_one_that_is_not_in_the_manifest_is_refused(tmp_path):
    write_module(dataclasses.replace(source("bert"), output_layer=None), tmp_path / "m")
    encoder = load_module(tmp_path / "m").encoder
    assert load_output_layer(tmp_path / "m", encoder) is None
    (tmp_path / "m/output_layer.npz").write_bytes(b"added")
    with pytest.raises(ArtifactError, match="not in the manifest"):
        load_module(tmp_path / "m")


def bomb(path):
    """An archive whose array claims 2^50 numbers."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (2**50,)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("kernel.npy", header.getvalue() + b"1234")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (bomb, "declares more than it holds"),
        (lambda path: path.write_bytes(b"PK not a zip"), "not arrays of numbers"),
        (
            lambda path: np.savez(path, kernel=np.zeros((5, 6), "f4")),
            r"expected the arrays \['bias'",
        ),
        (
            lambda path: np.savez(path, kernel=np.zeros((5, 7), "f4"), bias=np.zeros(5, "f4")),
            r"kernel: expected floating-point numbers of shape \(5, 6\), got float32 of shape",
        ),
        (
            lambda path: np.savez(path, kernel=np.zeros((5, 6), "i4"), bias=np.zeros(5, "f4")),
            "got int32",
        ),
        (
            lambda path: np.savez(
                path, kernel=np.zeros((5, 6), "f4"), bias=np.full(5, np.nan, "f4")
            ),
            "bias: expected finite numbers",
        ),
        (
            lambda path: np.savez(path, kernel=np.array([{}]), bias=np.zeros(5, "f4")),
            "not arrays of numbers|got object",
        ),
    ],
)
def test_arrays_that_do_not_fit(written, tmp_path, write, message):
    """In a source that is converted, and in a module whose author wrote the manifest."""
    shutil.copytree(written / "elmo", tmp_path / "module")
    path = tmp_path / "module/output_layer.npz"
    path.unlink()
    write(path)
    contract = read_manifest(tmp_path / "module")
    contract = contract.model_dump(exclude={"format", "files"}, exclude_unset=True)
    write_manifest(tmp_path / "module", contract)
    encoder = load_module(tmp_path / "module").encoder
    with pytest.raises(ArtifactError, match=message):
        load_output_layer(tmp_path / "module", encoder)


def test_a_black_box_is_refused(folder):
    with pytest.raises(ConfigError, match="needs the native encoder"):
        load_output_layer(folder, load_module(folder, execution="saved_model").encoder)


def test_weights_of_another_encoder_leave_nothing_behind(tmp_path):
    wrong = source("bert")
    wrong.output_layer["bias"] = np.zeros(9, "float32")
    with pytest.raises(ArtifactError, match=r"bias: expected shape \(7,\), got \(9,\)"):
        write_module(wrong, tmp_path / "m")
    with pytest.raises(ArtifactError, match="expected the output layer's words, got none"):
        write_module(dataclasses.replace(source("elmo"), output_words=None), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def foreign(layer):
    return {
        "predictions.transform.dense.weight": np.ascontiguousarray(layer["dense/kernel"].T),
        "predictions.transform.dense.bias": layer["dense/bias"],
        "predictions.transform.LayerNorm.weight": layer["layer_norm/gamma"],
        "predictions.transform.LayerNorm.bias": layer["layer_norm/beta"],
        "predictions.bias": layer["bias"],
        "predictions.decoder.bias": layer["bias"],
        "seq_relationship.bias": np.zeros(2, "float32"),
    }


@pytest.mark.parametrize("apart", [True, False])
def test_huggingface(tmp_path, apart):
    wanted = source("bert")
    huggingface.write(
        dataclasses.replace(wanted, config=wanted.config | _defaults(), output_layer=None),
        tmp_path / "hf",
    )
    arrays = foreign(wanted.output_layer)
    model = tmp_path / "hf/model.safetensors"
    if apart:
        save_file(arrays, tmp_path / "hf/heads.safetensors")
    else:
        arrays = {f"cls.{name}": array for name, array in arrays.items()}
        save_file(load_file(model) | arrays, model)
    found = huggingface.read(tmp_path / "hf")
    for name, array in wanted.output_layer.items():
        np.testing.assert_array_equal(found.output_layer[name], array)
    prefix = "" if apart else "cls."
    assert found.left_out == (f"{prefix}predictions.decoder.bias", f"{prefix}seq_relationship.bias")


@pytest.mark.parametrize("tied", [True, False])
def test_an_output_that_is_not_tied_is_left_out(tmp_path, tied):
    wanted = source("bert")
    huggingface.write(
        dataclasses.replace(wanted, config=wanted.config | _defaults()), tmp_path / "hf"
    )
    table = wanted.weights["embeddings/word_embeddings"] + (0 if tied else 1)
    arrays = foreign(wanted.output_layer) | {"predictions.decoder.weight": table}
    save_file(arrays, tmp_path / "hf/heads.safetensors")
    found = huggingface.read(tmp_path / "hf")
    assert (found.output_layer is not None) == tied
    assert "predictions.decoder.weight" in found.left_out


def _defaults():
    return {
        "type_vocabulary_size": 2,
        "activation": "gelu_tanh",
        "layer_norm_epsilon": 1e-12,
        "dropout": 0.1,
        "attention_dropout": 0.1,
    }


def test_bilm_tf(tmp_path):
    wanted = source("elmo")
    rest = {
        "num_layers": 2,
        "skip_connections": True,
        "cell_clip": 3.0,
        "projection_clip": 3.0,
        "activation": "relu",
    }
    bilm_tf.write(dataclasses.replace(wanted, config=wanted.config | rest), tmp_path / "elmo")
    assert bilm_tf.read(tmp_path / "elmo").output_layer is None
    layer = wanted.output_layer
    np.savez(tmp_path / "elmo/softmax.npz", W=layer["kernel"], b=layer["bias"])
    (tmp_path / "elmo/vocab.txt").write_text("\n".join([*WORDS[:3], "!!!MAXTERMID", *WORDS[3:]]))
    found = bilm_tf.read(tmp_path / "elmo")
    assert found.output_words == WORDS
    np.testing.assert_array_equal(found.output_layer["kernel"], layer["kernel"])
    np.testing.assert_array_equal(found.output_layer["bias"], layer["bias"])
    (tmp_path / "elmo/vocab.txt").write_text("\n".join(WORDS[:4]))
    with pytest.raises(ArtifactError, match=r"softmax.npz: W: expected .* shape \(4, 6\)"):
        bilm_tf.read(tmp_path / "elmo")


def test_a_converted_one_is_the_source_s(shared, masked_bert):
    theirs = load_file(shared / "models/bert_small/heads.safetensors")
    layer, words = load_output_layer(masked_bert, load_module(masked_bert).encoder)
    assert words is None
    ours = {name: weight.numpy() for name, weight in layer.weights_by_name().items()}
    for name, array in {
        "dense/kernel": theirs["predictions.transform.dense.weight"].T,
        "layer_norm/gamma": theirs["predictions.transform.LayerNorm.weight"],
        "bias": theirs["predictions.bias"],
    }.items():
        np.testing.assert_array_equal(ours[name], array.astype("float32"))
    for shipped in ("bert_small", "elmo_small"):
        assert load_output_layer(shipped, load_module(shipped).encoder) is None
