"""Interim analyses ("looks") of a comparison: the significance level of each, 5 % in total."""

# 0.03 + 4 · 0.005 = 0.05 bounds the error for any timing of the looks and any dependence.
LEVELS = (0.03, 0.005, 0.005, 0.005, 0.005)


def level_of(look: int) -> float:
    """The significance level of the tests at a look, counted from 1; 0 after the last one.

    A look is a report with other runs than the previous report. Users add seeds, cells or learning
    rates after they know the first result, so that a test at 5 % each time would find differences
    between equal cells more and more often. The sum of the levels bounds the probability of any
    false decision over all looks (Bonferroni). The information fractions of group-sequential
    designs do not apply: the number of seeds grows, the test items stay the same.

    Raises:
        ValueError: look is below 1.
    """
    if look < 1:
        raise ValueError(f"look: expected a number of at least 1, got {look}")
    return LEVELS[look - 1] if look <= len(LEVELS) else 0.0
