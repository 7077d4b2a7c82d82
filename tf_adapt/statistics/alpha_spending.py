"""Interim analyses of a comparison: the significance level of each, 5 % in total."""

# 0.03 + 4 · 0.005 = 0.05 bounds the error for any timing of the analyses and any dependence.
LEVELS = (0.03, 0.005, 0.005, 0.005, 0.005)
# The number of an analysis that is the only one, at the whole level.
FINAL, FINAL_LEVEL = 0, 0.05


def level_of(look: int) -> float:
    """The significance level of the tests at an interim analysis; 0 after the last one.

    Each is a report with other runs than the previous report. Users add seeds, cells or learning
    rates after they know the first result, so that a test at 5 % each time would find differences
    between equal cells more and more often. The sum of the levels bounds the probability of any
    false decision over all of them (Bonferroni). The information fractions of group-sequential
    designs do not apply: the number of seeds grows, the test items stay the same.

    Args:
        look: number of the analysis, from 1; `FINAL` for one that no other comes before or after.

    Raises:
        ValueError: look is negative.
    """
    if look < FINAL:
        raise ValueError(f"look: expected a number of at least {FINAL}, got {look}")
    if look == FINAL:
        return FINAL_LEVEL
    return LEVELS[look - 1] if look <= len(LEVELS) else 0.0


def next_level(look: int) -> float:
    """The level of the analysis after this one; 0 where there is none."""
    return 0.0 if look == FINAL else level_of(look + 1)
