"""The site: what its pages must name, and what reads the same on GitHub and on the site."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest
import yaml

import tf_adapt
from tf_adapt.comparison.plan.schema import config_schema
from tf_adapt.comparison.plan.sections import Compare
from tf_adapt.config.sections import Config

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def imported(name: str):
    """A module of `docs/`, found as mkdocs finds it."""
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def hooks():
    return imported("hooks")


@pytest.fixture(scope="module")
def named() -> dict[str, str]:
    """The names in the reference, and where they are."""
    reference = imported("reference_pages")
    texts = [path.read_text("utf-8") for path in sorted((DOCS / "reference").glob("*.md"))]
    found = [one for text in texts for one in reference.directives(text)]
    assert len(found) == len(dict(found)) == len({home for _, home in found})
    return dict(found)


def test_every_public_name_is_in_the_reference_as_users_write_it(named):
    names = {name.removeprefix("ta.") for name in named if name.startswith("ta.")}
    assert names == tf_adapt._HOMES.keys()
    assert "`ta.__version__`" in (DOCS / "reference" / "api.md").read_text("utf-8")


def test_every_page_of_the_reference_is_in_its_list_of_names(named):
    page = imported("reference_pages").names_page()
    for name, home in named.items():
        if "Error" not in name:  # on the page of the list
            assert f"#{home}) | " in page, name
    assert "| [`ta.predict`](serving.md#tf_adapt.serving.prediction.predict.predict) | " in page


def test_every_layer_and_head_is_in_the_reference(named):
    """Those that Keras can save: a user has to know them by their modules."""
    found = set()
    for room in ("layers", "heads"):
        for path in (ROOT / "tf_adapt" / room).glob("*.py"):
            tree = ast.parse(path.read_text("utf-8"))
            found |= {
                f"tf_adapt.{room}.{path.stem}.{node.name}"
                for node in tree.body
                if isinstance(node, ast.ClassDef) and node.name != "LstmWeights"  # inside BiLstm
                if any("register" in ast.unparse(one) for one in node.decorator_list)
            }
    assert len(found) >= 10
    assert found - set(named.values()) == set()


def test_directives_have_the_names_of_users():
    text = imported("reference_pages").with_homes("::: ta.Task\n\n::: tf_adapt.layers.crf.CRF\n")
    assert text == (
        "::: tf_adapt.tasks.task.Task\n    options:\n      heading: ta.Task\n"
        "      toc_label: Task\n\n"
        "::: tf_adapt.layers.crf.CRF\n    options:\n      heading: tf_adapt.layers.crf.CRF\n"
        "      toc_label: CRF\n"
    )


def test_a_notebook_becomes_a_page():
    code = {"cell_type": "code", "source": ["a = 1\n", "a"]}
    outputs = [
        {"output_type": "stream", "text": ["1\n", "2\n"]},
        {"output_type": "display_data", "data": {"text/html": "<pre>3</pre>", "text/plain": "3\n"}},
        {"output_type": "display_data", "data": {"image/png": "iVBO\n", "text/plain": "<Figure>"}},
        {"output_type": "execute_result", "data": {"text/html": "<table></table>"}},
    ]
    cells = [{"cell_type": "markdown", "source": "# A [page](../docs/index.md)"}]
    page = imported("notebook_pages").notebook_page(
        {"cells": [*cells, code | {"outputs": outputs}]}
    )
    assert page == (
        "# A [page](../index.md)\n\n```python\na = 1\na\n```\n\n"
        "```{ .text .output }\n1\n2\n3\n```\n\n"
        '<div class="output"><img alt="figure" src="data:image/png;base64,iVBO"></div>\n\n'
        '<div class="output">\n<table></table>\n</div>\n'
    )


def test_what_the_site_writes_has_its_place(hooks):
    texts = [path.read_text("utf-8") for path in DOCS.rglob("*.md")]
    assert sorted(hooks._PLACE.findall("\n".join(texts))) == sorted(hooks.WRITTEN)


def test_every_key_of_a_config_is_on_the_page(hooks):
    page = hooks.keys_page(config_schema())
    headings = re.findall(r"^### (.*)$", page, flags=re.MULTILINE)
    for key in Config.model_fields | Compare.model_fields:
        assert f"- **`{key}`** · " in page, key
    for path in ("data.columns", "training", "penalties.l2_sp", "compare", "compare.encoders"):
        assert sum(f"`{path}`" in heading for heading in headings) >= 1, path
    assert len(headings) == len(set(headings))
    assert "- **`patience`** · a whole number from 1 to 1000000, or null to run all epochs" in page
    assert '- **`score_on`** · test or dev · default `"test"`' in page
    assert "- **`dataset`** · " in page and " · needed" in page


LINKS = [
    ("index.md", "[a](../configs/names.yaml)", "[a](configs/names.yaml)"),
    ("reference/api.md", "[a](../../configs/names.yaml)", "[a](../configs/names.yaml)"),
    ("index.md", "[`configs/paper`](../configs/paper)", "`configs/paper`"),
    ("index.md", "[how](../CONTRIBUTING.md#tests)", "how (`CONTRIBUTING.md`)"),
    ("index.md", "[a](../examples/quick_start.ipynb)", "[a](examples/quick_start.md)"),
    ("index.md", "[news](../CHANGELOG.md)", "[news](changelog.md)"),
    ("index.md", "[a](verdict.md#x) [b](https://x.org/../y)", None),
    ("reference/api.md", "[a](../results.md) ![b](../images/b.png)", None),
]


def test_links_out_of_the_pages(hooks):
    for page, link, shown in LINKS:
        assert hooks.site_links(link, page) == (link if shown is None else shown)


def test_a_link_to_nothing_is_an_error(hooks):
    with pytest.raises(ValueError, match="docs/index.md: expected a file or folder .* ../absent"):
        hooks.site_links("[a](../absent.yaml)", "index.md")


def test_lists_read_the_same_on_github_and_on_the_site():
    """GitHub needs no empty line before a list and two spaces before an inner one; the site does,
    and four."""
    wrong = []
    for path in sorted(DOCS.rglob("*.md")):
        text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
        before = ""
        for line in text.splitlines():
            item = re.match(r"( *)([-*+]|\d+\.) ", line)
            inside = before.startswith((" ", "- ", "* ", "+ ")) or re.match(r"\d+\. ", before)
            if item and ((before.strip() and not inside) or len(item[1]) % 4):
                wrong.append(f"{path.name}: {line[:60]}")
            before = line
    assert wrong == []


def test_the_pages_are_short():
    """Nobody reads more; what is longer is two pages, or too much."""
    words = {path: len(path.read_text("utf-8").split()) for path in DOCS.rglob("*.md")}
    assert {path.name: count for path, count in words.items() if count > 2_000} == {}
    assert sum(words.values()) <= 40_000


def test_a_guide_begins_with_what_one_can_do_and_with_code():
    for path in DOCS.glob("guide_*.md"):
        title, _, first, *lines = path.read_text("utf-8").splitlines()
        assert title.startswith("# ") and first.startswith("After this page"), path.name
        code = next(number for number, line in enumerate(lines) if line.startswith("```"))
        assert code <= 6, path.name


def test_search_needs_no_server():
    """A browser starts no workers on pages from the disk: a shim stands in for them."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert {"search", "offline"} <= {one for one in config["plugins"] if isinstance(one, str)}
    (shim,) = config["extra"]["polyfills"]
    assert "iframe-worker" in shim and "window.Worker" in (DOCS / shim).read_text("utf-8")
