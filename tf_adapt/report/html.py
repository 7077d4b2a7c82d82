"""Blocks as one self-contained HTML file: no script, no other file, no network."""

import re
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from hub_modules.storage.json_files import read_bytes
from tf_adapt.printing.words import visible
from tf_adapt.report import blocks
from tf_adapt.report.figures.drawing import Drawing

PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<main>
$body
</main>
</body>
</html>
""")

LONG_NAME, LONG_SENTENCE = 24, 160
FEW_COLUMNS = 2  # of more a narrow screen shows a part
FRAME_HEIGHT = "40rem"


def _icon(name: str, paths: str) -> str:
    return (
        f'<svg class="icon" viewBox="0 0 16 16" role="img" aria-label="{name}">'
        f'<path d="{paths}"/></svg>'
    )


# Icons as SVG paths: a filled flame; a snowflake of three crossed arms with branches.
_FLAME = "M8 1c.5 3 4 4.5 4 8.5a4 4 0 0 1-8 0C4 7.5 5 6.5 5.5 5.5 6 7 7 7 7 6 7 4 7 2.5 8 1z"
_SNOW = (
    "M8 1v14M2 4.5l12 7M2 11.5l12-7M6 2l2 2 2-2M6 14l2-2 2 2M2 7.5l2.5-1-.5-2.5"
    "M14 7.5l-2.5-1 .5-2.5M2 8.5l2.5 1-.5 2.5M14 8.5l-2.5 1 .5 2.5"
)
ICONS = {"🔥": _icon("tuned", _FLAME), "\N{SNOWFLAKE}": _icon("frozen", _SNOW)}


def to_html(title: str, parts: list, drawings: dict[str, Drawing]) -> str:
    """The text of `report.html`."""
    style = resources.files("tf_adapt.report").joinpath("report.css").read_text("utf-8")
    body = "\n".join(_block(part, drawings) for part in parts)
    return PAGE.substitute(title=escape(title), style=style, body=body)


def to_frame(report: str | Path) -> str:
    """A written `report.html` in an iframe, for a notebook or another page: styles and ids are
    isolated.

    Raises:
        ArtifactError: it cannot be read.
    """
    page = read_bytes(Path(report)).decode("utf-8")
    return (
        f'<iframe sandbox srcdoc="{escape(page)}" title="report" style="width: 100%; '
        f'height: {FRAME_HEIGHT}; resize: vertical; border: 1px solid #8b939c"></iframe>\n'
        f"<p>report: <code>{escape(visible(report))}</code></p>"
    )


def _block(part, drawings: dict[str, Drawing]) -> str:
    if isinstance(part, blocks.Picture):
        return _picture(part, drawings)
    if isinstance(part, blocks.Section):
        inside = "\n".join(_block(block, drawings) for block in part.blocks)
        heading = f"<summary><h2>{escape(part.title)}</h2></summary>"
        return f'<details class="section">\n{heading}\n{inside}\n</details>'
    if isinstance(part, blocks.Folded):
        inside = "\n".join(_block(block, drawings) for block in part.blocks)
        return f"<details>\n<summary>{escape(part.summary)}</summary>\n{inside}\n</details>"
    return WRITERS[type(part)](part)


def _banner(part: blocks.Banner) -> str:
    states = {True: "decided", False: "not decided", None: "open"}
    state = states[part.decided]
    looks = "decided" if part.decided else "undecided"
    size = ' class="long"' if len(part.sentence) > LONG_SENTENCE else ""
    return (
        f'<header class="verdict {looks}">\n<p class="subject">{escape(part.subject)} '
        f'<span class="state">{state}</span></p>\n'
        f"<h1{size}>{_foreign(part.sentence)}</h1>\n</header>"
    )


def _paragraph(part: blocks.Paragraph) -> str:
    looks = ' class="warning"' if part.warning else ""
    return f"<p{looks}>{_foreign(part.text)}</p>"


def _items(part: blocks.Items) -> str:
    texts = "\n".join(f"<li>{_with_code(_whole_names(text))}</li>" for text in part.texts)
    listed = f"<ul>\n{texts}\n</ul>"
    if not part.subject:
        return listed
    return f'<section class="about">\n<h3>{escape(part.subject)}</h3>\n{listed}\n</section>'


def _split(part: blocks.Split) -> str:
    bars = "".join(f'<span style="flex-grow:{count}"></span>' for _, count in part.parts)
    names = "".join(f"<li>{escape(what)} {count:,}</li>" for what, count in part.parts)
    note = f"\n<p>{escape(part.note)}</p>" if part.note else ""
    return f'<div class="split">\n<div class="bar">{bars}</div>\n<ul>{names}</ul>{note}\n</div>'


def _picture(part: blocks.Picture, drawings: dict[str, Drawing]) -> str:
    drawing = drawings[part.name].inline(part.name, part.alternative)
    return (
        f'<figure class="wide">\n<div class="scroll" role="region" tabindex="0" '
        f'aria-label="{escape(part.caption)}">\n{drawing}\n</div>\n'
        f"<figcaption>{escape(part.caption)}</figcaption>\n</figure>"
    )


def _table(part: blocks.Table) -> str:
    sides = ["left" if i == 0 or i in part.left else "" for i in range(len(part.columns))]
    if part.main is not None:
        sides[part.main] = f"{sides[part.main]} main".strip()
    header = "".join(
        f'<th scope="col"{_class(side)}>{_whole_names(column)}</th>'
        for column, side in zip(part.columns, sides, strict=True)
    )
    longest = max((len(row[0][0].text) for row in part.rows), default=0)
    looks = "table long" if longest > LONG_NAME else "table"
    looks += " wide" if len(part.columns) > FEW_COLUMNS else ""
    looks += "" if part.main is None else " reordered"
    lines = [
        f'<figure class="{looks}">\n<figcaption>{_foreign(part.caption)}</figcaption>',
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(part.caption)}">',
        f"<table>\n<thead><tr>{header}</tr></thead>\n<tbody>",
    ]
    for first, *others in part.rows:
        fields = "".join(
            f"<td{_class(side)}{_shade(entries)}>{_entries(entries)}</td>"
            for entries, side in zip(others, sides[1:], strict=True)
        )
        lines.append(f'<tr><th scope="row" class="left">{_entries(first)}</th>{fields}</tr>')
    return "\n".join([*lines, "</tbody>\n</table>\n</div>\n</figure>"])


def _entries(entries: list[blocks.Entry]) -> str:
    return "".join(f'<div class="entry">{_entry(entry)}</div>' for entry in entries)


def _entry(entry: blocks.Entry) -> str:
    text = _whole_names(entry.text)
    if entry.strong:
        text = f"<strong>{text}</strong>"
    if entry.tone:
        text = f'<strong class="{entry.tone}">{text}</strong>'
    return text + (f" <small>{_whole_names(entry.note)}</small>" if entry.note else "")


def _shade(entries: list[blocks.Entry]) -> str:
    shares = [entry.share for entry in entries if entry.share is not None]
    return f' style="background:rgb(47 127 193 / {shares[0] * 55:.0f}%)"' if shares else ""


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _code(part: blocks.Code) -> str:
    text = "\n".join(visible(line) for line in part.lines)
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'


def _example(part: blocks.Example) -> str:
    lines = [f'<section class="example">\n<h3>{_foreign(part.title)}</h3>\n<dl>']
    lines += [f'<dt>{name}</dt><dd dir="auto">{escape(text)}</dd>' for name, text in part.texts]
    lines.append(f'<dt>label</dt><dd dir="auto"><strong>{escape(part.label)}</strong></dd>')
    for answer, right, names in part.answers:
        mark = ' <span class="right">✓ right</span>' if right else ""
        cells = "; ".join(map(_foreign, names))
        lines.append(f"<dt>answer {_foreign(answer)}{mark}</dt><dd>{cells}</dd>")
    return "\n".join([*lines, "</dl>\n</section>"])


def _foreign(text: str) -> str:
    """Escaped text, isolated in direction unless ASCII, with ❄ and 🔥 as icons, which fonts may
    lack."""
    plain = text.replace("🔥", "").replace("\N{SNOWFLAKE}", "")
    isolated = escape(text) if plain.isascii() else f"<bdi>{escape(text)}</bdi>"
    for character, icon in ICONS.items():
        # No line break between the icon and the following word.
        whole = rf'<span class="name">{icon} \1</span>'
        isolated = re.sub(rf"{character} ([\w.-]{{1,{LONG_NAME}}})", whole, isolated)
        isolated = isolated.replace(character, icon)
    return isolated


def _whole_names(text: str) -> str:
    """As `_foreign`, without line breaks in words with underscores."""
    return re.sub(r"[\w.+-]*_[\w.+-]*", _whole, _foreign(text))


def _with_code(text: str) -> str:
    """What a sentence has between backticks, commands and keys, as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def _whole(name: re.Match) -> str:
    # Names wider than a phone's column may break after underscores.
    if len(name[0]) > LONG_NAME:
        return name[0].replace("_", "_<wbr>")
    return f'<span class="name">{name[0]}</span>'


WRITERS = {
    blocks.Code: _code,
    blocks.Example: _example,
    blocks.Items: _items,
    blocks.Paragraph: _paragraph,
    blocks.Split: _split,
    blocks.Table: _table,
    blocks.Banner: _banner,
}
