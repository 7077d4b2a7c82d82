"""Encoders built of keras-hub's layers: presets, and HuggingFace folders of the same families."""
