"""States and weights of the sizes of MiniLM's six layers."""

import numpy as np

WIDTH, INNER, LAYERS = 384, 1536, 6


def example(rows: int) -> tuple[dict[int, np.ndarray], list[np.ndarray]]:
    """States by their width, `[rows, width]`, and the weights of all layers."""
    random = np.random.default_rng(0)
    states = {width: random.normal(size=(rows, width)) for width in (WIDTH, INNER)}
    shapes = [*[(WIDTH, WIDTH)] * 4, (WIDTH, INNER), (INNER, WIDTH)] * LAYERS
    weights = [random.normal(0, shape[0] ** -0.5, shape) for shape in shapes]
    return (
        {width: array.astype("float32") for width, array in states.items()},
        [array.astype("float32") for array in weights],
    )
