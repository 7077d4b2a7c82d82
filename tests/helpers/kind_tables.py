"""The tables of kinds of task: every `KINDS` of a file `…kinds.py`."""

import importlib
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
TABLES = [
    path
    for path in sorted((ROOT / "tf_adapt").rglob("*kinds.py"))
    if re.search(r"^KINDS\b.* = {$", path.read_text("utf-8"), re.M)
]


def name_of(path: Path) -> str:
    """The path from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


def table_of(path: Path) -> ModuleType:
    """The module that has the table."""
    return importlib.import_module(name_of(path).removesuffix(".py").replace("/", "."))
