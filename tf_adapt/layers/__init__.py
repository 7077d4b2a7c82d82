"""Layers between an encoder and the outputs, one a file: each can be used in any Keras model."""
