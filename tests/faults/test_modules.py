"""Modules that are not what their manifest says, though its hashes hold (A3)."""

import json
import shutil

import pytest

from hub_modules.load import load_module
from hub_modules.manifest import write_manifest
from tf_adapt.errors import ArtifactError


def test_a3_more_pieces_than_the_manifest_says(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "module")
    pieces = (folder / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    (folder / "vocab.txt").write_text("".join(f"{one}\n" for one in [*pieces, "more"]), "utf-8")
    contract = json.loads((folder / "manifest.json").read_bytes())
    sealed = {key: value for key, value in contract.items() if key not in ("format", "files")}
    write_manifest(folder, sealed)
    message = f"expected at most {len(pieces)} pieces .*, got {len(pieces) + 1}"
    with pytest.raises(ArtifactError, match=message):
        load_module(folder)


def test_a3_no_signature(tiny_bert, monkeypatch):
    monkeypatch.setattr("hub_modules.programs.saved_model.try_out", lambda folder, kind: None)
    with pytest.raises(ArtifactError, match="expected the inputs input_word_ids, .* got none"):
        load_module(tiny_bert, execution="saved_model", trust=True)
