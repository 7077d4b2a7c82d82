"""A family of encoders is one row: its name is compared with nothing outside of the tables."""

import ast
from pathlib import Path

import pytest

import hub_modules
import tf_adapt
from hub_modules.by_family.row import Row
from hub_modules.families import FAMILIES
from hub_modules.own_families import OWN_FAMILIES
from tf_adapt.models.language_objectives import OBJECTIVES

TABLE = Path(hub_modules.__file__).parent / "families.py"
FILES = [
    path
    for package in (hub_modules, tf_adapt)
    for path in sorted(Path(package.__file__).parent.rglob("*.py"))
    if path != TABLE
]


def is_family(node: ast.AST) -> bool:
    """Whether an expression is a family: `family`, `encoder.family`, `manifest.kind`."""
    text = ast.unparse(node)
    return text.split(".")[-1] in ("family", "like") or text.endswith("manifest.kind")


def names_a_family(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and part.value in FAMILIES for part in ast.walk(node))


def branches(source: str) -> list[int]:
    """The lines that compare a family with a family's name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        sides = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            sides = [node.subject, *(case.pattern for case in node.cases)]
        parts = [one for side in sides for one in ast.walk(side) if isinstance(one, ast.expr)]
        if any(map(is_family, parts)) and any(map(names_a_family, sides)):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize(
    "source",
    [
        'if encoder.family == "lstm": pass',
        'x = family not in ("bert", "elmo")',
        'if found.manifest.kind != "causal": pass',
        'if (encoder.family, execution) != ("bert", "native"): pass',
        'if FAMILIES[family].like == "elmo": pass',
        'match encoder.family:\n    case "words": pass',
    ],
)
def test_a_branch_is_found(source):
    assert branches(source)


def test_no_branch_on_a_family_stands_outside_the_table():
    assert len(FILES) > 200
    found = {str(path): lines for path in FILES if (lines := branches(path.read_text("utf-8")))}
    assert not found, "make it a fact of `Family`, or a row of the room's table"


def test_every_table_is_of_known_families():
    for table in (OWN_FAMILIES, OBJECTIVES):
        assert set(table) <= set(FAMILIES)
    for name, row in OWN_FAMILIES.items():
        assert isinstance(row, Row)
        own_files = {row.save.__module__, row.preprocessor.__module__}
        assert own_files == {f"hub_modules.by_family.{name}"}
