"""Notebooks as Markdown pages, with the outputs that are kept in them."""

import re

_STYLE = re.compile(r"<style.*?</style>\n?", re.DOTALL)
# Python's tables and reports; what else has HTML has the same as plain text.
_HTML = ("<table", "<iframe")


def notebook_page(notebook: dict) -> str:
    """Cells and outputs from top to bottom; links as from a page of `docs/examples/`."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace("](../docs/", "](../"))
        else:
            parts += [f"```python\n{source}\n```", *_outputs(cell["outputs"])]
    return "\n\n".join(parts) + "\n"


def _outputs(outputs: list[dict]) -> list[str]:
    """What a cell printed in one block, then pictures and tables, each in its place."""
    parts, printed = [], []
    for output in outputs:
        shown = _shown(output.get("data", {}))
        if shown is None:
            text = output.get("text") or output["data"]["text/plain"]
            printed.append("".join(text).strip("\n"))
        else:
            parts += [*_block(printed), shown]
            printed = []
    return [*parts, *_block(printed)]


def _shown(data: dict) -> str | None:
    html = "".join(data.get("text/html", ""))
    if any(mark in html for mark in _HTML):
        return f'<div class="output">\n{_STYLE.sub("", html)}\n</div>'
    if "image/png" in data:
        png = "".join(data["image/png"]).replace("\n", "")
        return f'<div class="output"><img alt="figure" src="data:image/png;base64,{png}"></div>'
    return None


def _block(printed: list[str]) -> list[str]:
    lines = "\n".join(filter(None, printed))
    return [f"```{{ .text .output }}\n{lines}\n```"] if lines else []
