"""The site: what its pages must name, and what reads the same on GitHub and on the site."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest
import yaml

import tf_adapt
from tf_adapt.comparison.plan.schema import config_schema
from tf_adapt.comparison.plan.sections import Compare
from tf_adapt.config.sections import Config

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
API = (DOCS / "reference" / "api.md").read_text("utf-8")
NAMED = re.findall(r"^::: ([\w.]+)$", API, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("hooks", DOCS / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_on_the_page():
    homes = {f"{home}.{name}" for name, home in tf_adapt._HOMES.items()}
    assert homes - set(NAMED) == set()
    assert "`ta.__version__`" in API
    assert len(NAMED) == len(set(NAMED))


def test_every_layer_and_head_is_on_the_page():
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
    assert found - set(NAMED) == set()


def test_every_name_on_the_page_is_there():
    for name in NAMED:
        module, _, last = name.rpartition(".")
        tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8"))
        assert last in {getattr(node, "name", None) for node in tree.body}, name


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


def test_the_page_of_keys_has_their_place(hooks):
    text = (DOCS / hooks.CONFIG_PAGE).read_text("utf-8")
    assert len(hooks._KEYS.findall(text)) == 1


LINKS = [
    ("index.md", "[a](../configs/names.yaml)", "[a](configs/names.yaml)"),
    ("reference/api.md", "[a](../../configs/names.yaml)", "[a](../configs/names.yaml)"),
    ("index.md", "[`configs/paper`](../configs/paper)", "`configs/paper`"),
    ("index.md", "[how](../CONTRIBUTING.md#tests)", "how (`CONTRIBUTING.md`)"),
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


def test_search_needs_no_server():
    """A browser starts no workers on pages from the disk: a shim stands in for them."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert {"search", "offline"} <= {one for one in config["plugins"] if isinstance(one, str)}
    (shim,) = config["extra"]["polyfills"]
    assert "iframe-worker" in shim and "window.Worker" in (DOCS / shim).read_text("utf-8")
