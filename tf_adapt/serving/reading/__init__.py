"""Exports in memory: each signature a function of texts, whatever computes it."""
