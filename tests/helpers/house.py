"""The house in numbers: `python -m tests.helpers.house`.

A room is a folder or a file directly below `tf_adapt`, with its inner rooms, or `hub_modules`; an
arrow is at least one import from one room into another, within functions too. A room stands one
floor above the highest one that it imports.
"""

import ast
import functools
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOMES = ("tf_adapt", "hub_modules")
LONG_FILE, LONG_FUNCTION, CROWDED = 350, 40, 20
CONDUCTORS = ("training/train", "comparison/comparing", "training/finished/trained_run")


def imports(path: Path) -> set[str]:
    """The modules of ours that a file imports anywhere, in functions too, as dotted names."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.split(".")[0] in HOMES}


@functools.cache
def imported_at_once(path: Path) -> list[str]:
    """The modules that are imported with a file, as dotted names; what is in functions is not."""
    names: list[str] = []
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom):
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    return names


def packages_imported_with(start: str) -> dict[str, list[str]]:
    """The packages that are not ours or Python's and are imported with a module of ours; each with
    the modules on the way to it.

    Args:
        start: a dotted name.
    """
    ways, waiting = {start: [start]}, [start]
    packages: dict[str, list[str]] = {}
    while waiting:
        name = waiting.pop()
        home, file = name.split(".")[0], ROOT.joinpath(*name.split("."))
        if home not in HOMES:
            if home not in sys.stdlib_module_names:
                packages[home] = ways[name]
            continue
        paths = [path for path in (file / "__init__.py", file.with_suffix(".py")) if path.is_file()]
        parents = [name.rpartition(".")[0]] if paths and "." in name else []
        for other in [*parents, *(one for path in paths for one in imported_at_once(path))]:
            if other not in ways:
                ways[other] = [*ways[name], other]
                waiting.append(other)
    return packages


def import_statements(name: str) -> int:
    """How many a file has, in functions too; its name is as in `CONDUCTORS`."""
    tree = ast.parse((ROOT / "tf_adapt" / f"{name}.py").read_text("utf-8"))
    return sum(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(tree))


def files() -> list[Path]:
    """All files of the package."""
    return sorted(path for home in HOMES for path in (ROOT / home).rglob("*.py"))


def room_of(name: str) -> str:
    """The room of a module, by its dotted name."""
    home, *inner = name.split(".")
    return ".".join((home, *inner[:1])) if home == "tf_adapt" else home


def dotted(path: Path) -> str:
    """The name of a file's module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def arrows() -> dict[str, set[str]]:
    """Room → the other rooms that it imports from."""
    below: dict[str, set[str]] = {room_of(dotted(path)): set() for path in files()}
    for path in files():
        room = room_of(dotted(path))
        below[room] |= {room_of(name) for name in imports(path)} & below.keys() - {room}
    return below


def floors(below: dict[str, set[str]]) -> dict[str, int]:
    """Room → its floor, from 1.

    Raises:
        ValueError: a room is, by way of others, below itself.
    """
    known: dict[str, int] = {}

    def floor(room: str, above: tuple[str, ...]) -> int:
        if room in above:
            raise ValueError(f"a circle of rooms: {' → '.join((*above, room))}")
        if room not in known:
            known[room] = 1 + max((floor(one, (*above, room)) for one in below[room]), default=0)
        return known[room]

    for room in below:
        floor(room, ())
    return known


def main() -> None:
    """Prints the numbers."""
    below, paths = arrows(), files()
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in paths}
    functions = [
        node.end_lineno - node.lineno + 1
        for path in paths
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    folders = defaultdict(int)
    for path in paths:
        folders[path.parent] += 1
    print(f"rooms {len(below)}, floors {max(floors(below).values())}, ", end="")
    print(f"arrows {sum(map(len, below.values()))}")
    print(f"lines {sum(sizes.values())} in {len(paths)} files, ", end="")
    print(f"{sum(size > LONG_FILE for size in sizes.values())} of more than {LONG_FILE}")
    print(f"functions of more than {LONG_FUNCTION} lines: ", end="")
    print(sum(size > LONG_FUNCTION for size in functions))
    crowded = sorted(str(one.relative_to(ROOT)) for one, n in folders.items() if n > CROWDED)
    print(f"folders of more than {CROWDED} files: {', '.join(crowded)}")
    for name in CONDUCTORS:
        print(f"imports of {name}: {import_statements(name)}")


if __name__ == "__main__":
    main()
