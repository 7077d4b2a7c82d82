"""How often a verdict misleads, by simulation: `python -m benchmarks.verdict_errors`."""
