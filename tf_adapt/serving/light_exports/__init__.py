"""Trained models as exports that need no TensorFlow: see `tf_adapt.light.layout`."""
