"""Interaction between the texts of a pair: tables 3 and 4 of the paper, from finished comparisons.

Table 3: heads with and without attention between both texts (`bi_attention`, `max_pooling`). Table
4: BERT with both texts encoded jointly or separately (`pairs: separate`).
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from hub_modules.storage.json_files import Schema, read_json
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.printing import words

# Question → key in which two cells differ, its two values, and their names in figures.
QUESTIONS = {
    "attention": ("head", ("bi_attention", "max_pooling"), ("with attention", "without")),
    "encoding": ("pairs", ("joint", "separate"), ("in one row", "apart")),
}
_SAME = ("encoder", "pretrained", "adaptation", "settings", "head", "pairs")


class _Part(Schema):
    """A part of `report.json`; other keys are ignored."""

    model_config = ConfigDict(extra="ignore")


class _Cell(_Part):
    id: str
    encoder: str
    pretrained: bool
    adaptation: str
    settings: dict[str, Any]
    head: str | None
    pairs: str | None
    mean: float | None
    deviation: float | None


class _Pair(_Part):
    a: str
    b: str
    difference: float
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None
    p_holm: float | None
    decided: bool
    alike: bool


class _Report(_Part):
    """Content of `report.json`."""

    dataset: str
    metric: str
    cells: list[_Cell]
    pairs: list[_Pair]


def read_comparisons(folders: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of tables 3 and 4 from the comparisons in these folders.

    Returns:
        Rows with `question` (a key of `QUESTIONS`), `dataset`, `metric`, `encoder`, `adaptation`,
        `first` and `second` (mean and deviation of the two cells), `difference` (first − second),
        `interval`, `p_holm`, `decided` and `alike`.

    Raises:
        ArtifactError: a folder holds no report.
        ConfigError: a comparison has no two cells that differ only in one of `QUESTIONS`.
    """
    rows = []
    for folder in folders:
        added = _rows(_report(Path(folder)))
        if not added:
            raise ConfigError(
                f"{folder}: expected a comparison with compare.heads: [bi_attention, max_pooling], "
                "or with a BERT encoder twice, once with pairs: separate, and with all seeds "
                "finished; see configs/small/table3.yaml and table4.yaml"
            )
        rows += added
    return rows


def pairs_figure(rows: list[dict[str, Any]]):
    """One panel for each question: both cells of each dataset, with the deviation over seeds."""
    from tf_adapt.analysis.figures import STYLES, new_figure

    questions = [name for name in QUESTIONS if any(row["question"] == name for row in rows)]
    title = "Whether the words of two texts should see each other (scores × 100)"
    figure = new_figure(len(questions), title)
    for number, question in enumerate(questions, start=1):
        axes = figure.add_subplot(len(questions), 1, number)
        shown = [row for row in rows if row["question"] == question]
        for key, label, (colour, marker), shift in zip(
            ("first", "second"), QUESTIONS[question][2], STYLES, (-0.08, 0.08), strict=False
        ):
            axes.errorbar(
                [place + shift for place in range(len(shown))],
                [100 * row[key]["mean"] for row in shown],
                yerr=[100 * (row[key]["deviation"] or 0.0) for row in shown],
                fmt=marker,
                color=colour,
                capsize=3,
                markersize=4,
                label=label,
            )
        names = [f"{row['dataset']}\n{row['encoder']}\n({row['metric']})" for row in shown]
        axes.set_xticks(range(len(shown)), names, fontsize=8)
        axes.set_xlim(-0.5, len(shown) - 0.5)
        axes.set_ylabel("score × 100")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def table_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows flattened for a table."""
    flat = []
    for row in rows:
        low, high = row["interval"] or (None, None)
        flat.append(
            {key: row[key] for key in ("question", "dataset", "metric", "encoder", "adaptation")}
            | {f"{key}_{name}": row[key][name] for key in ("first", "second") for name in row[key]}
            | {"difference": row["difference"], "low": low, "high": high, "p_holm": row["p_holm"]}
        )
    return flat


def lines(rows: list[dict[str, Any]]) -> list[str]:
    """The rows as lines for a terminal."""
    printed = []
    for row in rows:
        names = QUESTIONS[row["question"]][2]
        scores = ", ".join(
            f"{name} {words.mean_and_deviation(row[key]['mean'], row[key]['deviation'])}"
            for name, key in zip(names, ("first", "second"), strict=True)
        )
        decided = "alike" if row["alike"] else "decided" if row["decided"] else "not decided"
        printed.append(
            f"{row['dataset']} {row['metric']}, {row['encoder']} {row['adaptation']}: {scores}; "
            f"difference {words.signed_points(row['difference'])}, {decided}"
        )
    return printed


def _rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    tests = {(pair["a"], pair["b"]): pair for pair in report["pairs"]}
    rows = []
    for cells in combinations(report["cells"], 2):
        for question, (key, values, _) in QUESTIONS.items():
            same = [name for name in _SAME if name != key]
            if any(cells[0][name] != cells[1][name] for name in same):
                continue
            by_value = {cell[key]: cell for cell in cells}
            test = tests.get((cells[0]["id"], cells[1]["id"]))
            if set(by_value) != set(values) or test is None:
                continue
            first, second = (by_value[value] for value in values)
            rows.append(_row(question, report, first, second, test))
    return rows


def _row(question: str, report: dict, first: dict, second: dict, test: dict) -> dict[str, Any]:
    sign = 1 if test["a"] == first["id"] else -1
    interval = test["interval"] and sorted(sign * bound for bound in test["interval"])
    return {
        "question": question,
        "dataset": report["dataset"],
        "metric": report["metric"],
        "encoder": first["encoder"],
        "adaptation": first["adaptation"],
        "first": {"mean": first["mean"], "deviation": first["deviation"]},
        "second": {"mean": second["mean"], "deviation": second["deviation"]},
        "difference": sign * test["difference"],
        "interval": interval,
        "p_holm": test["p_holm"],
        "decided": test["decided"],
        "alike": test["alike"],
    }


def _report(folder: Path) -> dict[str, Any]:
    try:
        return read_json(folder / "report.json", _Report).model_dump()
    except ArtifactError as error:
        raise ArtifactError(f"expected a folder of `tf-adapt compare`: {error}") from None
