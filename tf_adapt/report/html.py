"""Blocks as one HTML file that needs nothing else: no script, no other file, no network."""

from html import escape
from importlib import resources
from string import Template

from tf_adapt.report import blocks
from tf_adapt.report.drawing import Drawing
from tf_adapt.words import visible

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


def to_html(title: str, parts: list, drawings: dict[str, Drawing]) -> str:
    """The text of `report.html`."""
    style = resources.files("tf_adapt.report").joinpath("report.css").read_text("utf-8")
    body = "\n".join(_block(part, drawings) for part in parts)
    return PAGE.substitute(title=escape(title), style=style, body=body)


def _block(part, drawings: dict[str, Drawing]) -> str:
    if isinstance(part, blocks.Picture):
        return _picture(part, drawings)
    if isinstance(part, blocks.Folded):
        inside = "\n".join(_block(one, drawings) for one in part.blocks)
        return f"<details>\n<summary>{escape(part.summary)}</summary>\n{inside}\n</details>"
    return WRITERS[type(part)](part)


def _verdict(part: blocks.Verdict) -> str:
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
    return "<ul>\n" + "\n".join(f"<li>{_foreign(text)}</li>" for text in part.texts) + "\n</ul>"


def _picture(part: blocks.Picture, drawings: dict[str, Drawing]) -> str:
    drawing = drawings[part.name].inline(part.name, part.alternative)
    return f"<figure>\n{drawing}\n<figcaption>{escape(part.caption)}</figcaption>\n</figure>"


def _table(part: blocks.Table) -> str:
    sides = ["left" if i == 0 or i in part.left else "" for i in range(len(part.columns))]
    header = "".join(
        f'<th scope="col"{_class(side)}>{_in_table(column)}</th>'
        for column, side in zip(part.columns, sides, strict=True)
    )
    longest = max((len(row[0][0].text) for row in part.rows), default=0)
    looks = "table long" if longest > LONG_NAME else "table"
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
    text = _in_table(entry.text)
    if entry.strong:
        text = f"<strong>{text}</strong>"
    if entry.tone:
        text = f'<strong class="{entry.tone}">{text}</strong>'
    return text + (f" <small>{_in_table(entry.note)}</small>" if entry.note else "")


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
    """Escaped, and with a direction of its own where it may have another one."""
    return escape(text) if text.isascii() else f"<bdi>{escape(text)}</bdi>"


def _in_table(text: str) -> str:
    """As `_foreign`, and long names may break after their underscores."""
    return _foreign(text).replace("_", "_<wbr>")


WRITERS = {
    blocks.Code: _code,
    blocks.Example: _example,
    blocks.Heading: lambda part: f"<h2>{escape(part.text)}</h2>",
    blocks.Items: _items,
    blocks.Paragraph: _paragraph,
    blocks.Table: _table,
    blocks.Verdict: _verdict,
}
