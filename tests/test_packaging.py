"""What a source distribution holds, and what an index shows of it."""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import tf_adapt

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools.build_meta import build_sdist; print(build_sdist(sys.argv[1]))"


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> dict[str, bytes]:
    """The files of the source distribution of what git has here."""
    folder = tmp_path_factory.mktemp("packaging")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        target = folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            target.symlink_to(ROOT / name)
    subprocess.run(
        [sys.executable, "-c", BUILD, folder],
        cwd=folder / "source",
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        members = [one for one in archive.getmembers() if one.isfile()]
        return {
            one.name.partition("/")[2]: archive.extractfile(one).read()
            if one.name.endswith("PKG-INFO")
            else b""
            for one in members
        }


@pytest.mark.slow
def test_it_has_what_the_readme_names_and_the_tests_read(content):
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "configs/quickstart.yaml",
        "docs/index.md",
        "examples/quick_start.ipynb",
        "hub_modules/pretrained/elmo_small/manifest.json",
        "requirements/oldest.txt",
        "tests/conftest.py",
        "tf_adapt/data/sample/README.md",
    ):
        assert name in content
    assert not [name for name in content if "__pycache__" in name]


@pytest.mark.slow
def test_an_index_shows_authors_links_and_no_link_into_nothing(content):
    information = content["PKG-INFO"].decode("utf-8")
    assert "Author: The tf_adapt authors" in information
    assert "Project-URL: Paper, https://" in information
    links = re.findall(r"\]\(([^)]*)\)", information)
    assert links and all(link.startswith("http") for link in links)


def test_the_version_is_one():
    """A release changes `tf_adapt/version.py`, and with it these two."""
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {tf_adapt.__version__}\n" in citation
    versions = re.findall(
        r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert next(one for one in versions if one != "Unreleased") == tf_adapt.__version__


def test_what_serves_without_tensorflow_is_asked_for_as_by_the_library():
    """The lines of requirements/light.txt are among those of setup.py."""
    lines = (ROOT / "requirements" / "light.txt").read_text("utf-8").splitlines()
    asked = [line for line in lines if not line.startswith("#")]
    setup = (ROOT / "setup.py").read_text("utf-8")
    assert len(asked) > 5
    assert [line for line in asked if f'"{line}"' not in setup] == []
