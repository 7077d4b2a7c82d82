"""Fixtures of the analysis of domains: a tiny MultiNLI and reference corpora."""

from pathlib import Path

import pytest
from tiny_mnli import content, data_of, text_file, write, write_mnli


@pytest.fixture(scope="session")
def mnli(tmp_path_factory) -> Path:
    return write_mnli(tmp_path_factory.mktemp("mnli"))


@pytest.fixture
def genres(mnli, tmp_path) -> Path:
    return write(tmp_path / "mnli.yaml", content(data_of(mnli)))


@pytest.fixture
def wiki(tmp_path) -> Path:
    return text_file(tmp_path / "wiki.txt", "The press writes nothing\n\nthe hotel\n")


@pytest.fixture
def books(tmp_path) -> Path:
    return text_file(tmp_path / "books.txt", "He said , he said\n")
