"""What each family of encoders can do, and how exactly: the table of docs/families.json."""

import json

from benchmarks.results.adding import ROOT
from benchmarks.results.blocks import Contents, as_table
from tf_adapt.printing import words

FILE = "docs/families.json"


def families_block(contents: Contents, name: str) -> str:
    """A row a family, a column a measure; what a family does not have is `–`."""
    rows = json.loads((ROOT / FILE).read_text("utf-8"))
    columns = list(next(iter(rows.values())))
    lines = [[family, *(_cell(row[column]) for column in columns)] for family, row in rows.items()]
    return as_table(["family", *columns], lines)


def _cell(value: float | str) -> str:
    if isinstance(value, str):  # why there is none
        return words.NOTHING
    return f"{value:.0e}".replace("e-0", "e-") if value % 1 else f"{value:.0f}"
