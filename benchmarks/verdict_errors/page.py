"""What was simulated as Markdown: a case's own table, and one of all cases for a page."""

from types import ModuleType
from typing import Any

from benchmarks.verdict_errors.columns import Share

BEGIN, END = "<!-- simulated: begin -->", "<!-- simulated: end -->"


def section(name: str, case: ModuleType, result: dict[str, Any]) -> str:
    """A case: what it is, its table, how it was made."""
    rows = result["rows"]
    title = case.__doc__.strip().rstrip(".")
    made = (
        f"`python -m benchmarks.verdict_errors {name} --comparisons {rows[0]['comparisons']}`, "
        f"tf_adapt {result['version']}, NumPy {result['numpy']}, SciPy {result['scipy']}."
    )
    return "\n\n".join([f"## {name}: {title}", case.ABOUT, _table(case, rows), made])


def summary(results: dict[str, dict[str, Any]], cases: dict[str, ModuleType]) -> str:
    """A line a case: of each share that has a limit the highest of all rows.

    Args:
        results: as `benchmarks.verdict_errors` keeps them.
    """
    lines = [
        "| case | what is simulated | rows | highest share, per cent (limit) |",
        "| --- " * 4 + "|",
    ]
    for name, case in cases.items():
        if name not in results:
            continue
        rows = results[name]["rows"]
        highest = [
            f"{column} {_highest(rows, column, share)} ({share.most:g})"
            for column, share in case.COLUMNS.items()
            if isinstance(share, Share)
            and share.most is not None
            and any(column in row["columns"] for row in rows)
        ]
        title = case.__doc__.strip().rstrip(".")
        lines.append(f"| `{name}` | {title} | {len(rows)} | {'; '.join(highest)} |")
    return "\n".join(lines)


def with_summary(text: str, table: str) -> str:
    """A page with the table in its place, between two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def _highest(rows: list[dict[str, Any]], column: str, share: Share) -> str:
    found = [row["columns"][column] for row in rows if column in row["columns"]]
    return share.text(max(found, key=lambda one: one["value"]))


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
