"""Modules that are not what their manifest says, though its hashes hold (A3)."""

import json
import shutil

import pytest

from hub_modules.load import load_module
from hub_modules.manifest import write_manifest
from tf_adapt.errors import ArtifactError


@pytest.fixture
def spoilt(tiny_bert, tmp_path):
    """Makes a copy of a module with another manifest, sealed anew."""

    def spoil(config: dict, vocabulary: list[str] | None = None):
        folder = tmp_path / "module"
        shutil.copytree(tiny_bert, folder)
        contract = json.loads((folder / "manifest.json").read_bytes())
        contract["config"] |= config
        if vocabulary is not None:
            (folder / "vocab.txt").write_text("".join(f"{one}\n" for one in vocabulary), "utf-8")
        sealed = {key: value for key, value in contract.items() if key not in ("format", "files")}
        write_manifest(folder, sealed)
        return folder

    return spoil


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"width": 20}, r"expected \(20,\) by the manifest.*, got \(16,\) in the files"),
        ({"max_positions": 300}, r"expected \(300, 16\) by the manifest.*, got \(256, 16\) in"),
        ({"num_layers": 3}, r"layer_2"),
        ({"num_layers": 1}, r"layer_1"),
    ],
)
def test_a3_another_shape_than_the_manifest_says(spoilt, config, message):
    with pytest.raises(ArtifactError, match=message):
        load_module(spoilt(config))


def test_a3_more_pieces_than_the_manifest_says(spoilt, tiny_bert):
    pieces = (tiny_bert / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    message = f"expected at most {len(pieces)} pieces .*, got {len(pieces) + 1}"
    with pytest.raises(ArtifactError, match=message):
        load_module(spoilt({}, [*pieces, "more"]))


@pytest.mark.slow
def test_a3_no_signature(tiny_bert):
    with pytest.raises(ArtifactError, match="expected the inputs input_word_ids, .* got none"):
        load_module(tiny_bert, execution="saved_model", trust=True)
