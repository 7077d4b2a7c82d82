"""The published comparisons: their answers in `docs/results`, the pages that are made of them."""
