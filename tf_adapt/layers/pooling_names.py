"""The names of the poolings, in a file that loads no TensorFlow: see `tf_adapt.layers.pooling`."""

POOLING_NAMES = ("first", "last", "mean", "max")
