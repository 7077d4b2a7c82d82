"""Transformers whose positions are in the attention: rotary (ModernBERT), by distance (MPNet)."""
