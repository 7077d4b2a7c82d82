"""Manifests that are sealed and wrong: one error each, whoever reads them, and before memory is
taken for what they promise.
"""

import hashlib
import json
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from layer_arguments import arguments_of

from hub_modules.load import load_module, module_text_settings
from hub_modules.manifest import read_manifest
from hub_modules.manifest_schemas import BertArguments, ElmoArguments, ModuleManifest
from hub_modules.native.bert import BertEncoder
from hub_modules.native.elmo import ElmoEncoder
from hub_modules.shipped import PRETRAINED, shipped_names
from tf_adapt.commands.main import cli
from tf_adapt.errors import ArtifactError
from tf_adapt.training.finished.trained_run import predict_file

DEEP = 100_000


def changed(**changes):
    return lambda manifest: json.dumps(manifest | changes).encode()


def without(key: str):
    return lambda manifest: json.dumps({k: v for k, v in manifest.items() if k != key}).encode()


def config(**changes):
    return lambda manifest: json.dumps(manifest | {"config": manifest["config"] | changes}).encode()


def file_named(name: str, **entry):
    entry = {"bytes": 1, "sha256": "0" * 64} | entry
    return lambda manifest: json.dumps(
        manifest | {"files": manifest["files"] | {name: entry}}
    ).encode()


# How a manifest is made wrong, and what the message says.
MAKES = {
    "empty": (lambda manifest: b"", "JSON"),
    "not UTF-8": (lambda manifest: json.dumps(manifest).encode("utf-16"), "JSON in UTF-8"),
    "not JSON": (lambda manifest: b"format: 1", "JSON"),
    "a list": (lambda manifest: b"[]", "got a list"),
    "null": (lambda manifest: b"null", "got null"),
    "deep lists": (lambda manifest: b"[" * DEEP + b"]" * DEEP, "nested"),
    "deep objects": (lambda manifest: b'{"a":' * DEEP + b"1" + b"}" * DEEP, "nested"),
    "a key twice": (lambda manifest: b'{"format": 1, "format": 1}', "twice"),
    "a number too long": (lambda manifest: b'{"format": ' + b"9" * 10_000 + b"}", "JSON|format"),
    "no format": (without("format"), "format: .*got nothing"),
    "a newer format": (changed(format=2), "expected format 1, got 2"),
    "a format in words": (changed(format="1"), "format: "),
    "no kind": (without("kind"), "kind: .*got nothing"),
    "an unknown kind": (changed(kind="gpt"), "kind: expected one of .*, got 'gpt'"),
    "a kind that is a list": (changed(kind=["bert"]), "kind: .*got a list"),
    "no files": (without("files"), "files: .*got nothing"),
    "files as a list": (changed(files=["vocab.txt"]), "files: .*got a list"),
    "a file outside": (file_named("../x"), "path of a file inside the folder"),
    "a file outside by detours": (file_named("encoder/../../x"), "path of a file inside"),
    "an absolute file": (file_named("/etc/passwd"), "path of a file inside the folder"),
    "a file without a name": (file_named(""), "path of a file inside the folder"),
    "a file with a NUL": (file_named("a\0b"), "path of a file inside the folder"),
    "a size in words": (file_named("vocab.txt", bytes="1"), "vocab.txt.bytes: "),
    "a negative size": (file_named("vocab.txt", bytes=-1), "vocab.txt.bytes: "),
    "a hash of another form": (file_named("vocab.txt", sha256="0" * 63), "vocab.txt.sha256: "),
    "an unknown key": (changed(lambda_=1), "lambda_: "),
}
# What only a module has.
MODULE_MAKES = {
    "no config": (without("config"), "config: .*got nothing"),
    "a config in words": (changed(config="small"), "config: "),
    "an unknown argument": (config(lambda_="x"), "config.lambda_: "),
    "adapters": (config(added={"kind": "lora"}), "config.added: "),
    "a width in words": (config(width="16"), "config.width: "),
    "a width of a fraction": (config(width=16.5), "config.width: "),
    "a width that is true": (config(width=True), "config.width: "),
    "no width at all": (config(width=0), "config.width: "),
    "a huge width": (config(width=10**12), "config.width: "),
    "a large width": (config(width=2**20), "expected .* by the manifest's config, got"),
    "heads that do not fit": (config(num_heads=3), "config: .*multiple of num_heads"),
    "very many layers": (config(num_layers=10**9), "config.num_layers: "),
    "more layers": (config(num_layers=900), "weight layer_.* by the manifest's config, got none"),
    "fewer layers": (config(num_layers=1), "expected none by the manifest's config, got"),
    "many positions": (
        config(max_positions=2**30),
        "position_embeddings: expected .* by the manifest's config",
    ),
    "an unknown activation": (config(activation="swish"), "config.activation: "),
    "a dropout of 1": (config(dropout=1.0), "config.dropout: "),
    "an epsilon of 0": (config(layer_norm_epsilon=0), "config.layer_norm_epsilon: "),
    "a casing in words": (changed(lower_case="yes"), "lower_case: "),
    "no casing": (changed(lower_case=None), "lower_case: "),
    "groups in words": (changed(groups="embeddings"), "groups: "),
    "weights of another form": (changed(weights={"a": "16"}), "weights.a: "),
    "the kind of another config": (changed(kind="elmo"), "config"),
}


def seal(folder: Path, content: bytes) -> None:
    (folder / "manifest.json").write_bytes(content)
    (folder / "manifest.sha256").write_text(hashlib.sha256(content).hexdigest())


def refused(*arguments: str) -> str:
    done = CliRunner().invoke(cli, [*arguments])
    assert done.exit_code == 4, done.output
    assert done.output.splitlines()[-1].startswith("ArtifactError: ")
    return done.output


def test_a3_a_manifest_of_a_module(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "module")
    good = json.loads((folder / "manifest.json").read_bytes())
    for name, (make, match) in (MAKES | MODULE_MAKES).items():
        seal(folder, make(good))
        tracemalloc.start()
        try:
            for execution in (None, "saved_model"):
                if execution and name in MODULE_MAKES and "manifest's config" in match:
                    continue  # its own program does not ask the manifest for shapes
                with pytest.raises(ArtifactError, match=match):
                    load_module(folder, execution=execution, trust=True)
            assert tracemalloc.get_traced_memory()[1] < 100 * 2**20, name
        finally:
            tracemalloc.stop()


def test_every_command_says_so(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "module")
    good = json.loads((folder / "manifest.json").read_bytes())
    (tmp_path / "texts.txt").write_text("a text\n")
    places = ["--input", str(tmp_path / "texts.txt"), "--output", str(tmp_path / "out")]
    for name in ("deep objects", "a file outside", "a large width"):
        make, _ = (MAKES | MODULE_MAKES)[name]
        seal(folder, make(good))
        refused("module", "inspect", str(folder))
        refused("encode", str(folder), *places)
        refused("predict", str(folder), *places)
        if name != "a large width":
            with pytest.raises(ArtifactError):
                module_text_settings(folder)


@pytest.fixture
def exported(finished_export, tmp_path) -> Path:
    """A copy of an export, to be spoilt."""
    return Path(shutil.copytree(finished_export(), tmp_path / "1"))


@pytest.mark.slow
def test_a_manifest_of_an_export(exported, tmp_path):
    good = json.loads((exported / "manifest.json").read_bytes())
    for make, match in MAKES.values():
        seal(exported, make(good))
        with pytest.raises(ArtifactError, match=match.replace("vocab.txt.", "")):
            predict_file(exported, tmp_path / "absent", tmp_path / "out", trust=True)


def resealed(folder: Path, name: str, content: bytes) -> None:
    """A file that is changed together with the manifest."""
    (folder / name).write_bytes(content)
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest = json.loads((folder / "manifest.json").read_bytes())
    seal(folder, json.dumps(manifest | {"files": manifest["files"] | {name: entry}}).encode())


def of_task(**changes):
    return lambda content: content | {"task": content["task"] | changes}


TASKS = {
    "an empty object": lambda content: {},
    "a list": lambda content: [],
    "another kind": of_task(kind="tagging"),
    "an unknown kind": of_task(kind="guess"),
    "one label twice": of_task(labels=["no", "no"]),
    "labels that are numbers": of_task(labels=[1, 2]),
    "an extra key": lambda content: content | {"more": 1},
    "data in words": lambda content: content | {"data": "plain"},
    "data of other keys": lambda content: content | {"data": {"a": 1}},
}


def assert_another_task_is_refused(exported, tmp_path, make, texts: str) -> None:
    task = make(json.loads((exported / "task.json").read_bytes()))
    resealed(exported, "task.json", json.dumps(task).encode())
    (tmp_path / "texts").write_text(texts, "utf-8")
    with pytest.raises(ArtifactError):
        predict_file(exported, tmp_path / "texts", tmp_path / "out", trust=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_task_that_is_not_the_exports(exported, tmp_path):
    good = (exported / "task.json").read_bytes()
    for name, make in TASKS.items():
        texts = "Ann\n" if name == "another kind" else "text\nA warm film .\n"
        assert_another_task_is_refused(exported, tmp_path, make, texts)
        resealed(exported, "task.json", good)


@pytest.mark.large
@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c", "d", "e", "f", "g", "h", "i"]])
def test_a_task_that_agrees_with_itself(exported, tmp_path, labels):
    """Only the loaded SavedModel shows that other, or more, labels are not its own."""
    texts = "text\nA warm film .\n"
    assert_another_task_is_refused(exported, tmp_path, of_task(labels=labels), texts)


def test_random_damage_of_a_manifest_and_its_seal_is_an_artifact_error(tiny_bert, tmp_path):
    """One leaf of a sealed manifest replaced at random; a valid result, or our error."""
    folder = shutil.copytree(tiny_bert, tmp_path / "module")
    good = (folder / "manifest.json").read_bytes()
    random = np.random.default_rng(7)
    values = [None, True, -1, 0, 10**30, 1e308, "", "x\0", [], {}, [[]], {"a": 1}, "../x", 2**40]
    for _ in range(200):
        manifest = json.loads(good)
        place = manifest
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = keys[random.integers(len(keys))]
            if not isinstance(place[key], dict | list) or not place[key] or random.random() < 0.2:
                break
            place = place[key]
        place[key] = values[random.integers(len(values))]
        seal(folder, json.dumps(manifest).encode())
        try:
            load_module(folder)
        except ArtifactError:
            continue


@pytest.mark.parametrize(
    ("arguments", "layer"), [(BertArguments, BertEncoder), (ElmoArguments, ElmoEncoder)]
)
def test_the_schema_knows_every_argument_and_default(arguments, layer):
    parameters = arguments_of(layer)
    fields = arguments.model_fields
    assert fields.keys() == parameters.keys()
    for name, field in fields.items():
        required = parameters[name].default is parameters[name].empty
        assert field.is_required() == required
        assert required or field.default == parameters[name].default


def test_shipped_manifests_fit():
    for name in shipped_names():
        assert isinstance(read_manifest(PRETRAINED / name), ModuleManifest)
