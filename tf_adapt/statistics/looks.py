"""How often a comparison may be looked at: the level of each look, 5 % over all of them."""

# 0.03 + 4 · 0.005 = 0.05: whatever the looks' timing, and however they depend on each other.
LEVELS = (0.03, 0.005, 0.005, 0.005, 0.005)


def level_of(look: int) -> float:
    """The level of the tests at a look, counted from 1; 0 after the last one that may decide.

    A look is a report on other runs than the report before: more seeds, cells or learning rates
    are asked for once the first result is known, so that a test at 5 % each time would find
    differences between equal cells more and more often. The sum of the levels bounds the
    probability of any false decision over all looks (Bonferroni). The information fractions of
    group-sequential designs do not apply: seeds grow in number, the test items do not.

    Raises:
        ValueError: look is below 1.
    """
    if look < 1:
        raise ValueError(f"look: expected a number of at least 1, got {look}")
    return LEVELS[look - 1] if look <= len(LEVELS) else 0.0
