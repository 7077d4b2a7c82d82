"""The moving averages in a layer: weights that training sets, but no gradient."""

import keras


def moving_averages(layer: keras.layers.Layer) -> list[keras.Variable]:
    """Those of all batch normalisations in a built layer."""
    norms = [
        inner
        for inner in layer._flatten_layers()
        if isinstance(inner, keras.layers.BatchNormalization)
    ]
    return [weight for norm in norms for weight in (norm.moving_mean, norm.moving_variance)]
