"""The modules that ship with the project: the offline default."""

from pathlib import Path

PRETRAINED = Path(__file__).parent / "pretrained"


def shipped_names() -> list[str]:
    """Names that can be used as a handle without a download."""
    return sorted(path.parent.name for path in PRETRAINED.glob("*/manifest.json"))
