"""The files of an analysis: NAME.json with every number, NAME.csv, NAME.svg and NAME.png."""

import csv
import importlib.metadata
import io
import json
import os
import platform
from pathlib import Path

from hub_modules.storage.files import write_bytes, write_text
from tf_adapt.errors import ArtifactError
from tf_adapt.report.figures.drawing import draw
from tf_adapt.serving.prediction.output_files import check_output
from tf_adapt.version import __version__

SUFFIXES = ("json", "csv", "svg", "png")


def check_folder(folder: str, name: str, *inputs: str) -> Path:
    """Checks, before any computation, that an analysis can write its files; returns the folder.

    Args:
        name: of the analysis and its files.
        inputs: the files that it reads.

    Raises:
        ArtifactError: the folder is a file, or cannot be written or created.
        ConfigError: an output file is also an input.
    """
    path = Path(folder)
    nearest = next(
        parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists()
    )
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise ArtifactError(
            f"{folder}: expected a folder that can be written, got "
            f"{'a file' if nearest.is_file() else 'one that cannot'}; choose another --out"
        )
    files = [source for source in inputs if os.path.isfile(source)]
    for suffix in SUFFIXES:
        check_output(path / f"{name}.{suffix}", *files)
    return path


def write_analysis(folder: Path, name: str, result: dict, rows: list[dict], plot) -> dict:
    """Writes all files of an analysis; returns the content of the JSON file.

    Args:
        rows: of the table, all with the same keys.
        plot: a function without arguments that returns the figure.

    Raises:
        ArtifactError: a file cannot be written.
    """
    result = {"analysis": name, **result, "versions": _versions()}
    text = json.dumps(result, ensure_ascii=False, indent=1, allow_nan=False)
    write_text(folder / f"{name}.json", text + "\n")
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(folder / f"{name}.csv", table.getvalue())
    drawing = draw(plot)
    write_bytes(folder / f"{name}.svg", drawing.svg)
    write_bytes(folder / f"{name}.png", drawing.png)
    return result


def layer_rows(panels: list[dict]) -> list[dict]:
    """The table of an analysis of layers: one row for each layer of each series."""
    return [
        {
            "dataset": panel["dataset"],
            "encoder": series["label"],
            "module": series["module"],
            "run": series["run"] or "",
            **{
                key: sum(value) / len(value) if isinstance(value, list) else value
                for key, value in layer.items()
            },
        }
        for panel in panels
        for series in panel["series"]
        for layer in series["layers"]
    ]


def domain_rows(result: dict) -> list[dict]:
    """The table of an analysis of domains: one row for each corpus."""
    rows = []
    for number, name in enumerate(result["corpora"]):
        row = {
            "corpus": name,
            "terms": result["terms"][number],
            "vocabulary": result["vocabulary"][number],
            **dict(zip(result["corpora"], result["matrix"][number], strict=True)),
        }
        for reference in result.get("references", []):
            of_genre = reference["genres"][name]
            row[f"divergence from {reference['name']}"] = of_genre["divergence"]
            row[f"own sample of {reference['name']}"] = of_genre["own_sample"]
        for series, accuracies in result.get("accuracies", {}).items():
            row[f"accuracy {series}"] = accuracies.get(name, "")
        rows.append(row)
    return rows


def _versions() -> dict[str, str]:
    packages = ("tensorflow", "keras", "numpy", "scipy", "scikit-learn", "matplotlib")
    versions = {"tf_adapt": __version__, "python": platform.python_version()}
    return versions | {name: importlib.metadata.version(name) for name in packages}
