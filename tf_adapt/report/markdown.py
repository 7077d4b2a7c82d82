"""Blocks as GitHub Markdown, with all texts escaped."""

import html
import re

from tf_adapt.printing.words import visible
from tf_adapt.report import blocks
from tf_adapt.report.lines import split_line

TONES = {"tune": "🔴", "freeze": "🔵"}
# Unicode controls that isolate the direction of the text between them.
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"


def to_markdown(parts: list) -> str:
    """The text of `report.md`."""
    return "\n\n".join(_block(part) for part in parts) + "\n"


def escaped(text: str) -> str:
    """Text escaped for Markdown and its inline HTML."""
    text = html.escape(text, quote=False)
    text = re.sub(r"([\\`*\[\]|~$])", r"\\\1", text)
    # Underscores inside words need no escape.
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


def fenced(lines: list[str]) -> str:
    """Lines as a code block, with a fence longer than any in the lines."""
    text = "\n".join(visible(line) for line in lines)
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _block(part) -> str:
    return WRITERS[type(part)](part)


def _banner(part: blocks.Banner) -> str:
    states = {True: "decided", False: "not decided", None: "open"}
    return f"{escaped(part.subject)} — {states[part.decided]}\n\n# {escaped(part.sentence)}"


def _paragraph(part: blocks.Paragraph) -> str:
    return f"> **{escaped(part.text)}**" if part.warning else _not_a_list(escaped(part.text))


def _items(part: blocks.Items) -> str:
    listed = "\n".join(f"- {escaped(text)}" for text in part.texts)
    return f"**{escaped(part.subject)}**\n\n{listed}" if part.subject else listed


def _picture(part: blocks.Picture) -> str:
    return f"![{escaped(part.alternative)}](figures/{part.name}.svg)\n\n*{escaped(part.caption)}*"


def _table(part: blocks.Table) -> str:
    aligned = [":--" if i == 0 or i in part.left else "--:" for i in range(len(part.columns))]
    rows = [part.columns and [escaped(column) for column in part.columns], aligned]
    rows += [["<br>".join(map(_entry, entries)) for entries in row] for row in part.rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return f"**{escaped(part.caption)}**\n\n" + "\n".join(lines)


def _entry(entry: blocks.Entry) -> str:
    text = escaped(entry.text)
    if entry.strong or entry.tone:
        text = f"**{text}**"
    mark = f"{TONES[entry.tone]} " if entry.tone else ""
    return f"{mark}{text}" + (f" ({escaped(entry.note)})" if entry.note else "")


def _code(part: blocks.Code) -> str:
    return fenced(part.lines)


def _folded(part: blocks.Folded) -> str:
    inside = "\n\n".join(map(_block, part.blocks))
    return f"<details>\n<summary>{html.escape(part.summary)}</summary>\n\n{inside}\n\n</details>"


def _section(part: blocks.Section) -> str:
    return "\n\n".join([f"## {escaped(part.title)}", *map(_block, part.blocks)])


def _example(part: blocks.Example) -> str:
    lines = [f"**{escaped(part.title)}**", ""]
    lines += [f"- {name}: {_isolated(text)}" for name, text in part.texts]
    lines.append(f"- label: {_isolated(part.label)}")
    for answer, right, names in part.answers:
        mark = " (right)" if right else ""
        lines.append(f"- answer {_isolated(answer)}{mark}: {'; '.join(map(escaped, names))}")
    return "\n".join(lines)


def _isolated(text: str) -> str:
    return f"{ISOLATE}{escaped(text)}{END_OF_ISOLATE}"


def _not_a_list(text: str) -> str:
    return re.sub(r"^(\d+)([.)])|^([-+#>=])", r"\1\\\2\3", text)


WRITERS = {
    blocks.Code: _code,
    blocks.Example: _example,
    blocks.Folded: _folded,
    blocks.Items: _items,
    blocks.Paragraph: _paragraph,
    blocks.Picture: _picture,
    blocks.Section: _section,
    blocks.Split: lambda part: escaped(split_line(part)),
    blocks.Table: _table,
    blocks.Banner: _banner,
}
