"""Interim analyses of a comparison: the significance level of each, 5 % in total."""

# 0.03 + 4 · 0.005 = 0.05 bounds the error for any timing of the analyses and any dependence.
LEVELS = (0.03, 0.005, 0.005, 0.005, 0.005)
# The number of an analysis that is the only one, at the whole level.
FINAL, FINAL_LEVEL = 0, 0.05


def level_of(analysis: int) -> float:
    """The significance level of the tests at an interim analysis; 0 after the last one.

    Each is a report with other runs than the previous report. Users add seeds, cells or learning
    rates after they know the first result, so that a test at 5 % each time would find differences
    between equal cells more and more often. The sum of the levels bounds the probability of any
    false decision over all of them (Bonferroni). The information fractions of group-sequential
    designs do not apply: the number of seeds grows, the test items stay the same.

    Args:
        analysis: its number, from 1; `FINAL` for one that no other comes before or after.

    Raises:
        ValueError: analysis is negative.
    """
    if analysis < FINAL:
        raise ValueError(f"analysis: expected a number of at least {FINAL}, got {analysis}")
    if analysis == FINAL:
        return FINAL_LEVEL
    return LEVELS[analysis - 1] if analysis <= len(LEVELS) else 0.0


def next_level(analysis: int) -> float:
    """The level of the analysis after this one; 0 where there is none."""
    return 0.0 if analysis == FINAL else level_of(analysis + 1)
