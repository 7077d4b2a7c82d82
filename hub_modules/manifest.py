"""The manifest of a module or an export: what it is, and the SHA-256 of each of its files.

`manifest.json` holds the contract (kind, encoder configuration, layer groups, weights) and the
files; `manifest.sha256` holds the hash of `manifest.json`, so that a change in either is detected.
"""

import hashlib
import json
import os
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from hub_modules.errors import ArtifactError
from hub_modules.huggingface_handles import files_read, is_native
from hub_modules.storage.files import changed_part, describe, sha256, write_bytes
from hub_modules.storage.json_files import Schema, parse_json, read_bytes
from hub_modules.storage.records import Description

FORMAT = 1
MANIFEST, SEAL = "manifest.json", "manifest.sha256"
# The files with a hash, in a module and in an export for serving: SavedModels, the vocabulary, the
# task or tasks. Notes (README, licence) may be edited freely.
COVERED = (
    "encoder",
    "preprocess",
    "vocab.txt",
    "merges.txt",
    "added_tokens.json",
    "output_layer.npz",
    "output_words.txt",
    "saved_model.pb",
    "fingerprint.pb",
    "variables",
    "assets",
    "task.json",
    "tasks.json",
)


def _inside(name: str) -> str:
    """The name of a file, if it is one below the module's folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or str(path) != name or name == ".":
        raise ValueError("should be the path of a file inside the folder")
    return name


# Numbers that bound a loop have a limit, so that a wrong one cannot hang the process.
_Count = Annotated[int, Field(ge=1, le=1000)]
_Size = Annotated[int, Field(ge=1, lt=2**31)]
_Share = Annotated[float, Field(ge=0, lt=1)]
_Bound = Annotated[float, Field(gt=0)]


def _with_whole_heads(arguments):
    if arguments.width % arguments.num_heads:
        raise ValueError(
            f"width {arguments.width} should be a multiple of num_heads {arguments.num_heads}"
        )
    return arguments


class BertArguments(Schema):
    """The arguments of a `BertEncoder` without adapters."""

    vocabulary_size: _Size
    width: _Size
    num_layers: _Count
    num_heads: _Size
    intermediate_width: _Size
    max_positions: _Size
    type_vocabulary_size: _Size = 2
    activation: Literal["gelu_exact", "gelu_tanh"] = "gelu_exact"
    layer_norm_epsilon: _Bound = 1e-12
    dropout: _Share = 0.1
    attention_dropout: _Share = 0.1

    @model_validator(mode="after")
    def _check_heads(self) -> "BertArguments":
        return _with_whole_heads(self)


class CausalArguments(Schema):
    """The arguments of a `CausalEncoder` without adapters and new embeddings."""

    vocabulary_size: _Size
    width: _Size
    num_layers: _Count
    num_heads: _Size
    intermediate_width: _Size
    max_positions: _Size
    activation: Literal["gelu_exact", "gelu_tanh"] = "gelu_tanh"
    layer_norm_epsilon: _Bound = 1e-5
    dropout: _Share = 0.1
    attention_dropout: _Share = 0.1

    @model_validator(mode="after")
    def _check_heads(self) -> "CausalArguments":
        return _with_whole_heads(self)


class ModernBertArguments(Schema):
    """The arguments of a `ModernBertEncoder` without adapters."""

    vocabulary_size: _Size
    width: _Size
    num_layers: _Count
    num_heads: _Size
    intermediate_width: _Size
    max_positions: _Size
    global_layers: list[Annotated[int, Field(ge=0, lt=1000)]] = Field(max_length=1000)
    local_attention: Annotated[int, Field(ge=2, lt=2**31)] = 128
    global_base: _Bound = 160_000.0
    local_base: _Bound = 10_000.0
    activation: Literal["gelu_exact", "gelu_tanh"] = "gelu_exact"
    layer_norm_epsilon: _Bound = 1e-5
    dropout: _Share = 0.0
    embedding_dropout: _Share = 0.0
    attention_dropout: _Share = 0.0

    @model_validator(mode="after")
    def _check_heads(self) -> "ModernBertArguments":
        if self.width // self.num_heads % 2:
            raise ValueError(
                f"width {self.width} over num_heads {self.num_heads} should be even, for rotary "
                "positions"
            )
        return _with_whole_heads(self)


class MPNetArguments(Schema):
    """The arguments of an `MPNetEncoder` without adapters."""

    vocabulary_size: _Size
    width: _Size
    num_layers: _Count
    num_heads: _Size
    intermediate_width: _Size
    max_positions: _Size
    # A quarter of them is for one distance each, of less than 128.
    num_buckets: Annotated[int, Field(ge=4, lt=512, multiple_of=4)] = 32
    activation: Literal["gelu_exact", "gelu_tanh"] = "gelu_exact"
    layer_norm_epsilon: _Bound = 1e-12
    dropout: _Share = 0.1
    attention_dropout: _Share = 0.1

    @model_validator(mode="after")
    def _check_heads(self) -> "MPNetArguments":
        return _with_whole_heads(self)


class ElmoArguments(Schema):
    """The arguments of an `ElmoEncoder` without adapters."""

    filters: list[Annotated[list[_Size], Field(min_length=2, max_length=2)]] = Field(
        min_length=1, max_length=1000
    )
    character_width: _Size
    num_highway: int = Field(ge=0, le=1000)
    projection_width: _Size
    lstm_width: _Size
    num_layers: _Count = 2
    skip_connections: bool = True
    cell_clip: _Bound | None = 3.0
    projection_clip: _Bound | None = 3.0
    activation: Literal["relu", "tanh"] = "relu"
    stateful: bool = False
    sentence_boundaries: bool = True


class LstmArguments(Schema):
    """The arguments of an `AwdLstmEncoder`."""

    vocabulary_size: _Size
    width: _Size
    lstm_width: _Size
    num_layers: _Count
    word_dropout: _Share = 0.02
    dropout: _Share = 0.25
    hidden_dropout: _Share = 0.15
    weight_dropout: _Share = 0.2
    output_dropout: _Share = 0.1


class Manifest(Schema):
    """Content of a `manifest.json`: its kind and files."""

    format: int
    kind: str
    files: dict[Annotated[str, AfterValidator(_inside)], Description]


class ModuleManifest(Manifest):
    """The manifest of a module: the contract of its encoder."""

    config: (
        BertArguments
        | CausalArguments
        | ModernBertArguments
        | MPNetArguments
        | ElmoArguments
        | LstmArguments
    )
    lower_case: bool | None
    groups: list[str]
    weights: dict[str, list[Annotated[int, Field(ge=0)]]]

    def arguments(self) -> dict[str, Any]:
        """The encoder's arguments, defaults included."""
        return self.config.model_dump()


class _BertManifest(ModuleManifest):
    kind: Literal["bert"]
    config: BertArguments
    lower_case: bool


class _ElmoManifest(ModuleManifest):
    kind: Literal["elmo"]
    config: ElmoArguments


class _CausalManifest(ModuleManifest):
    kind: Literal["causal"]
    config: CausalArguments


class _ModernBertManifest(ModuleManifest):
    kind: Literal["modern_bert"]
    config: ModernBertArguments


class _MPNetManifest(ModuleManifest):
    kind: Literal["mpnet"]
    config: MPNetArguments
    lower_case: bool


class _LstmManifest(ModuleManifest):
    kind: Literal["lstm"]
    config: LstmArguments
    lower_case: bool


class ExportManifest(Manifest):
    """The manifest of an export for serving."""

    kind: Literal["export"]


class _AnyManifest(Schema):
    """The keys that select the schema of the rest."""

    model_config = ConfigDict(extra="ignore")
    format: int
    kind: str


_SCHEMAS = {
    "bert": _BertManifest,
    "elmo": _ElmoManifest,
    "causal": _CausalManifest,
    "lstm": _LstmManifest,
    "modern_bert": _ModernBertManifest,
    "mpnet": _MPNetManifest,
    "export": ExportManifest,
}


def write_manifest(folder: str | Path, contract: dict) -> None:
    """Hashes the module's files and writes the manifest and its seal."""
    folder = Path(folder)
    files = {path.relative_to(folder).as_posix(): describe(path) for path in _covered_files(folder)}
    text = json.dumps({"format": FORMAT, **contract, "files": files}, indent=1, ensure_ascii=False)
    content = text.encode("utf-8")
    write_bytes(folder / MANIFEST, content)
    write_bytes(folder / SEAL, hashlib.sha256(content).hexdigest().encode() + b"\n")


def read_manifest(folder: str | Path) -> Manifest | None:
    """The manifest of a module or export, or None where there is none.

    Raises:
        ArtifactError: the manifest was changed, is damaged, of a newer format or an unknown kind.
    """
    path, seal = Path(folder) / MANIFEST, Path(folder) / SEAL
    if not path.is_file() and not seal.is_file():
        return None
    content = read_bytes(path)
    expected = read_bytes(seal, _LONGEST_SEAL).strip().decode("ascii", "replace")
    if hashlib.sha256(content).hexdigest() != expected:
        raise ArtifactError(f"{path}: its SHA-256 is not the one in {SEAL}; {_ADVICE}")
    about = parse_json(content, _AnyManifest, str(path))
    if about.format != FORMAT:
        raise ArtifactError(
            f"{path}: expected format {FORMAT}, got {about.format}; install the version of "
            "tf_adapt that wrote it"
        )
    if about.kind not in _SCHEMAS:
        raise ArtifactError(
            f"{path}: kind: expected one of {', '.join(_SCHEMAS)}, got {about.kind[:40]!r}; "
            f"{_ADVICE}"
        )
    return parse_json(content, _SCHEMAS[about.kind], str(path))


def module_hash(folder: str | Path) -> str:
    """One hash for the whole module: of its manifest where there is one, else of its files; of a
    folder of HuggingFace's format, of those that are read. A file of word vectors is hashed itself.

    The hash of a manifest covers the files only after `verify`.

    Raises:
        ArtifactError: a file cannot be read.
    """
    folder = Path(folder)
    try:
        if folder.is_file():
            return sha256(folder)
        if (folder / SEAL).is_file():
            return sha256(folder / MANIFEST)
        files = files_read(folder) if is_native(folder) else _files(folder)
        lines = [f"{path.relative_to(folder).as_posix()} {sha256(path)}" for path in files]
    except OSError as error:
        raise ArtifactError(f"{folder}: cannot be read ({error}); {_ADVICE}") from None
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def verify(folder: str | Path, manifest: Manifest) -> None:
    """Compares every file of the module with the manifest, before anything is loaded.

    Raises:
        ArtifactError: a file is missing, has another size or hash, or was added.
    """
    folder = Path(folder)
    for name, record in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise ArtifactError(f"{folder}: file {name} is missing; {_ADVICE}")
        changed = changed_part(path, record.model_dump())
        if changed == "bytes":
            raise ArtifactError(
                f"{folder}: file {name}: expected {record.bytes} bytes, "
                f"got {path.stat().st_size}; {_ADVICE}"
            )
        if changed == "sha256":
            raise ArtifactError(
                f"{folder}: file {name} does not have the SHA-256 of the manifest; {_ADVICE}"
            )
    present = {path.relative_to(folder).as_posix() for path in _covered_files(folder)}
    added = sorted(present - set(manifest.files))
    if added:
        raise ArtifactError(
            f"{folder}: files {added} are not in the manifest; remove them, or convert again"
        )


_ADVICE = "it is damaged or was changed: install, convert or export it again"
_LONGEST_SEAL = 1000


def _covered_files(folder: Path) -> list[Path]:
    files: list[Path] = []
    for name in COVERED:
        path = folder / name
        files += [path] if path.is_file() else _files(path)
    return files


def _files(folder: Path) -> list[Path]:
    """All files below a folder, including those in linked folders, which are loaded as well.

    Raises:
        ArtifactError: two links lead to one folder, as in a cycle.
    """
    files: list[Path] = []
    entered: set[Path] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        for inner in (Path(parent, name) for name in folders):
            if inner.is_symlink() and inner.resolve() in entered:
                raise ArtifactError(
                    f"{inner}: expected a folder with files of its own, got a second link to "
                    f"{inner.resolve()}; copy the files into the module"
                )
            entered |= {inner.resolve()} if inner.is_symlink() else set()
        files += [path for path in (Path(parent, name) for name in names) if path.is_file()]
    return sorted(files)
