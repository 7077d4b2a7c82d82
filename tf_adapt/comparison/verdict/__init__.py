"""From scored cells to a verdict: ranking, evidence, headline. Pure functions."""
