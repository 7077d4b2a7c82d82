"""Runs a whole comparison: from a config and a folder to runs, tests, verdict, report, export."""

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from hub_modules.storage import records
from hub_modules.storage.files import is_leftover, remove_leftovers, write_text
from hub_modules.storage.json_files import Schema, parse_json
from tf_adapt.comparison.cell_results import SCORED_ON
from tf_adapt.comparison.execution.display import Display
from tf_adapt.comparison.execution.jobs import jobs_at_once
from tf_adapt.comparison.execution.running import check_ended, run_all
from tf_adapt.comparison.execution.runs import CellRun, Outcomes, config_name
from tf_adapt.comparison.plan.cells import Cell, Comparison
from tf_adapt.comparison.plan.folds import check_folds
from tf_adapt.comparison.plan.sizes import known_sizes
from tf_adapt.comparison.plan.students import check_students
from tf_adapt.comparison.results import results
from tf_adapt.comparison.verdict.interim_analyses import looks_at, read_looks
from tf_adapt.comparison.verdict.verdict import verdict
from tf_adapt.config.reading import config_from, dump_config, without_trial
from tf_adapt.config.sections import Config
from tf_adapt.config.strict_yaml import float_text, parse_yaml
from tf_adapt.data.splits.read_splits import fingerprint, load_splits
from tf_adapt.errors import ArtifactError, ConfigError, DataError, TfAdaptError
from tf_adapt.report.content import Content
from tf_adapt.report.write import write_report
from tf_adapt.runs import run_folder
from tf_adapt.runs.finished_run import finished_run
from tf_adapt.runs.interruption import Interruption
from tf_adapt.runs.slices import checked_members
from tf_adapt.runs.teachers import KEY as TEACHER_KEY
from tf_adapt.runs.teachers import identity_of
from tf_adapt.serving.exports.model_card import CARD, OverSeeds, run_card
from tf_adapt.training.resolving.input_hashes import content_hash, input_places

RECORD = "comparison.json"
# Files of `ta.compare`: data and config given in Python.
DATA, CONFIG = "data", "compare.yaml"
EXPORTS = ("winner", "candidate")
_EXPORT_NAMES = "*-rate_*-seed_*"
# Files that a killed process may leave half-written, by folder.
_WRITTEN = {
    "": (RECORD, records.RECORD, CONFIG, "report.*"),
    "cells": ("*.yaml",),
    DATA: ("*.jsonl", "*.conll"),
    "figures": ("*.svg", "*.png"),
    **dict.fromkeys(EXPORTS, (_EXPORT_NAMES,)),
}


class _Runs(Schema):
    rate: float | None
    seeds: list[int]
    examples: int | None = None


class _Look(Schema):
    runs: dict[str, _Runs]
    decided: list[Annotated[list[str], Field(min_length=2, max_length=2)]]


class _Record(Schema):
    """Content of `comparison.json`: hashes of data and other inputs, threads, looks; by name of a
    cell, which trainings answer together."""

    data: dict[str, str]
    inputs: dict[str, str]
    threads: int = Field(ge=1)
    looks: list[_Look]
    together: dict[str, str] = {}


def compare(
    comparison: Comparison,
    out: str | Path,
    jobs: int | None = None,
    cache: str | Path | None = None,
    command: str = "",
    export_anyway: bool = False,
) -> Content:
    """Trains all unfinished runs, tests, writes the report and returns its content.

    Each cell tries its learning rates with one extra seed, which is not scored, and selects the
    best on dev. With that rate all seeds are trained and scored on test (or dev, see
    `scored_split`). This is repeated for each number of training examples, see `sizes`; tests,
    verdict, report and export are of the largest.

    Args:
        out: the folder of the comparison; finished runs in it are kept. A later call may add
            cells, rates and seeds.
        jobs: parallel processes, by default as many as cores, cells and memory allow; scores do
            not depend on it.
        cache: folder for the features of frozen encoders; by default that of the config, else a
            temporary one inside `out`.
        command: the command line, for the report.
        export_anyway: exports even if no cell is shown to be above the baseline.

    Raises:
        ConfigError: the folder belongs to another comparison; as `known_sizes`,
            `checked_members` and `check_students`.
        DataError: the data are wrong, or have changed since the comparison was started.
        ArtifactError, TrainingError: a run failed.
        KeyboardInterrupt, SystemExit: after a signal, once the runs have saved their state.
    """
    out = Path(out).absolute()
    splits = load_splits(comparison.data, comparison.weak)
    known_sizes(comparison.sizes, len(splits.examples["train"]))
    check_folds(comparison, splits.examples["train"])
    checked_members(comparison.slices, splits, comparison.slice_heads)
    data = {name: fingerprint(examples) for name, examples in splits.examples.items()}
    inputs = _inputs(comparison)
    kept = cache or comparison.cells[0].config.features.cache
    taught = [cell for cell in comparison.cells if cell.teacher is not None]
    # The config of a cell that was checked before is in the folder.
    check_students([cell for cell in taught if not (out / config_name(cell)).is_file()])
    with run_folder.locked(out):
        _begin(comparison, data, inputs, out)
        outcomes, threads = Outcomes(comparison, out), comparison.threads
        at_once = jobs or jobs_at_once(outcomes.unfinished_cells(), threads)
        with Interruption(), Display(SCORED_ON) as display:
            features = Path(kept or out / "features").absolute()
            run_all(outcomes, at_once, threads, features, display)
            display.say_once("tests, verdict, report, export")
            record = _read_record(out)
            looks = looks_at(outcomes, read_looks(record["looks"]))
            machine = f"{_machine()}, {threads} thread{'s' * (threads > 1)} a run"
            content = results(outcomes, splits, looks, data=data, machine=machine, command=command)
            # Before the report is written, so that every look at it is counted.
            _write_record(out, record | {"looks": looks.to_record(content.pairs)})
            content = replace(content, verdict=verdict(content))
            try:
                exported = _export_best(outcomes, content, export_anyway)
                content = replace(content, verdict=replace(content.verdict, exported=exported))
            finally:  # the report is written even if the export fails
                write_report(content, out)
        if kept is None:
            shutil.rmtree(out / "features", ignore_errors=True)
    return content


def _begin(comparison: Comparison, data: dict[str, str], inputs: dict[str, str], out: Path) -> None:
    """Writes the record and the cells' configs, or checks them against those in the folder."""
    looks: list = []
    together = {cell.name: cell.members for cell in comparison.cells}
    if is_begun(out):
        before = _read_record(out)
        for cell in comparison.cells:
            _check_cell(cell, without_trial, out)
        for start in comparison.starts.values():
            _check_cell(start, lambda config: config, out)
        check_same("the data", before["data"], data, out, DataError)
        # Added cells may have other inputs.
        inputs = before["inputs"] | inputs
        known = {name: inputs[name] for name in before["inputs"]}
        check_same("modules or files", before["inputs"], known, out, ArtifactError)
        _check_threads(before["threads"], comparison.threads, out)
        together = before["together"] | together
        known = {name: together[name] for name in before["together"]}
        check_same("the ensembles", before["together"], known, out, ConfigError)
        looks = before["looks"]
    for name, patterns in _WRITTEN.items():
        remove_leftovers(out / name, *patterns)
    # The record first: `is_begun` refuses a folder that has files but no record.
    record = {"data": data, "inputs": inputs, "threads": comparison.threads, "looks": looks}
    _write_record(out, record | {"together": together})
    for cell in (*comparison.cells, *comparison.starts.values()):
        records.write(out, config_name(cell), dump_config(cell.config))


def is_begun(out: Path) -> bool:
    """Whether the folder contains a comparison.

    Raises:
        ArtifactError: it does not, and holds other files.
    """
    if (out / RECORD).is_file():
        return True
    if not all(_is_passing(entry) for entry in out.iterdir()):
        raise ArtifactError(
            f"{out}: expected the folder of a comparison or an empty one, got files without "
            f"{RECORD}; choose another --out"
        )
    return False


def _is_passing(entry: Path) -> bool:
    """Whether an entry of a folder without a record is one of our own files."""
    if entry.name == DATA and entry.is_dir() and (entry.parent / records.RECORD).is_file():
        kept = records.names(entry.parent)
        names = [file.name for file in entry.iterdir()]
        return all(f"{DATA}/{name}" in kept or is_leftover(name, *_WRITTEN[DATA]) for name in names)
    ours = (run_folder.LOCK, records.RECORD)
    return entry.name in ours or is_leftover(entry.name, *_WRITTEN[""])


def _inputs(comparison: Comparison) -> dict[str, str]:
    """The hashes of the cells' modules and files other than the data, by config key and path."""
    # Each once: cells share encoders, and hashing a module without a manifest reads all of it.
    cells = (*comparison.cells, *comparison.starts.values())
    places = {place for cell in cells for place in input_places(cell.config).items()}
    found = {f"{key}: {place}": content_hash(key, place) for key, place in sorted(places)}
    configs = [cell.config for cell in comparison.cells]
    for run in {one.start.run: None for one in configs if one.start and one.start.run}:
        found[f"start.run: {run}"] = finished_run("start.run", run).weights
    taught = [cell.config for cell in comparison.cells if cell.teacher is None]
    for run in {one.teacher.run: None for one in taught if one.teacher}:
        found[f"{TEACHER_KEY}: {run}"] = identity_of(Path(run)).hash
    return found


def check_same(
    what: str, before: dict[str, str], now: dict[str, str], out: Path, kind: type[TfAdaptError]
) -> None:
    """Checks that the inputs' hashes, by name, are those of the start of the comparison.

    Args:
        what: the inputs, for the message.
        kind: the class of the error.

    Raises:
        TfAdaptError: an input has changed or is new.
    """
    changed = sorted(name for name in now if before.get(name) != now[name])
    if changed:
        raise kind(
            f"{out}: {what} have changed since this comparison was begun "
            f"({', '.join(changed)}); bring them back, or choose another --out"
        )


def _check_threads(before: int, now: int, out: Path) -> None:
    if before != now:
        raise ConfigError(
            f"{out}: compare.threads: expected {before} as when this comparison was begun, got "
            f"{now}; scores depend on it in their last digits: set compare.threads: {before} (or "
            f"--set compare.threads={before}), or choose another --out"
        )


def _check_cell(cell: Cell, compared: Callable[[Config], Config], out: Path) -> None:
    """Checks that a cell's config is that of the start of the comparison, as far as `compared`."""
    name = config_name(cell)
    if not (out / name).is_file():
        return
    content, _ = parse_yaml(records.read(out, name).decode("utf-8", "replace"), str(out / name))
    before = compared(config_from(content, str(out / name)))
    changed = run_folder.changed_keys(before, compared(cell.config))
    if changed:
        raise ConfigError(
            f"{out}: this comparison was begun with another config of {cell.name}: "
            f"{', '.join(changed.values())}; give it another --out, or the same config (only more "
            "cells, learning rates and seeds may be asked of it)"
        )


def _export_best(outcomes: Outcomes, content: Content, anyway: bool) -> str | None:
    """Exports the recommended cell's run with the best dev score; removes all other exports.

    Returns:
        The export's path in the comparison's folder, below `winner/` if the verdict is decided,
        else `candidate/`; None if nothing is exported.
    """
    found = content.verdict
    place = EXPORTS[0] if found.decided else EXPORTS[1]
    exported = None
    if found.recommended is not None and (found.above_baseline or anyway):
        cells = outcomes.comparison.cells
        cell = next(cell for cell in cells if cell.name == found.recommended)
        runs = [run for run in outcomes.final_runs(cell) if outcomes.metrics(run) is not None]
        best = outcomes.best_on_dev(runs)
        part = "" if best.examples is None else f"-examples_{best.examples}"
        name = f"{cell.name}{part}-rate_{float_text(best.rate)}-seed_{best.seed}"
        exported = f"{place}/{name}/1"
        if not (outcomes.out / exported).is_dir():
            _export(best, outcomes.out / place / name)
        # The card is rewritten: seeds may have been added since the export.
        shown = next(one.results for one in content.cells if one.id == cell.name)
        # Cards of ensembles and of several tasks have no scores over seeds.
        if not best.together and cell.config.tasks is None:
            card = run_card(best.folder, OverSeeds(shown.trained, shown.mean, shown.deviation))
            write_text(outcomes.out / exported / CARD, card)
    for old in [path for other in EXPORTS for path in (outcomes.out / other).glob(_EXPORT_NAMES)]:
        if exported is None or old != (outcomes.out / exported).parent:
            shutil.rmtree(old, ignore_errors=True)
    for other in EXPORTS:
        with contextlib.suppress(OSError):  # not empty
            (outcomes.out / other).rmdir()
    return exported


def _export(run: CellRun, folder: Path) -> None:
    # In a subprocess, since this process does not import TensorFlow.
    command = [sys.executable, "-P", "-m", "tf_adapt", "export"]  # -P: as in `running`
    command += [str(run.folder), "--out", str(folder)]
    command += ["--trust"] if run.cell.config.encoder.trust else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not (folder / "1").is_dir():  # else a process of an interrupted comparison exported it
        check_ended(f"export of {run.folder}", done.returncode, done.stderr)


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def _write_record(out: Path, record: dict[str, Any]) -> None:
    records.write(out, RECORD, json.dumps(record, indent=1) + "\n")


def _read_record(out: Path) -> dict[str, Any]:
    return parse_json(records.read(out, RECORD), _Record, str(out / RECORD)).model_dump()
