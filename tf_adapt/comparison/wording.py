"""How a verdict names cells."""

from collections import Counter
from collections.abc import Sequence


def describe_all(cells: Sequence[dict]) -> dict[str, str]:
    """A name for each cell that says what it is; by its id where two would be called the same."""
    names = {cell["id"]: _described(cell) for cell in cells}
    counts = Counter(names.values())
    return {key: name if counts[name] == 1 else key for key, name in names.items()}


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _described(cell: dict) -> str:
    untrained = "" if cell["pretrained"] else " untrained"
    settings = "".join(f" {key} {value}" for key, value in cell["settings"].items())
    return f"{cell['encoder']}{untrained} with {cell['adaptation']}{settings} ({cell['head']} head)"
