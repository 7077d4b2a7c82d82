"""The record of a folder: size and SHA-256 of every file that is read back, to detect damage.

`record.json` is written before the file that it describes, with the hashes of the old and of the
new content: a process that is killed in between leaves one of the two.
"""

import hashlib
import json
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from hub_modules.errors import ArtifactError
from hub_modules.storage.files import changed_part, write_bytes
from hub_modules.storage.json_files import Schema, read_bytes, read_json

FORMAT = 1
RECORD = "record.json"


class Description(Schema):
    """Size and hash of a file: see `hub_modules.storage.files.describe`."""

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


AnyRecord = TypeVar("AnyRecord", bound=Schema)


class Record(Schema):
    """Content of `record.json`: for each file its descriptions, newest first, and at most two."""

    format: int = FORMAT
    files: dict[str, list[Description]] = {}


def write(folder: Path, name: str, text: str) -> None:
    """Writes a text file of a folder and adds it to the record.

    Raises:
        ArtifactError: not writable, or the record is damaged.
    """
    content = text.encode("utf-8")
    files = _read(folder).files if (folder / RECORD).exists() else {}
    new = Description(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    record = Record(files=files | {name: [new, *files.get(name, [])[:1]]})
    write_bytes(folder / RECORD, (json.dumps(record.model_dump(), indent=1) + "\n").encode())
    write_bytes(folder / name, content)


def read(folder: Path, name: str) -> bytes:
    """The content of a recorded file.

    Raises:
        ArtifactError: it is missing, not recorded, or was changed.
    """
    check(folder, name)
    return read_bytes(folder / name)


def names(folder: Path) -> list[str]:
    """The names of the recorded files.

    Raises:
        ArtifactError: the record is missing or damaged.
    """
    return list(_read(folder).files)


def check(folder: Path, name: str) -> None:
    """Checks that a file was not changed.

    Raises:
        ArtifactError: it is missing, not recorded, or was changed.
    """
    path = folder / name
    recorded = _read(folder).files.get(name, [])
    if not recorded:
        raise ArtifactError(f"{path}: it is not in {folder / RECORD}; {_ADVICE}")
    try:
        changed = [changed_part(path, description.model_dump()) for description in recorded]
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror}); {_ADVICE}") from None
    if all(changed):
        what = "SHA-256" if "sha256" in changed else "size"
        raise ArtifactError(f"{path}: its {what} is not the one in {RECORD}; {_ADVICE}")


_ADVICE = (
    "it is damaged, was changed, or is of an earlier version: restore the folder, or make it again"
)


def _read(folder: Path) -> Record:
    return read_record(folder, Record)


def read_record(folder: Path, schema: type[AnyRecord]) -> AnyRecord:
    """The `record.json` of a folder.

    Args:
        schema: of the record, with a field `format`.

    Raises:
        ArtifactError: it is missing, damaged, or of another format.
    """
    record = read_json(folder / RECORD, schema)
    if record.format != FORMAT:
        raise ArtifactError(
            f"{folder}: expected format {FORMAT}, got {record.format}; use the version of tf_adapt "
            "that wrote it"
        )
    return record
