"""Encoder and head as one Keras model; language models; auxiliary losses; distillation."""
