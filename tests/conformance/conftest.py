"""Every test that asks for a row of the table of layers runs once for each."""

import keras
import numpy as np
import pytest
from layer_table.encoders import ENCODERS
from layer_table.heads import HEADS
from layer_table.parts import PARTS
from layer_table.row import Row

ROWS = ENCODERS | PARTS | HEADS


def pytest_generate_tests(metafunc):
    """Every test that takes `row` runs once for each row; `encoder_row`: for each encoder's;
    `plain_row`: for each without what an adaptation adds, which has no dropout of its own;
    `layer_row`: for the first row of each layer, which is the one that names every argument."""
    encoders = {name: row for name, row in ENCODERS.items() if name.endswith("Encoder")}
    if "row" in metafunc.fixturenames:
        metafunc.parametrize("row", ROWS.values(), ids=ROWS, scope="module")
    if "encoder_row" in metafunc.fixturenames:
        metafunc.parametrize("encoder_row", encoders.values(), ids=encoders)
    if "plain_row" in metafunc.fixturenames:
        plain = encoders | PARTS | HEADS
        metafunc.parametrize("plain_row", plain.values(), ids=plain)
    if "layer_row" in metafunc.fixturenames:
        first = {row.layer.__name__: name for name, row in reversed(ROWS.items())}
        metafunc.parametrize("layer_row", [ROWS[n] for n in first.values()], ids=first.values())


@pytest.fixture(scope="module")
def layer(row) -> keras.layers.Layer:
    """The row's layer, for all tests that leave it as it is."""
    return row.make()


@pytest.fixture(scope="module")
def expected(row, layer) -> list[np.ndarray]:
    """What that layer makes of the row's inputs."""
    return row.results(layer)


@pytest.fixture
def rows() -> dict[str, Row]:
    return ROWS
