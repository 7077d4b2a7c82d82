"""Data in Python: lists, columns, frames, datasets."""
