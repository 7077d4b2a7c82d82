"""An output layer that was fitted for a module without one: beside the module, not in it."""

import shutil

import numpy as np
import pytest
from random_modules import write_tiny_elmo

from hub_modules.errors import ArtifactError
from hub_modules.load import load_module, load_output_layer
from hub_modules.manifest import module_hash, write_manifest
from hub_modules.output_files import FITTED, has_output_layer, new_output_layer, write_fitted_layer

WORDS = ["</S>", "<S>", "<UNK>", "the", "a"]


def arrays_for(encoder, family, words=None):
    layer = new_output_layer(family, encoder.get_config(), words)
    random = np.random.default_rng(3)
    return {
        name: random.normal(size=weight.shape).astype(np.float16)
        for name, weight in layer.weights_by_name().items()
    }


@pytest.mark.parametrize("family", ["bert", "elmo"])
def test_it_is_read_and_the_module_stays_the_same(family, tiny_bert, tmp_path):
    folder, words = tmp_path / "m", WORDS if family == "elmo" else None
    if family == "bert":
        shutil.copytree(tiny_bert, folder)
    else:
        write_tiny_elmo(folder)
    encoder = load_module(folder).encoder
    before, arrays = module_hash(folder), arrays_for(encoder, family, words)
    assert not has_output_layer(folder) and load_output_layer(folder, encoder) is None
    write_fitted_layer(folder / FITTED, arrays, words)
    assert has_output_layer(folder) and module_hash(folder) == before
    layer, found = load_output_layer(folder, load_module(folder).encoder)
    assert found == words
    for name, weight in layer.weights_by_name().items():
        np.testing.assert_array_equal(weight.numpy(), arrays[name].astype("float32"))


def test_one_that_is_damaged_is_refused(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "m")
    encoder = load_module(folder).encoder
    write_fitted_layer(folder / FITTED, arrays_for(encoder, "bert"))
    path = folder / FITTED / "output_layer.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match="output_layer.npz does not have the SHA-256"):
        load_output_layer(folder, encoder)
    path.unlink()
    write_manifest(folder / FITTED, {"kind": "export"})
    with pytest.raises(ArtifactError, match="fitted: expected a fitted output layer .* got some"):
        load_output_layer(folder, encoder)
    shutil.rmtree(folder / FITTED)
    (folder / FITTED).mkdir()
    with pytest.raises(ArtifactError, match="fitted: expected a fitted output layer"):
        load_output_layer(folder, encoder)
