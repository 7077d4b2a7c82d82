"""Fixtures for every test: where the shared data, models and recorded numbers are."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real datasets and pretrained weights (TF_ADAPT_SHARED)."""
    folder = os.environ.get("TF_ADAPT_SHARED")
    if not folder:
        _not_at_hand("TF_ADAPT_SHARED is not set: real data and weights are not at hand")
    return Path(folder)


@pytest.fixture(scope="session")
def reference() -> Path:
    """The recordings of other implementations (TF_ADAPT_REFERENCE, or $TF_ADAPT_SHARED/reference)."""
    folder = os.environ.get("TF_ADAPT_REFERENCE")
    if folder:
        return Path(folder)
    shared_folder = os.environ.get("TF_ADAPT_SHARED")
    if not shared_folder:
        _not_at_hand("neither TF_ADAPT_REFERENCE nor TF_ADAPT_SHARED is set")
    return Path(shared_folder) / "reference"


def _not_at_hand(reason: str) -> None:
    """Skips, except in CI, where a skipped test would look like a passed one."""
    if os.environ.get("TF_ADAPT_REQUIRE_SHARED"):
        pytest.fail(reason)
    pytest.skip(reason)
