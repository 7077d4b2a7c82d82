"""Fixtures for the tests of features on disk."""

import pytest

from tf_adapt.encoder import feature_arrays, feature_cache


@pytest.fixture
def small_shards(monkeypatch):
    """Few texts already make several shards."""
    monkeypatch.setattr(feature_arrays, "SMALLEST_SHARD", 1)
    monkeypatch.setattr(feature_arrays, "MOST_SHARDS", 4)


@pytest.fixture
def passes(monkeypatch) -> list[int]:
    """The number of texts of each pass of the encoder."""
    found, compute = [], feature_cache.computed_shards

    def watched(prepared, number, graph, parts, orders, *more):
        found.append(sum(map(len, orders)))
        return compute(prepared, number, graph, parts, orders, *more)

    monkeypatch.setattr(feature_cache, "computed_shards", watched)
    return found
