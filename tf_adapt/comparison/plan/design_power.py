"""How large a difference a planned comparison can decide, in words. Imports no TensorFlow."""

from tf_adapt.printing.words import counted, listed
from tf_adapt.statistics.alpha_spending import LEVELS
from tf_adapt.statistics.power import Design, cheapest_design, power, seeds_on

POINTS = (1, 2, 5, 10)
WANTED = 5  # points
SEEDS, REPEATS = (3, 5, 10, 20), (2, 3, 4, 6, 10)
ITEMS = (100, 200, 500, 1000, 2000, 5000)


def power_lines(design: Design, cells: int) -> list[str]:
    """Two lines: with what probability differences are decided; what would decide `WANTED` points.

    Args:
        cells: their number; of their pairs the one with the strictest level is told.
    """
    level = LEVELS[0] / max(1, cells * (cells - 1) // 2)
    chances = [power(points / 100, design, level=level) for points in POINTS]
    among = f", the hardest pair of {cells} cells" if cells > 2 else ""
    return [
        f"would decide a true difference of {listed([str(points) for points in POINTS])} points in "
        f"{listed([f'{100 * chance:.0f}' for chance in chances])} of 100 comparisons (accuracy "
        f"near 80 %, seeds that deviate by a point{among})",
        f"{WANTED} points in four of five comparisons: {_cheapest(design, level)}",
    ]


def _cheapest(design: Design, level: float) -> str:
    if power(WANTED / 100, design, level=level) >= 0.8:
        return "this design does"
    folds = design.trainings // design.answers
    if folds > 1:
        more = [Design(folds * repeats, repeats, design.items) for repeats in REPEATS]
        enough = cheapest_design(WANTED / 100, more, level=level)
        if enough is not None:
            repeats = counted(enough.answers, "repeat")
            return f"{repeats} would (`--seeds {enough.answers}`)"
        return f"no number of repeats up to {REPEATS[-1]}; label more examples"
    here = cheapest_design(
        WANTED / 100, [seeds_on(seeds, design.items) for seeds in SEEDS], level=level
    )
    if here is not None:
        return f"{counted(here.trainings, 'seed')} on these {design.items:,} scored examples would"
    other = cheapest_design(
        WANTED / 100, [seeds_on(seeds, items) for seeds in SEEDS for items in ITEMS], level=level
    )
    if other is None:
        return f"no design up to {SEEDS[-1]} seeds on {ITEMS[-1]:,} scored examples"
    return (
        f"{counted(other.trainings, 'seed')} on about {other.items:,} scored examples would; label "
        "more (data.test)"
    )
