"""The reports of published comparisons on the site: made of their answers alone, with the verdict
that today's rules give."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.results.blocks import Contents
from tf_adapt.comparison.verdict.verdict import verdict
from tf_adapt.report.write import write_report


@dataclass(frozen=True)
class Shown:
    """One report: its page and the picture of its scores."""

    name: str
    summary: str
    sentence: str
    html: str
    svg: str


def shown(contents: Contents) -> Iterator[Shown]:
    """Those of more than one seed, the decided ones first."""
    judged = {
        name: replace(content, verdict=verdict(content))
        for name, content in contents.items()
        if len(content.seeds) > 1
    }
    for name in sorted(judged, key=lambda name: not judged[name].verdict.decided):
        content = judged[name]
        with TemporaryDirectory() as folder:
            write_report(content, folder)
            html = (Path(folder) / "report.html").read_text("utf-8")
            svg = (Path(folder) / "figures" / "scores.svg").read_text("utf-8")
        yield Shown(name, content.summary or name, content.verdict.sentence, html, svg)


def gallery(reports: Sequence[Shown]) -> str:
    """Markdown: for each what was compared, the verdict, and the picture as a link to the page."""
    return "\n\n".join(
        f"## {one.name}\n\n{one.summary}.\n\n**{one.sentence}**\n\n"
        f"[![The scores of {one.name}](reports/{one.name}.svg)](reports/{one.name}.html)"
        for one in reports
    )
