"""One comparison: a config and a folder in; runs, tests, verdict, report and the winner out."""

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tf_adapt import run_folder
from tf_adapt.checkpoints import remove_leftovers
from tf_adapt.comparison.display import Display
from tf_adapt.comparison.looks import looks_at, read_looks
from tf_adapt.comparison.machine import jobs_at_once
from tf_adapt.comparison.results import SCORED_ON, results
from tf_adapt.comparison.running import check_ended, run_all
from tf_adapt.comparison.runs import CellRun, Outcomes, config_path
from tf_adapt.comparison.settings import Cell, Comparison
from tf_adapt.comparison.verdict import verdict
from tf_adapt.config import config_from, dump_config, without_trial
from tf_adapt.data.splits import fingerprint, load_splits
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.files import write_text
from tf_adapt.interruption import caught_signals
from tf_adapt.report.write import write_report
from tf_adapt.strict_yaml import float_text, read_yaml

RECORD = "comparison.json"
EXPORTS = ("winner", "candidate")
_EXPORT_NAMES = "*-rate_*-seed_*"


def compare(
    comparison: Comparison,
    out: str | Path,
    jobs: int | None = None,
    cache: str | Path | None = None,
    command: str = "",
    export_anyway: bool = False,
) -> dict[str, Any]:
    """Runs what is not finished yet, tests, judges and reports; returns the report's content.

    Each cell tries its learning rates with a seed that chooses and nothing else, and keeps the one
    that is best on dev; with it all seeds are trained and scored on test, in whose place dev may
    stand: see `scored_split`.

    Args:
        out: the folder of the comparison; what is finished in it is not done again. More cells,
            rates and seeds may be asked of it.
        jobs: processes at a time, by default as many as cores, cells and memory allow; they change
            no score.
        cache: folder of the features of frozen encoders; by default that of the config, else one
            inside `out`, which is removed at the end.
        command: how the comparison was asked for, for the report.
        export_anyway: exports also where no cell is shown to be above the baseline.

    Raises:
        ConfigError: the folder belongs to another comparison.
        DataError: the data are wrong, or have changed since the folder was begun.
        ArtifactError, TrainingError: what stopped a run.
        KeyboardInterrupt, SystemExit: after a signal, once the runs have saved their state.
    """
    out = Path(out).absolute()
    splits = load_splits(comparison.cells[0].config.data)
    data = {name: fingerprint(examples) for name, examples in splits.examples.items()}
    kept = cache or comparison.cells[0].config.features.cache
    with run_folder.locked(out):
        _begin(comparison, data, out)
        outcomes, threads = Outcomes(comparison, out), comparison.threads
        at_once = jobs or jobs_at_once(len({run.cell.name for run in outcomes.waiting()}), threads)
        with caught_signals(), Display(SCORED_ON) as display:
            features = Path(kept or out / "features").absolute()
            run_all(outcomes, at_once, threads, features, display)
            display.say_once("tests, verdict, report, export")
            record = _read_record(out / RECORD)
            looks = looks_at(outcomes, read_looks(record["looks"]))
            content = results(outcomes, splits, looks) | {
                "data": data,
                "machine": f"{_machine()}, {threads} thread{'s' * (threads > 1)} a run",
                "command": command,
            }
            # Before anybody reads the report: a look that is forgotten could be taken again.
            _write_record(out, record | {"looks": looks.to_record(content["pairs"])})
            content["verdict"] = verdict(content) | {"exported": None}
            try:
                content["verdict"]["exported"] = _export_best(outcomes, content, export_anyway)
            finally:  # an export that fails takes no report away
                write_report(content, out)
        if kept is None:
            shutil.rmtree(out / "features", ignore_errors=True)
    return content


def _begin(comparison: Comparison, data: dict[str, str], out: Path) -> None:
    """Writes what the folder is of, or checks that it is the same."""
    looks: list = []
    for name in ("cells", "figures", *EXPORTS):
        remove_leftovers(out / name)
    for cell in comparison.cells:
        _check_cell(config_path(out, cell), cell, out)
    if (out / RECORD).is_file():
        before = _read_record(out / RECORD)
        changed = sorted(name for name in data if before["data"].get(name) != data[name])
        if changed:
            raise DataError(
                f"{out}: the data have changed since this comparison was begun "
                f"({', '.join(changed)}); bring them back, or choose another --out"
            )
        _check_threads(before["threads"], comparison.threads, out)
        looks = before["looks"]
    elif any(entry.name != run_folder.LOCK for entry in out.iterdir()):
        raise ArtifactError(
            f"{out}: expected the folder of a comparison or an empty one, got files without "
            f"{RECORD}; choose another --out"
        )
    # First: a folder with anything else in it must say what it is of.
    _write_record(out, {"data": data, "threads": comparison.threads, "looks": looks})
    for cell in comparison.cells:
        write_text(config_path(out, cell), dump_config(cell.config))


def _check_threads(before: int, now: int, out: Path) -> None:
    if before != now:
        raise ConfigError(
            f"{out}: compare.threads: expected {before} as when this comparison was begun, got "
            f"{now}; scores depend on it in their last digits: set compare.threads: {before} (or "
            f"--set compare.threads={before}), or choose another --out"
        )


def _check_cell(path: Path, cell: Cell, out: Path) -> None:
    if not path.is_file():
        return
    content, _ = read_yaml(path)
    before = without_trial(config_from(content, str(path)))
    changed = run_folder.changed_keys(before, without_trial(cell.config))
    if changed:
        raise ConfigError(
            f"{out}: this comparison was begun with another config of {cell.name}: "
            f"{', '.join(changed.values())}; give it another --out, or the same config (only more "
            "cells, learning rates and seeds may be asked of it)"
        )


def _export_best(outcomes: Outcomes, content: dict[str, Any], anyway: bool) -> str | None:
    """The export of the recommended cell's run with the best dev score, in `winner/` where the
    verdict is decided, else in `candidate/`; None where nothing is worth it.

    What an earlier look has exported and this one does not is removed.
    """
    found = content["verdict"]
    place = EXPORTS[0] if found["decided"] else EXPORTS[1]
    exported = None
    if found["recommended"] is not None and (found["above_baseline"] or anyway):
        cells = outcomes.comparison.cells
        cell = next(cell for cell in cells if cell.name == found["recommended"])
        runs = [run for run in outcomes.final_runs(cell) if outcomes.metrics(run) is not None]
        best = outcomes.best_on_dev(runs)
        name = f"{cell.name}-rate_{float_text(best.rate)}-seed_{best.seed}"
        exported = f"{place}/{name}/1"
        if not (outcomes.out / exported).is_dir():
            _export(best, outcomes.out / place / name)
    for old in [path for other in EXPORTS for path in (outcomes.out / other).glob(_EXPORT_NAMES)]:
        if exported is None or old != (outcomes.out / exported).parent:
            shutil.rmtree(old, ignore_errors=True)
    for other in EXPORTS:
        with contextlib.suppress(OSError):  # only where nothing is left in it
            (outcomes.out / other).rmdir()
    return exported


def _export(run: CellRun, folder: Path) -> None:
    # In a process of its own, since this one knows no TensorFlow.
    command = [sys.executable, "-m", "tf_adapt", "export", str(run.folder), "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not (folder / "1").is_dir():  # else one that outlived an earlier comparison was first
        check_ended(f"export of {run.folder}", done.returncode, done.stderr)


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def _write_record(out: Path, record: dict[str, Any]) -> None:
    write_text(out / RECORD, json.dumps(record, indent=1) + "\n")


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text("utf-8"))
        looks = record.get("looks", [])
        read_looks(looks)  # before any run: a look that is lost could be taken again
        return {"data": dict(record["data"]), "threads": int(record["threads"]), "looks": looks}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ArtifactError(
            f"{path}: cannot be read ({error}); choose another --out, or remove the folder"
        ) from None
