"""How figures look, and figures as SVG and PNG: the same content gives the same bytes.

They are narrow, so that their words can be read on a phone, and name no font that has symbols.
"""

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import matplotlib.style
from matplotlib.figure import Figure

from tf_adapt.paper import FROZEN, TUNED

WIDTH = 4.8  # inches
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
    # Text stays text; ids come from the content.
    "svg.fonttype": "none",
    "svg.hashsalt": "tf_adapt",
    "text.color": INK,
    # Labels may hold dollar signs.
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}
MARKERS = {FROZEN: ("o", BLUE), TUNED: ("^", RED)}
OTHER_MARKER = ("s", PURPLE)


@dataclass(frozen=True)
class Drawing:
    """A figure as files and as a part of a page."""

    svg: bytes
    png: bytes

    def inline(self, name: str, alternative: str) -> str:
        """An `svg` element for a page: its ids begin with `name`, its ink is the page's."""
        text = self.svg.decode("utf-8")
        text = text[text.index("<svg") :]
        # A style in an inlined SVG is one of the whole page: report.css has it instead.
        for part in ("metadata", "style"):
            text = re.sub(rf"<{part}\b.*?</{part}>", "", text, flags=re.S)
        text = re.sub(r'\bid="', f'id="{name}-', text)
        text = re.sub(r'(href="|url\()#', rf"\1#{name}-", text)
        text = text.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
        box = re.search(r'viewBox="(0 0 (\S+) \S+)"', text)
        opening = (
            f'<svg role="img" aria-label="{escape(alternative)}" viewBox="{box[1]}" '
            # Points in CSS pixels.
            f'style="max-width:{float(box[2]) * 4 / 3:.0f}px" '
            'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        )
        return re.sub(r"<svg[^>]*>", lambda match: opening, text, count=1).strip()


def draw(plot: Callable[..., Figure], *arguments) -> Drawing:
    """Calls `plot(*arguments)` in our style, whatever the user's settings are."""
    with warnings.catch_warnings(), matplotlib.style.context(STYLE, after_reset=True):
        # An SVG's text is drawn by the reader's fonts; only the PNG lacks rare characters.
        warnings.filterwarnings("ignore", message="Glyph")
        figure = plot(*arguments)
        return Drawing(_saved(figure, "svg", "Date", "Creator"), _saved(figure, "png", "Software"))


def marker(cell: dict) -> dict:
    """The shape and colours of a cell's points; hollow for an untrained encoder."""
    shape, colour = MARKERS.get(cell["adaptation"], OTHER_MARKER)
    edge, face = (PAPER, colour) if cell["pretrained"] else (colour, PAPER)
    return {
        "marker": shape,
        "markeredgecolor": edge,
        "markerfacecolor": face,
        "markeredgewidth": 0.5 if cell["pretrained"] else 1.1,
    }


def colour_of(cell: dict) -> str:
    """The colour of everything that shows a cell."""
    return MARKERS.get(cell["adaptation"], OTHER_MARKER)[1]


def numbers(values: list) -> list[float]:
    """Scores × 100, NaN where one is not known."""
    return [float("nan") if value is None else 100 * value for value in values]


def _saved(figure: Figure, form: str, *unset: str) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=form, metadata=dict.fromkeys(unset))
    return stream.getvalue()
