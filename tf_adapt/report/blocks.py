"""What a report consists of; Markdown and HTML are two ways to write the same blocks.

Every text is plain; who writes it escapes it.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """A value in a table.

    Attributes:
        text: the value.
        note: smaller, behind it.
        tone: "tune" or "freeze": coloured so, and the word is written too; None: not coloured.
        strong: emphasised.
        share: 0 to 1: how dark the field is, for confusion matrices; None: not at all.
    """

    text: str
    note: str = ""
    tone: str | None = None
    strong: bool = False
    share: float | None = None


@dataclass(frozen=True)
class Table:
    """Rows of fields; a field is a list of entries, one a line; the first column names the row."""

    caption: str
    columns: list[str]
    rows: list[list[list[Entry]]]
    left: tuple[int, ...] = ()  # columns of words, aligned left


@dataclass(frozen=True)
class Verdict:
    """The answer, large, over what it is the answer to."""

    subject: str
    sentence: str
    decided: bool | None


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Sentences; `warning`: they limit what the report can say."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    texts: list[str]


@dataclass(frozen=True)
class Picture:
    """A figure of `figures/`, by name."""

    name: str
    caption: str
    alternative: str


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

    lines: list[str]


@dataclass(frozen=True)
class Example:
    """A text, its label, and which cells gave which answer: (answer, is it right, cells)."""

    title: str
    texts: list[tuple[str, str]]
    label: str
    answers: list[tuple[str, bool, list[str]]]


@dataclass(frozen=True)
class Folded:
    """Blocks that open on a click."""

    summary: str
    blocks: list = field(default_factory=list)


def field_of(text: str, **looks) -> list[Entry]:
    """A field of a table with one entry."""
    return [Entry(text, **looks)]
