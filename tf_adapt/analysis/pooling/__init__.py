"""Many comparisons, one question: differences of adaptations, pooled over data sets."""
