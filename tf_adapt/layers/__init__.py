"""Layers between an encoder and the answer, one a file: each can be used in any Keras model."""
