"""A finished comparison → a folder of `docs/results`: its report, and all answers of its runs."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

from hub_modules.storage.files import write_text
from tf_adapt.comparison.diagnosis.report_reading import read_content
from tf_adapt.comparison.kept.answers import FILE
from tf_adapt.comparison.kept.scores import read_rescored
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
        ArtifactError: as `read_rescored`; the scores are not those of the answers.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"--name: expected small letters, digits and _, got {name!r}")
    report = read_content(folder)
    rescored, _ = read_rescored(folder)
    _check_scores(folder, report, rescored)
    plain = json.dumps(to_json(replace(report, disagreements=[])), indent=1, ensure_ascii=False)
    target = home / name
    target.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("answers.*"):
        shutil.copyfile(path, target / path.name)
    for place in dict.fromkeys((str(folder.absolute()), str(folder))):
        plain = plain.replace(place, f"comparisons/{name}")
    for place in (Path.cwd(), ROOT):
        plain = plain.replace(f"{place}/", "")
    write_text(target / REPORT, plain + "\n")
    megabytes = sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) / 1e6
    if megabytes > LARGEST_MB:
        raise ConfigError(
            f"{home}: expected at most {LARGEST_MB} MB in all, got {megabytes:.1f} with {name}: "
            "remove a comparison"
        )
    return target


def _check_scores(folder: Path, report: Content, rescored: Content) -> None:
    for cell, anew in zip(report.cells, rescored.cells, strict=True):
        for said, score in zip(cell.results.scores, anew.results.scores, strict=True):
            if said is not None and (score is None or abs(said - score) > ROUNDING):
                raise ArtifactError(
                    f"{folder / FILE}: expected answers of {cell.id} that score {said:.4f} as in "
                    f"{REPORT}, got {score}; give the command of the comparison again, which "
                    "writes both and trains nothing"
                )
