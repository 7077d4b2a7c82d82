"""Runs as an executor sees them, without training."""

from dataclasses import dataclass
from pathlib import Path

VERSION = ("--version",)


@dataclass(frozen=True)
class Command:
    """A run as an executor sees it; its command may be any of `tf-adapt`."""

    folder: Path
    command: tuple[str, ...] = VERSION
    together: int = 0

    @property
    def cell(self) -> "Command":
        return self

    @property
    def configs(self) -> tuple:
        return ()

    @property
    def out(self) -> Path:
        return self.folder.parent

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    def arguments(self, cache) -> list[str]:
        return list(self.command)
