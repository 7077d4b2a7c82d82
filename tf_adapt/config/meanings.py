"""The meaning of each key of a config: the docstring below it, in the class of its section.

Read from the source, for the reference page and the JSON schema alone.
"""

import ast
import inspect
from types import ModuleType


def meanings(*modules: ModuleType) -> dict[tuple[str, str], str]:
    """(section, key) → meaning, of the sections that the modules define; a field that several keys
    share has its docstring where it is defined."""
    shared: dict[str, str] = {}
    by_key = {}
    trees = [ast.parse(inspect.getsource(module)) for module in modules]
    for tree in trees:
        shared |= {name: text for name, _, text in _documented(tree.body) if text}
    for section in (node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)):
        for name, value, text in _documented(section.body):
            text = text or shared.get(value)
            if text:
                by_key[section.name, name] = text
    return by_key


def _documented(body: list[ast.stmt]) -> list[tuple[str, str, str | None]]:
    """Name, value (a name, else nothing) and docstring of each assignment."""
    rows = []
    for node, below in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        text = below.value.value if _is_text(below) else None
        rows.append((target.id, getattr(node.value, "id", ""), text and " ".join(text.split())))
    return rows


def _is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
