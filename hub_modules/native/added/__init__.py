"""Weights that an adaptation adds to a native encoder: adapters, LoRA, projected attention."""
