"""Bounds that configs and data share."""

# Largest training.max_length: tokens (words or word pieces) of one example.
MOST_TOKENS = 1_000_000
