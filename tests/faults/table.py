"""The fault cases and the tests that show each: `python -m tests.faults.table` prints them.

A test belongs to the cases that its name begins with: `test_i9_…`, `test_v1_v2_v3_…`.
"""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
CASES = [
    *(f"D{number}" for number in range(1, 15)),
    *(f"C{number}" for number in range(1, 5)),
    *(f"A{number}" for number in range(1, 9)),
    *(f"I{number}" for number in range(1, 11)),
    *(f"N{number}" for number in range(1, 5)),
    *(f"V{number}" for number in range(1, 8)),
    *(f"S{number}" for number in range(1, 6)),
    "P1",
    "P2",
    "P3",
    "P4",
]
_NUMBERS = re.compile(r"test((?:_[dcainvsp]\d+)+)_")


def table() -> dict[str, list[str]]:
    """The tests of each case: `file::name`, sorted; an unknown number has an entry of its own."""
    found: dict[str, list[str]] = {case: [] for case in CASES}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for case in cases_of(node.name):
                    name = f"{path.relative_to(TESTS.parent)}::{node.name}"
                    found.setdefault(case, []).append(name)
    return found


def cases_of(name: str) -> list[str]:
    """The numbers in the name of a test: `test_v1_v2_equal_cells` → V1, V2."""
    numbers = _NUMBERS.match(name)
    return [] if numbers is None else numbers[1].upper().split("_")[1:]


def main() -> None:
    for case, names in table().items():
        print(case, *(names or ["no test"]), sep="\n  ")


if __name__ == "__main__":
    main()
