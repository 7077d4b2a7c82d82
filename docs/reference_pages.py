"""The pages of the API: the names that users write, instead of the modules they come from."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tf_adapt

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
# In the order of the site's navigation.
PAGES = (
    "comparing.md",
    "encoders.md",
    "models.md",
    "heads.md",
    "adaptation.md",
    "signals.md",
    "data.md",
    "serving.md",
    "generation.md",
)
_DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def directives(markdown: str) -> list[tuple[str, str]]:
    """As written (`ta.compare`), and where it is (`tf_adapt.comparison.in_python.compare`)."""
    return [(name, _home(name)) for name in _DIRECTIVE.findall(markdown)]


def _home(name: str) -> str:
    if not name.startswith("ta."):
        return name
    last = name.removeprefix("ta.")
    return f"{tf_adapt._HOMES[last]}.{last}"


def with_homes(markdown: str) -> str:
    """Directives as mkdocstrings reads them, under headings as users write the names."""

    def found(directive: re.Match) -> str:
        name = directive[1]
        last = name.rpartition(".")[2]
        options = f"    options:\n      heading: {name}\n      toc_label: {last}"
        return f"::: {_home(name)}\n{options}"

    return _DIRECTIVE.sub(found, markdown)


def names_page() -> str:
    """All names, page by page, each with the first line of its docstring."""
    return "\n\n".join("\n".join(_names(page)) for page in PAGES)


def _names(page: str) -> Iterator[str]:
    markdown = (FOLDER / page).read_text("utf-8")
    title = markdown.partition("\n")[0].removeprefix("# ")
    yield f"## [{title}]({page})\n"
    yield "| name | what it is |\n| --- | --- |"
    for name, home in directives(markdown):
        short = name if name.startswith("ta.") else name.rpartition(".")[2]
        yield f"| [`{short}`]({page}#{home}) | {first_line(home)} |"


def first_line(home: str) -> str:
    """The first line of a class's or function's docstring.

    Raises:
        KeyError: there is none of this name.
    """
    module, _, name = home.rpartition(".")
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8"))
    found = {node.name: node for node in tree.body if hasattr(node, "name")}
    return ast.get_docstring(found[name]).partition("\n\n")[0].replace("\n", " ")
