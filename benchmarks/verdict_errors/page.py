"""The page of all cases."""

from types import ModuleType
from typing import Any

INTRODUCTION = """\
# How often a verdict misleads

Written by `python -m benchmarks.verdict_errors`; do not edit. The numbers are in `{json}` too.

Comparisons whose truth is known are simulated: right and wrong answers, labels, predicted numbers
and entities of runs whose expected scores are set, with test items that are hard or easy for all
cells, for one cell, and for one run, and seeds that shift a run's expected score. What is drawn is
given to the functions that judge a real comparison (`tf_adapt.statistics`).

How to read it:

- A row is a kind of comparison; its first columns say which.
- *before*: each look at a comparison was tested at 5 % without memory of earlier ones, all seeds
  counted (those that failed, and the one that chose the learning rate), each example was an item of
  the test. *after*: what a comparison does now.
- Unless said otherwise a number is the share of simulated comparisons, in per cent, ± one standard
  error, in which any pair was decided, though no cell is ahead in truth. The goal is at most 6 %;
  what is above it is **bold**.
- Typical scores: 80 (accuracy, Pearson, span F1), 50 (Matthews). Two runs of a cell disagree on one
  item in nine."""


def page(results: dict[str, dict[str, Any]], cases: dict[str, ModuleType], json_name: str) -> str:
    """Markdown of the results by case.

    Args:
        results: as `benchmarks.verdict_errors` keeps them.
    """
    blocks = [INTRODUCTION.format(json=json_name)]
    for name, case in cases.items():
        if name in results:
            blocks.append(section(name, case, results[name]))
    return "\n\n".join(blocks) + "\n"


def section(name: str, case: ModuleType, result: dict[str, Any]) -> str:
    """A case: what it is, its table, how it was made."""
    rows = result["rows"]
    title = case.__doc__.strip().rstrip(".")
    made = (
        f"`python -m benchmarks.verdict_errors {name} --comparisons {rows[0]['comparisons']}`, "
        f"tf_adapt {result['version']}, NumPy {result['numpy']}, SciPy {result['scipy']}."
    )
    return "\n\n".join([f"## {name}: {title}", case.ABOUT, _table(case, rows), made])


def _table(case: ModuleType, rows: list[dict[str, Any]]) -> str:
    settings = list(rows[0]["settings"])
    columns = [c for c in case.COLUMNS if any(c in row["columns"] for row in rows)]
    header = [*(key.replace("_", " ") for key in settings), *columns]
    lines = [header, ["---"] * len(header)]
    for row in rows:
        cells = [_setting(row["settings"][key]) for key in settings]
        found = row["columns"]
        cells += [case.COLUMNS[c].text(found[c]) if c in found else "" for c in columns]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _setting(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
