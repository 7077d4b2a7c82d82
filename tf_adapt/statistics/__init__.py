"""Statistics of a comparison: scores as sums over items, significance tests of cells."""
