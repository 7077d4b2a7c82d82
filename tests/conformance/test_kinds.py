"""A kind of task is a row of each table, and no branch elsewhere."""

import ast
import dataclasses

import pytest
from kind_tables import ROOT, TABLES, name_of, table_of

from tf_adapt.tasks.kinds import KINDS, labelled_kinds

FILES = sorted((ROOT / "tf_adapt").rglob("*.py"))
# The paper's numbers are by kind.
SEARCHED = [path for path in FILES if path not in (*TABLES, ROOT / "tf_adapt/paper.py")]
FLAGS = {
    f"is_{one}"
    for one in (
        "language_model",
        "multilabel",
        "pair",
        "regression",
        "span_extraction",
        "tagging",
    )
}


def is_kind(node: ast.AST) -> bool:
    """Whether it is a variable, an attribute or a call that gives a kind, by its name."""
    if isinstance(node, ast.Call):
        return is_kind(node.func)
    name = getattr(node, "attr", getattr(node, "id", ""))
    return isinstance(node, (ast.Name, ast.Attribute)) and name in ("kind", "kind_of")


def mentions_kind(node: ast.AST) -> bool:
    """Whether a kind is in it, other than as the key of a table."""
    if isinstance(node, ast.Subscript):
        return mentions_kind(node.value)
    return is_kind(node) or any(map(mentions_kind, ast.iter_child_nodes(node)))


def names_a_kind(node: ast.AST, constants: set[str]) -> bool:
    """Whether a kind is written out in it, or a name that stands for one."""
    return any(
        (isinstance(one, ast.Constant) and one.value in KINDS)
        or (isinstance(one, ast.Name) and one.id in constants)
        or (isinstance(one, ast.Attribute) and one.attr in constants)
        for one in ast.walk(node)
    )


def constants_of(tree: ast.Module) -> set[str]:
    """The names of a file's constants that are kinds, or several."""
    named = [node for node in tree.body if isinstance(node, ast.Assign)]
    return {
        target.id
        for node in named
        for target in node.targets
        if isinstance(target, ast.Name) and is_written_out(node.value)
    }


def is_written_out(value: ast.AST) -> bool:
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List, ast.Set)) else [value]
    return any(isinstance(one, ast.Constant) and one.value in KINDS for one in parts)


def branches(tree: ast.Module, constants: set[str] = frozenset()) -> list[ast.AST]:
    """Where a file asks which kind of task it has.

    Args:
        constants: names of other files that stand for kinds.
    """
    names = constants | constants_of(tree)
    return [node for node in ast.walk(tree) if is_branch(node, names)]


def is_branch(node: ast.AST, constants: set[str]) -> bool:
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            return any(map(is_kind, sides)) and any(names_a_kind(one, constants) for one in sides)
        case ast.Match():
            return is_kind(node.subject)
        case ast.Call(func=ast.Name(id="getattr")):
            return any(map(mentions_kind, node.args))
        case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "get", value=asked)):
            by_kind = any(map(is_kind, node.args)) and isinstance(asked, ast.Dict)
            return is_kind(asked) or by_kind
        case ast.Dict(keys=keys):  # a table of its own
            return sum(key is not None and names_a_kind(key, constants) for key in keys) > 1
        case ast.Attribute(attr=name) | ast.FunctionDef(name=name):
            return name in FLAGS
    return False


@pytest.mark.parametrize("path", TABLES, ids=name_of)
def test_every_table_has_a_row_for_every_kind(path):
    rows = table_of(path).KINDS
    assert set(labelled_kinds()) <= set(rows) <= set(KINDS)
    types = {type(row) for row in rows.values()}
    assert len(types) == 1, "one type of row in a table"
    for kind, row in rows.items():
        assert dataclasses.is_dataclass(row)
        for field in dataclasses.fields(row):
            value = getattr(row, field.name)
            assert not isinstance(value, bool) and field.type != "bool", (kind, field.name)


def test_there_are_tables():
    assert {name_of(path).split("/")[1] for path in TABLES} >= {"tasks", "heads", "models", "runs"}


def test_no_file_asks_for_the_kind():
    trees = {path: ast.parse(path.read_text("utf-8")) for path in SEARCHED}
    constants = set().union(*map(constants_of, trees.values()))
    found = [
        f"{name_of(path)}:{node.lineno}: {ast.unparse(node)[:80]}"
        for path, tree in trees.items()
        for node in branches(tree, constants)
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "task.kind == 'tagging'",
        "kind not in ('regression', 'tagging')",
        "'tagging' == kind",
        "PAIRS = ('pair_classification', 'pair_regression')\ntask.kind in PAIRS",
        "MULTILABEL = 'multilabel_classification'\nkind_of(config) != kinds.MULTILABEL",
        "task.is_tagging",
        "form.is_pair",
        "def is_pair(self): ...",
        "match task.kind:\n    case 'tagging': pass",
        "getattr(module, f'read_{task.kind}')",
        "kind.startswith('pair_')",
        "{'tagging': 'conll'}.get(kind, 'tsv')",
        "{'tagging': 'conll', 'span_extraction': 'squad'}",
    ],
)
def test_a_branch_is_found(code):
    assert len(branches(ast.parse(code))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "getattr(record, KINDS[task.kind].target)",
        "KINDS[task.kind].read(data)",
        "kind in KINDS",
        "manifest.kind == 'export'",
        "is_pair = True",
    ],
)
def test_other_code_is_no_branch(code):
    assert branches(ast.parse(code)) == []
