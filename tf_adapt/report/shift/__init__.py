"""Under shift: the cells of a comparison on test sets of other domains."""
