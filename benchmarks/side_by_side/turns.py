"""One measurement: everybody is warmed up, then A B A B …, and what came out is compared."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.side_by_side.child import Child, NoAnswerError, start
from benchmarks.side_by_side.measurement import Contestant, Measurement
from benchmarks.side_by_side.summary import median


def measured(measurement: Measurement, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """The measurement with all its times as plain values.

    A contestant that is not there, or fails, has a `failure` that says so, and the others go on.

    Args:
        folder: where outputs are written until they are compared.
        say: is told what is going on.
    """
    results = [_blank(contestant) for contestant in measurement.contestants]
    children: dict[str, Child] = {}
    try:
        for contestant, result in _alive(measurement, results):
            say(f"{measurement.work}: {contestant.name}: warm-up")
            _attempt(result, lambda c=contestant: _warmed_up(measurement, c, children))
        for turn in range(measurement.rounds):
            for contestant, result in _alive(measurement, results):
                say(f"{measurement.work}: turn {turn + 1}: {contestant.name}")
                path = None
                if turn == 0 and measurement.compared:
                    path = _path(folder, measurement, contestant)
                child = children[contestant.name]
                _attempt(
                    result,
                    lambda c=contestant, r=result, o=child, t=turn, p=path: _take(
                        measurement, c, r, o, t, p
                    ),
                )
    finally:
        for child in children.values():
            child.close()
    if measurement.compared:
        _compare(measurement, results, folder)
    kept = (
        "work",
        "rounds",
        "calls",
        "fastest",
        "percentile",
        "compared",
        "unit",
        "at_least",
        "at_most",
        "at_most_mb",
    )
    return {name: asdict(measurement)[name] for name in kept} | {"contestants": results}


def largest_difference(given: Path, expected: Path) -> float:
    """Largest absolute difference of the arrays in two .npz files; infinite where they cannot be
    compared, or hold NaN."""
    with np.load(given) as ours, np.load(expected) as theirs:
        if sorted(ours) != sorted(theirs):
            return np.inf
        largest = 0.0
        for name in ours:
            if ours[name].shape != theirs[name].shape:
                return np.inf
            if ours[name].size:
                gap = np.abs(ours[name].astype("float64") - theirs[name].astype("float64")).max()
                largest = max(largest, np.inf if np.isnan(gap) else float(gap))
    return largest


def _blank(contestant: Contestant) -> dict[str, Any]:
    return {
        "name": contestant.name,
        "seconds": [],
        "peak_mb": None,
        "amount": None,
        "notes": [],
        "versions": {},
        "difference": None,
        "tolerance": contestant.tolerance,
        "why": contestant.why,
        "failure": contestant.failure,
    }


def _alive(measurement: Measurement, results: list[dict]) -> list[tuple[Contestant, dict]]:
    pairs = zip(measurement.contestants, results, strict=True)
    return [(contestant, result) for contestant, result in pairs if result["failure"] is None]


def _attempt(result: dict, action: Callable[[], None]) -> None:
    try:
        action()
    except NoAnswerError as error:
        result["failure"] = str(error)


def _path(folder: Path, measurement: Measurement, contestant: Contestant) -> Path:
    return folder / f"{measurement.contestants.index(contestant)}.npz"


def _warmed_up(measurement: Measurement, contestant: Contestant, children: dict) -> None:
    children[contestant.name] = start(contestant)
    children[contestant.name].ask(measurement.job | contestant.job, turn=None)


def _take(measurement, contestant, result: dict, child: Child, turn: int, path) -> None:
    """One turn of one contestant."""
    answer = child.ask(
        measurement.job | contestant.job, turn, measurement.calls, path and str(path)
    )
    seconds = answer["seconds"]
    result["seconds"].append(_of_calls(measurement, seconds))
    result["peak_mb"] = max(answer["peak_mb"], result["peak_mb"] or 0)
    result["amount"] = answer["amount"] or result["amount"]
    result["versions"] = answer["versions"]
    result["notes"] += [answer["note"]] if answer["note"] else []


def _of_calls(measurement: Measurement, seconds: list[float]) -> float:
    """The time of a turn."""
    if measurement.percentile is not None:
        return float(np.percentile(seconds, measurement.percentile))
    return min(seconds) if measurement.fastest else median(seconds)


def _compare(measurement: Measurement, results: list[dict], folder: Path) -> None:
    paths = [_path(folder, measurement, contestant) for contestant in measurement.contestants]
    for path, result in zip(paths, results, strict=True):
        if path.exists() and paths[0].exists():
            result["difference"] = largest_difference(path, paths[0])
    for path in paths:
        path.unlink(missing_ok=True)
