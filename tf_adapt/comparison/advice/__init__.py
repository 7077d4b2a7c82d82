"""What others found: the paper's guidelines, and the published comparisons."""
