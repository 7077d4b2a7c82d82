"""The tests in parts of about equal time, for one process each (see `.ci/run`).

`python -m tests.parts split SECONDS` prints the files of a part on a line, the longest part first,
by `tests/durations.json`; a file that is not known there counts as one of the usual time. Files of
a folder stay together, for they share what is made once in a process.
`python -m tests.parts join FILES…` prints what `pytest --durations-to` wrote of each part, as one.
"""

import json
import sys
from pathlib import Path
from statistics import median

from tests.helpers.measured import as_written, seconds_of_files

ROOT = Path(__file__).resolve().parents[1]


def split(longest: float) -> list[list[str]]:
    """Parts that take about `longest` seconds at most, or hold one file that does."""
    known = seconds_of_files()
    usual = median(known.values())
    files = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py"))
    parts: list[tuple[float, list[str]]] = []
    for file in files:
        seconds = known.get(file, usual)
        if parts and parts[-1][0] + seconds <= longest:
            parts[-1] = (parts[-1][0] + seconds, [*parts[-1][1], file])
        else:
            parts.append((seconds, [file]))
    return [files for _, files in sorted(parts, key=lambda part: -part[0])]


def join(paths: list[str]) -> str:
    """The tests of all files by name, one a line."""
    rows: dict[str, list] = {}
    for path in paths:
        rows |= json.loads(Path(path).read_text("utf-8"))
    return as_written(rows)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "split":
        print("\n".join(" ".join(part) for part in split(float(arguments[0]))))
    else:
        sys.stdout.write(join(arguments))
