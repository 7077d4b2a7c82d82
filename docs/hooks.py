"""What mkdocs does beyond its pages: keys of a config, names of the API, handles that are refused,
notebooks, reports, the changelog, links out of `docs/`."""

import json
import posixpath
import re
from functools import cache
from pathlib import Path

from notebook_pages import notebook_page
from reference_pages import names_page, with_homes

from tf_adapt.comparison.plan.schema import config_schema
from tf_adapt.comparison.plan.sections import VARIED

ROOT = Path(__file__).resolve().parents[1]
REFUSED = "docs/refused_handles.json"
CHANGELOG, CONFIG_PAGE = "changelog.md", "reference/config.md"
# Files that pages link to beside pages: the site has them under the same name.
SHOWN = ("configs/**/*.yaml", "examples/*.py")
NOTEBOOKS = "examples/*.ipynb"
_PLACE = re.compile(r"<!-- (\w+): written by the site -->")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_REFERENCE = re.compile(r"#/\$defs/(\w+)")
# What stands in the place of that name.
WRITTEN = {
    "keys": lambda: keys_page(config_schema()),
    "names": names_page,
    "reports": lambda: gallery_of(published_reports()),
    "refused": lambda: refused_page(json.loads((ROOT / REFUSED).read_text("utf-8"))),
}


def on_files(files, config):
    """Adds the changelog, notebooks, reports, and the files that pages may link to."""
    from mkdocs.structure.files import File

    def add(name: str, **source) -> None:
        files.append(File.generated(config, name, **source))

    text = (ROOT / "CHANGELOG.md").read_text("utf-8").replace("](docs/", "](")
    add(CHANGELOG, content=text)
    for path in sorted(ROOT.glob(NOTEBOOKS)):
        notebook = json.loads(path.read_text("utf-8"))
        add(f"examples/{path.stem}.md", content=notebook_page(notebook))
    for report in published_reports():
        add(f"reports/{report.name}.html", content=report.html)
        add(f"reports/{report.name}.svg", content=report.svg)
    for pattern in SHOWN:
        for path in sorted(ROOT.glob(pattern)):
            add(path.relative_to(ROOT).as_posix(), abs_src_path=str(path))
    return files


@cache
def published_reports() -> tuple:
    """The reports of `docs/results`."""
    from benchmarks.results.gallery import shown
    from benchmarks.results.published import published

    return tuple(shown(published()))


def gallery_of(reports: tuple) -> str:
    """The pictures of reports, with what they say."""
    from benchmarks.results.gallery import gallery

    return gallery(reports)


def refused_page(rows: list[dict]) -> str:
    """Handles that are refused: what is wrong, the handle, the message."""
    lines = ["| what is wrong | handle | message |", "| --- | --- | --- |"]
    for row in rows:
        message = row["message"].replace("|", "\\|")
        lines.append(f"| {row['wrong']} | `{row['handle']}` | `` {message} `` |")
    return "\n".join(lines)


def on_page_markdown(markdown, page, config, files):
    """Links that hold on the site, and what the site writes."""
    markdown = _PLACE.sub(lambda place: WRITTEN[place[1]](), with_homes(markdown))
    return site_links(markdown, page.file.src_uri)


def site_links(markdown: str, page: str) -> str:
    """Links to files outside `docs/`: to their copy on the site where there is one, else as text.

    Raises:
        ValueError: there is no such file.
    """
    shown = {path for pattern in SHOWN for path in ROOT.glob(pattern)}

    def on_the_site(link: re.Match) -> str:
        text, target, _ = link.groups()
        if "://" in target:
            return link[0]
        name = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
        if name.startswith("docs/"):
            return link[0]
        if not (ROOT / name).exists():
            raise ValueError(f"docs/{page}: expected a file or folder in a link, got {target}")
        home = posixpath.dirname(page) or "."
        if name == "CHANGELOG.md":
            return f"[{text}]({posixpath.relpath(CHANGELOG, home)})"
        if name.endswith(".ipynb"):
            return f"[{text}]({posixpath.relpath(name.replace('.ipynb', '.md'), home)})"
        if ROOT / name in shown:
            return f"[{text}]({posixpath.relpath(name, home)})"
        return text if name in text else f"{text} (`{name}`)"

    return _LINK.sub(on_the_site, markdown)


def keys_page(schema: dict) -> str:
    """All keys of a config as Markdown, section by section."""
    sections, paths = schema["$defs"], {}
    _note_paths(sections, "Run", "", paths)
    _note_paths(sections, "Compare", "compare", paths)
    titles = {name: ", ".join(f"`{path}`" for path in found) for name, found in paths.items()}
    several = {title for title in titles.values() if list(titles.values()).count(title) > 1}
    for name, title in titles.items():
        if title in several:  # forms of one section
            words = sections[name]["description"].splitlines()[0].split(";")[0].rstrip(".")
            titles[name] = f"{title}: {words[0].lower()}{words[1:]}"
    titles["Run"] = "A run"
    moved = ", ".join(f"`{'.'.join(key)}` (here `{home}`)" for key, home in VARIED.items())
    extra = {"Compare": f"Beside it stand the sections of a run, without {moved}."}
    parts = []
    for name, title in titles.items():
        parts += [f"### {title}", sections[name]["description"], extra.get(name, "")]
        parts.append(_keys(sections[name]))
    return "\n\n".join(parts)


def _note_paths(sections: dict, name: str, path: str, paths: dict[str, list[str]]) -> None:
    """Where each section can stand: first itself, then those in it."""
    paths.setdefault(name, []).append(path)
    if len(paths[name]) > 1:
        return
    for key, field in sections[name]["properties"].items():
        for inner in _inner(field):
            _note_paths(sections, inner, f"{path}.{key}".lstrip("."), paths)


def _inner(field: dict) -> list[str]:
    return _REFERENCE.findall(json.dumps(field))


def _keys(section: dict) -> str:
    needed = section.get("required", [])
    lines = []
    for key, field in section["properties"].items():
        meaning, _, expected = field.get("description", "").partition("Expected: ")
        words = expected.rstrip(".") or _form(field)
        default = " · needed" if key in needed else _default(field)
        lines.append(
            f"- **`{key}`** · {words}{default}" + (f"  \n    {meaning}" if meaning else "")
        )
    return "\n".join(lines)


def _form(field: dict) -> str:
    """What a key without a word of its own holds: a section, or what another key holds."""
    forms = len(_inner(field))
    if not forms:
        return "the name of a column"
    return "a section" if forms == 1 else "a section in one of the forms below"


def _default(field: dict) -> str:
    value = field.get("default", ...)
    if value is ... or isinstance(value, dict):  # the keys of a section have theirs
        return ""
    return f" · default `{json.dumps(value, ensure_ascii=False)}`"
