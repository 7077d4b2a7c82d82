"""The splits of a run's data: read, cut, grouped, subsampled, and checked against each other."""
