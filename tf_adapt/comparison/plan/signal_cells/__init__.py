"""Cells of signals: those that depend on others, and ensembles whose members differ."""
