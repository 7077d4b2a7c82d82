"""The engine OpenVINO in tests: skipped without its package, with a cache of the test's own."""

import importlib.util
from pathlib import Path

import pytest

needs_openvino = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="the extra [openvino] is not installed"
)
needs_int8 = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("openvino", "nncf")),
    reason="the extra [int8] is not installed",
)


def own_cache(folder: Path, monkeypatch) -> Path:
    """The folder of converted graphs, below `folder`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "tf_adapt" / "openvino"
