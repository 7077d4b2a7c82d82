"""The blocks of a report, to be written as Markdown, HTML or terminal lines.

All texts are plain; the writers escape them.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """A value in a table.

    Attributes:
        text: the value.
        note: smaller text after it.
        tone: "tune" or "freeze", shown as colour; None: not coloured.
        strong: emphasised.
        share: darkness of the field, 0 to 1, for confusion matrices; None: not shaded.
    """

    text: str
    note: str = ""
    tone: str | None = None
    strong: bool = False
    share: float | None = None


@dataclass(frozen=True)
class Table:
    """Rows of fields; a field is a list of entries, one per line; the first field is the header.

    Args:
        left: text columns, aligned left.
        main: the column that stands beside the first one on a narrow screen.
    """

    caption: str
    columns: list[str]
    rows: list[list[list[Entry]]]
    left: tuple[int, ...] = ()
    main: int | None = None


@dataclass(frozen=True)
class Banner:
    """The verdict in large type, with its subject above."""

    subject: str
    sentence: str
    decided: bool | None


@dataclass(frozen=True)
class Paragraph:
    """Sentences; `warning`: they limit the conclusions of the report."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Items:
    """A list of sentences, with an optional subject as its title."""

    texts: list[str]
    subject: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of `figures/`, by name."""

    name: str
    caption: str
    alternative: str


@dataclass(frozen=True)
class Split:
    """A bar of the data: `(what for, examples)` by part, with a note."""

    parts: list[tuple[str, int]]
    note: str = ""


@dataclass(frozen=True)
class Code:
    """Lines of code to copy."""

    lines: list[str]


@dataclass(frozen=True)
class Example:
    """An example with its label; `answers`: (predicted label, is it correct, names of cells)."""

    title: str
    texts: list[tuple[str, str]]
    label: str
    answers: list[tuple[str, bool, list[str]]]


@dataclass(frozen=True)
class Section:
    """A titled section: folded on a page, open in Markdown."""

    title: str
    blocks: list


@dataclass(frozen=True)
class Folded:
    """Collapsed blocks that open on a click."""

    summary: str
    blocks: list = field(default_factory=list)


def field_of(text: str, **looks) -> list[Entry]:
    """A field of a table with one entry."""
    return [Entry(text, **looks)]
