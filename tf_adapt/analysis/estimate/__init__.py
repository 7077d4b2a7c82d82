"""Before training: what frozen states tell of the labels."""
