"""Compares adaptations on the user's own data: many runs, paired tests, a verdict."""
