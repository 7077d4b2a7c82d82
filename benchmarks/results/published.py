"""The comparisons of `docs/results`, with the scores and tests of their answers."""

from pathlib import Path

from benchmarks.results.adding import HOME, REPORT
from tf_adapt.comparison.kept.scores import read_rescored
from tf_adapt.comparison.kept.shift import read_shifted
from tf_adapt.report.content import Content


def published(home: Path = HOME) -> dict[str, Content]:
    """By name, in its order.

    Raises:
        ArtifactError: as `read_rescored`.
    """
    names = sorted(path.parent.name for path in home.glob(f"*/{REPORT}"))
    return {name: _read(home / name) for name in names}


def _read(folder: Path) -> Content:
    content, answers = read_rescored(folder)
    return read_shifted(folder, content, answers)


def beginning(contents: dict[str, Content], prefix: str) -> dict[Path, Content]:
    """Those whose names begin so, by folder, as they are pooled; with `all` each, but for those
    with other domains, which learn a part of data that others learn whole."""
    return {
        HOME / name: one
        for name, one in contents.items()
        if (name.startswith(prefix) if prefix != "all" else not one.shifted)
    }
