"""The moving averages of batch normalisation: weights that training updates without a gradient."""

import keras


def moving_averages(layer: keras.layers.Layer) -> list[keras.Variable]:
    """Those of all batch normalisations in a built layer."""
    norms = [
        inner
        for inner in layer._flatten_layers()
        if isinstance(inner, keras.layers.BatchNormalization)
    ]
    return [weight for norm in norms for weight in (norm.moving_mean, norm.moving_variance)]
