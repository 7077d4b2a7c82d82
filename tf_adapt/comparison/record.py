"""What a comparison's folder says of it: its record, and the configs of its cells."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from hub_modules.storage import records
from hub_modules.storage.files import is_leftover, remove_leftovers
from hub_modules.storage.json_files import Schema, parse_json
from hub_modules.storage.strict_yaml import parse_yaml
from tf_adapt.comparison.execution.runs import config_name
from tf_adapt.comparison.plan.cells import HIGHER, LOWER, Cell, Comparison
from tf_adapt.comparison.winner_export import EXPORT_NAMES
from tf_adapt.config.data_sections import DatasetConfig
from tf_adapt.config.reading import config_from, dump_config, without_trial
from tf_adapt.config.sections import Config
from tf_adapt.errors import ArtifactError, ConfigError, DataError, TfAdaptError
from tf_adapt.runs import run_folder
from tf_adapt.runs.exports_in import COMPARISON, EXPORTS
from tf_adapt.training.resolving import run_config

RECORD = COMPARISON
# Files of `ta.compare`: data and config given in Python.
DATA, CONFIG = "data", "compare.yaml"
# Files that a killed process may leave half-written, by folder.
_WRITTEN = {
    "": (RECORD, records.RECORD, CONFIG, "report.*", "estimate.json", "*.csv", "answers.*"),
    "cells": ("*.yaml",),
    DATA: ("*.jsonl", "*.conll"),
    "figures": ("*.svg", "*.png"),
    **dict.fromkeys(EXPORTS, (EXPORT_NAMES,)),
}


class _Runs(Schema):
    rate: float | list[float] | None
    seeds: list[int]
    examples: int | None = None
    epochs: int | None = None
    trials: list[int] | None = None


class _Extension(Schema):
    epochs: bool
    rates: list[Literal[LOWER, HIGHER]]
    why: dict[str, str]


class _Look(Schema):
    runs: dict[str, _Runs]
    decided: list[Annotated[list[str], Field(min_length=2, max_length=2)]]
    final: bool = False


class _Rung(Schema):
    rates: dict[str, list[float]]
    ended: float | None


class _Budget(Schema):
    minutes: float
    used: float = Field(ge=0)
    processes: int = Field(ge=1)
    rungs: list[_Rung]
    finalists: dict[str, float] | None
    seeds: int = Field(ge=0)
    seconds: float
    a_seed: float = 0.0
    load: float = Field(1.0, ge=1)


class _Record(Schema):
    """Content of `comparison.json`: hashes of data and other inputs, threads, interim
    analyses; the kind and size of each cell's ensemble; what was added to cells by adaptation
    (None: not decided; earlier versions added nothing); the folds of a cross-validation (None: an
    earlier version, which had none); sampler, pruner and space of a search; how far a comparison
    within minutes has come (None: it was begun without)."""

    data: dict[str, str]
    inputs: dict[str, str]
    threads: int = Field(ge=1)
    looks: list[_Look]
    together: dict[str, str] = {}
    extended: dict[str, _Extension] | None = {}
    folds: int | None = None
    search: dict[str, Any] | None = None
    budget: _Budget | None = None


def as_begun(comparison: Comparison, out: Path) -> Comparison:
    """The comparison whose cells standardise what the folder's do where their configs leave it to
    the default, which was another in earlier versions.

    Raises:
        ArtifactError: as `is_begun`; a config in the folder is damaged.
    """
    if not is_begun(out):
        return comparison
    cells = []
    for cell in comparison.cells:
        before = _config_before(cell, out)
        if before is not None and cell.config.head_scaled is None:
            settled = cell.config.model_copy(update={"head_scaled": before.head_scaled})
            cell = replace(cell, config=settled)
        cells.append(cell)
    return replace(comparison, cells=tuple(cells))


def begin(comparison: Comparison, data: dict[str, str], inputs: dict[str, str], out: Path) -> None:
    """Writes the record and the cells' configs, or checks them against those in the folder.

    Args:
        data, inputs: the hashes of the splits, and of other inputs by config key and path.

    Raises:
        ConfigError, DataError, ArtifactError: the folder is not a comparison's, or of other
            configs, data or inputs.
    """
    looks: list = []
    added, budget = None, _new_budget(comparison)
    together = {cell.name: cell.members for cell in comparison.cells}
    if is_begun(out):
        before = read_record(out)
        for cell in comparison.cells:
            _check_cell(cell, without_trial, out)
        for start in comparison.starts.values():
            _check_cell(start, lambda config: config, out)
        _check_folds(before["folds"], comparison, out)
        _check_search(before["search"], _search(comparison), out)
        _check_budget(before["budget"], comparison, out)
        check_same("the data", before["data"], data, out, DataError)
        # Added cells may have other inputs.
        inputs = before["inputs"] | inputs
        known = {name: inputs[name] for name in before["inputs"]}
        check_same("modules or files", before["inputs"], known, out, ArtifactError)
        _check_number("threads", before["threads"], comparison.threads, out)
        together = before["together"] | together
        known = {name: together[name] for name in before["together"]}
        check_same("the ensembles", before["together"], known, out, ConfigError)
        looks, added, budget = before["looks"], before["extended"], before["budget"]
    for name, patterns in _WRITTEN.items():
        remove_leftovers(out / name, *patterns)
    # The record first: `is_begun` refuses a folder that has files but no record.
    record = {"data": data, "inputs": inputs, "threads": comparison.threads, "looks": looks}
    chosen = {"folds": comparison.folds, "search": _search(comparison), "budget": budget}
    write_record(out, record | {"together": together, "extended": added} | chosen)
    for cell in (*comparison.cells, *comparison.starts.values()):
        records.write(out, config_name(cell), dump_config(cell.config))


def _new_budget(comparison: Comparison) -> dict[str, Any] | None:
    """Of a comparison within minutes that has not begun."""
    if comparison.minutes is None:
        return None
    begun = {"minutes": comparison.minutes, "used": 0.0, "processes": 1, "rungs": []}
    return begun | {"finalists": None, "seeds": 0, "seconds": 0.0, "a_seed": 0.0, "load": 1.0}


def _check_budget(before: dict | None, comparison: Comparison, out: Path) -> None:
    """Without minutes one that was begun with them goes on as a whole."""
    if before is None and comparison.minutes is not None:
        raise ConfigError(
            f"{out}: --minutes: expected a comparison that was begun with it, got one without; "
            "leave it out, or choose another --out"
        )
    if comparison.minutes is None or not before["rungs"]:
        return
    screened = {(n, r) for n, rates in before["rungs"][0]["rates"].items() for r in rates}
    now = {(cell.name, rate) for cell in comparison.cells for rate in cell.rates}
    if screened != now:
        changed = ", ".join(f"{name} (rate {rate:g})" for name, rate in sorted(screened ^ now))
        raise ConfigError(
            f"{out}: --minutes: expected the cells and learning rates that were screened, got "
            f"others ({changed}); bring them back, leave --minutes out, which scores all cells, or "
            "choose another --out"
        )


def _search(comparison: Comparison) -> dict[str, Any] | None:
    """What its trials depend on: all of the search but its budget."""
    search = comparison.search
    return None if search is None else search.model_dump(mode="json", exclude={"trials", "minutes"})


def _check_search(before: dict | None, now: dict | None, out: Path) -> None:
    if before != now:
        keys = ", ".join(
            key for key in (before or now) if (before or {}).get(key) != (now or {}).get(key)
        )
        raise ConfigError(
            f"{out}: compare.search: expected the search that this comparison was begun with, got "
            f"another ({keys}); only trials and minutes may differ: bring it back, or choose "
            "another --out"
        )


def has_record(folder: str | Path) -> bool:
    """Whether a comparison was begun in a folder."""
    return (Path(folder) / RECORD).is_file()


def is_begun(out: Path) -> bool:
    """Whether the folder contains a comparison.

    Raises:
        ArtifactError: it does not, and holds other files.
    """
    if has_record(out):
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


def _check_folds(before: int | None, comparison: Comparison, out: Path) -> None:
    """Earlier versions scored another part of a train without dev and test."""
    data = comparison.data
    if before is None and not isinstance(data, DatasetConfig) and data.dev is None:
        raise ConfigError(
            f"{out}: this comparison was begun by an earlier version, which scored another part of "
            "train; its report stays readable: choose another --out"
        )
    _check_number("folds", before or 0, comparison.folds, out)


def _check_number(key: str, before: int, now: int, out: Path) -> None:
    if before != now:
        raise ConfigError(
            f"{out}: compare.{key}: expected {before} as when this comparison was begun, got "
            f"{now}; scores depend on it: set compare.{key}: {before} (or --set "
            f"compare.{key}={before}), or choose another --out"
        )


def _check_cell(cell: Cell, compared: Callable[[Config], Config], out: Path) -> None:
    """Checks that a cell's config is that of the start of the comparison, as far as `compared`."""
    before = _config_before(cell, out)
    if before is None:
        return
    changed = run_config.changed_keys(compared(before), compared(cell.config))
    if changed:
        raise ConfigError(
            f"{out}: this comparison was begun with another config of {cell.name}: "
            f"{', '.join(changed.values())}; give it another --out, or the same config (only more "
            "cells, learning rates and seeds may be asked of it)"
        )


def _config_before(cell: Cell, out: Path) -> Config | None:
    """A cell's config in the folder; None where it has no such cell."""
    name = config_name(cell)
    if not (out / name).is_file():
        return None
    content, _ = parse_yaml(records.read(out, name).decode("utf-8", "replace"), str(out / name))
    return config_from(run_config.as_now(content), str(out / name))


def write_record(out: Path, record: dict[str, Any]) -> None:
    """Writes `comparison.json`."""
    records.write(out, RECORD, json.dumps(record, indent=1) + "\n")


def read_record(out: Path) -> dict[str, Any]:
    """The content of `comparison.json`.

    Raises:
        ArtifactError: it is missing or damaged.
    """
    record = parse_json(records.read(out, RECORD), _Record, str(out / RECORD)).model_dump()
    # The signals' key `leave_out_parts` was called `folds`.
    renamed = {n: re.sub("^folds ", "leave_out_parts ", t) for n, t in record["together"].items()}
    return record | {"together": renamed}
