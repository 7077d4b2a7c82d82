"""Executes the runs of a comparison: their folders, order, processes and progress."""
