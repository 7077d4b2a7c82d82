"""The engine OpenVINO in tests: skipped without its package, with a cache of the test's own."""

import importlib.util
from pathlib import Path

import pytest

HAS_OPENVINO = importlib.util.find_spec("openvino") is not None
needs_openvino = pytest.mark.skipif(
    not HAS_OPENVINO, reason="the extra [openvino] is not installed"
)
needs_int8 = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("openvino", "nncf")),
    reason="the extra [int8] is not installed",
)


def own_cache(folder: Path, monkeypatch) -> Path:
    """The folder of converted graphs, below `folder`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "tf_adapt" / "openvino"
