"""What every comparison with another implementation's numbers shares."""

import numpy as np
import pytest


@pytest.fixture
def compare(record_property):
    """Asserts closeness, and says how close: `compare(what, got, expected, tolerance)`."""

    def compare_arrays(what: str, got, expected, tolerance: float) -> None:
        got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
        assert got.shape == expected.shape, what
        assert got.size > 0, what
        largest = float(np.max(np.abs(got - expected)))
        record_property(what, largest)
        print(f"parity: {what}: largest difference {largest:.2e} (tolerance {tolerance:.0e})")
        assert largest <= tolerance, what

    return compare_arrays
