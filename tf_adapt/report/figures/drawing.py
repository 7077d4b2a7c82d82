"""The style of figures, and figures as SVG and PNG: the same content gives the same bytes.

Figures are as wide as the text of a page; on narrow screens they scroll rather than shrink below
legibility. Their font has no symbols.
"""

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure

from tf_adapt.paper import FROZEN, TUNED

WIDTH = 7.2  # inches
SMALLEST_TEXT = 8  # points, at that width
SMALLEST_ON_PAGE = 10  # pixels
INK, PAPER, FAINT = "#1c2024", "#fdfdfe", "#8b939c"
BLUE, RED, PURPLE = "#2f7fc1", "#d4503e", "#8a68c4"
STYLE = {
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.unicode_minus": True,
    "figure.facecolor": PAPER,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": FAINT,
    "grid.alpha": 0.35,
    "legend.frameon": False,
    "savefig.dpi": 160,
    # Text stays text; ids are deterministic.
    "svg.fonttype": "none",
    "svg.hashsalt": "tf_adapt",
    "text.color": INK,
    # Labels may contain dollar signs.
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}
MARKERS = {FROZEN: ("o", BLUE), TUNED: ("^", RED)}
OTHER_MARKER = ("s", PURPLE)


@dataclass(frozen=True)
class Drawing:
    """A figure as files, and inline for a page."""

    svg: bytes
    png: bytes

    def inline(self, name: str, alternative: str) -> str:
        """An `svg` element for a page: ids are prefixed with `name`, ink is the page's colour."""
        text = self.svg.decode("utf-8")
        text = text[text.index("<svg") :]
        # A style in an inline SVG applies to the whole page; report.css has it instead.
        for part in ("metadata", "style"):
            text = re.sub(rf"<{part}\b.*?</{part}>", "", text, flags=re.S)
        text = re.sub(r'\bid="', f'id="{name}-', text)
        text = re.sub(r'(href="|url\()#', rf"\1#{name}-", text)
        text = text.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
        box = re.search(r'viewBox="(0 0 (\S+) \S+)"', text)
        opening = (
            f'<svg role="img" aria-label="{escape(alternative)}" viewBox="{box[1]}" '
            f'style="min-width:{float(box[2]) * SMALLEST_ON_PAGE / SMALLEST_TEXT:.0f}px" '
            'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        )
        return re.sub(r"<svg[^>]*>", lambda match: opening, text, count=1).strip()


def draw(plot: Callable[..., Figure], *arguments) -> Drawing:
    """Calls `plot(*arguments)` in our style, independent of the user's matplotlib settings."""
    with warnings.catch_warnings(), matplotlib.style.context(STYLE, after_reset=True):
        # Rare characters are missing only in the PNG; an SVG uses the reader's fonts.
        warnings.filterwarnings("ignore", message="Glyph")
        figure = plot(*arguments)
        return Drawing(_saved(figure, "svg", "Date", "Creator"), _saved(figure, "png", "Software"))


def marker(adaptation: str, pretrained: bool) -> dict[str, Any]:
    """The shape and colours of a cell's points; hollow for an untrained encoder."""
    shape, colour = MARKERS.get(adaptation, OTHER_MARKER)
    edge, face = (PAPER, colour) if pretrained else (colour, PAPER)
    return {
        "marker": shape,
        "markeredgecolor": edge,
        "markerfacecolor": face,
        "markeredgewidth": 0.5 if pretrained else 1.1,
    }


def colour_of(adaptation: str) -> str:
    """The colour of cells with this adaptation."""
    return MARKERS.get(adaptation, OTHER_MARKER)[1]


def numbers(values: list) -> list[float]:
    """Scores × 100, NaN for None."""
    return [float("nan") if value is None else 100 * value for value in values]


def _saved(figure: Figure, form: str, *unset: str) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=form, metadata=dict.fromkeys(unset))
    return stream.getvalue()
