"""Predictions of trained and exported models, for texts in memory and for files."""
