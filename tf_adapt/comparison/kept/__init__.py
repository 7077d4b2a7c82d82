"""All answers of a comparison in one file, and its scores and tests computed from them alone."""
