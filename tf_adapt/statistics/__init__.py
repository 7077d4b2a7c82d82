"""Statistics of a comparison: scores as sums over items, the test of two cells, all pairs."""
