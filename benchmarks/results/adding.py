"""A finished comparison → a folder of `docs/results`: its report, and all answers of its runs."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

from hub_modules.storage.files import write_bytes
from tf_adapt.comparison.diagnosis.report_reading import read_content
from tf_adapt.comparison.kept.answers import FILE, file_of_domain
from tf_adapt.comparison.kept.scores import read_rescored
from tf_adapt.comparison.kept.shift import read_shifted
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.report.content import Content, to_json

ROOT = Path(__file__).parents[2]
HOME = ROOT / "docs" / "results"
REPORT = "report.json"
LARGEST_MB = 40  # of all comparisons
# Of numbers that were written with fewer digits than the run had.
ROUNDING = 2e-4
_NAME = re.compile(r"[a-z0-9_]+")


def add(folder: Path, name: str, home: Path = HOME) -> Path:
    """Copies report and answers of a finished comparison; what had the name is replaced.

    Scored texts are left out, and places on this machine: the commands speak of `comparisons/NAME`,
    and of files from the folder that `add` is called in.

    Raises:
        ConfigError: the name is none, or the comparisons together become too large.
        ArtifactError: as `read_rescored` and `read_shifted`; the scores are not those of the
            answers.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"--name: expected small letters, digits and _, got {name!r}")
    report = read_content(folder)
    rescored, answers = read_rescored(folder)
    _check_scores(folder, report, rescored)
    read_shifted(folder, rescored, answers)
    names = [FILE, *(file_of_domain(domain.name) for domain in report.shifted or ())]
    files = {file: (folder / file).read_bytes() for file in names}
    files[REPORT] = _without_places(folder, report, f"comparisons/{name}").encode("utf-8")
    target = home / name
    _check_size(home, target, files)
    target.mkdir(parents=True, exist_ok=True)
    for path in target.glob("answers.*"):
        path.unlink()
    for file, content in files.items():
        write_bytes(target / file, content)
    return target


def _without_places(folder: Path, report: Content, place: str) -> str:
    """The report's file without scored texts, with `place` for the folder."""
    # As the command names it the folder may be short: a word, or a dot.
    argument = rf"(?<![^\s=]){re.escape(shlex.quote(str(folder)))}/?(?!\S)"
    command = re.sub(argument, place, report.command)
    plain = to_json(replace(report, disagreements=[], command=command))
    text = json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
    return without_roots(text.replace(str(folder.absolute()), place))


def without_roots(text: str) -> str:
    """Files are named from the folder of the call, or from the repository."""
    for root in (Path.cwd(), ROOT):
        text = text.replace(f"{root}/", "")
    return text


def _check_size(home: Path, target: Path, files: dict[str, bytes]) -> None:
    others = [path for path in home.rglob("*") if path.is_file() and path.parent != target]
    sizes = [*(path.stat().st_size for path in others), *map(len, files.values())]
    if (megabytes := sum(sizes) / 1e6) > LARGEST_MB:
        raise ConfigError(
            f"{home}: expected at most {LARGEST_MB} MB in all, got {megabytes:.1f} with "
            f"{target.name}: remove a comparison"
        )


def _check_scores(folder: Path, report: Content, rescored: Content) -> None:
    for cell, anew in zip(report.cells, rescored.cells, strict=True):
        for said, score in zip(cell.results.scores, anew.results.scores, strict=True):
            if said is not None and (score is None or abs(said - score) > ROUNDING):
                raise ArtifactError(
                    f"{folder / FILE}: expected answers of {cell.id} that score {said:.4f} as in "
                    f"{REPORT}, got {score}; give the command of the comparison again, which "
                    "writes both and trains nothing"
                )
