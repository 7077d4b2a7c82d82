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


@pytest.fixture
def set_lstm():
    """Gives an LSTM of both directions what AllenNLP recorded under a name."""

    def set_weights(layer, recorded: dict, name: str) -> None:
        for direction, suffix in ((layer.forward, ""), (layer.backward, "_reverse")):
            kernel, recurrent, *biases = (
                recorded[f"weight:{name}._module.{part}_l0{suffix}"]
                for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            direction.set_weights([kernel.T, recurrent.T, sum(biases)])

    return set_weights
