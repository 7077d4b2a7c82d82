"""The table of 🔥 − ❄ that ships, from the published answers and measures of frozen states."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.results.adding import HOME, ROOT, without_roots
from benchmarks.results.blocks import Contents, tuned_against_frozen, tuned_and_frozen
from hub_modules.storage.files import write_text
from tf_adapt.comparison.advice.published import Published
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell
from tf_adapt.statistics.relation import relation

TABLE = "tf_adapt/comparison/advice/published.json"
MEASURES = "estimate.json"
_DIGITS = 4


def measure(name: str, config: str, home: Path = HOME) -> Path:
    """Writes the measures of a config's encoders beside the published comparison `name`.

    Raises:
        ConfigError, DataError, ArtifactError: as `estimating.measured`.
    """
    from tf_adapt.analysis.estimate.estimating import measured

    path = home / name / MEASURES
    text = json.dumps(_rounded(measured(config)), indent=1, ensure_ascii=False)
    write_text(path, without_roots(text) + "\n")
    return path


def table(contents: Contents, home: Path = HOME) -> str:
    """A row a line."""
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows(contents, home)]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def rows(contents: Contents, home: Path = HOME) -> list[Published]:
    """A row for each encoder of each comparison with ❄ and 🔥, rounded."""
    return [row for name in contents for row in _rows(name, contents[name], home / name)]


def write_table(contents: Contents) -> None:
    """Writes it into the package."""
    write_text(ROOT / TABLE, table(contents))


def measures_of(content: Content, folder: Path) -> dict | None:
    """The measures of a published comparison's encoders."""
    path = folder / MEASURES
    if path.exists():  # the report is older than its section
        return json.loads(path.read_text("utf-8"))
    return None if content.estimate is None else asdict(content.estimate)


def _rows(name: str, content: Content, folder: Path) -> list[Published]:
    measures = measures_of(content, folder)
    return [_row(name, *both, measures) for both in tuned_and_frozen({name: content})]


def _row(
    name: str, content: Content, frozen: ScoredCell, tuned: ScoredCell, measures: dict | None
) -> Published:
    pair = tuned_against_frozen(content, frozen, tuned)
    probes = [
        row["probe"]
        for row in (measures["ranking"] if measures else [])
        if row["module"] == tuned.encoder
    ]
    row = Published(
        comparison=name,
        dataset=content.dataset,
        kind=content.kind,
        metric=content.metric,
        encoder=tuned.encoder,
        family=tuned.family,
        examples=content.examples["train"],
        frozen=frozen.results.mean,
        tuned=tuned.results.mean,
        difference=pair.difference,
        interval=pair.interval,
        level=pair.level,
        decided=relation(pair, tuned.id),
        constant=measures["constant"] if measures else None,
        probe=max(probes, default=None),
    )
    return Published(**_rounded(asdict(row)))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, _DIGITS) if isinstance(value, float) else value
