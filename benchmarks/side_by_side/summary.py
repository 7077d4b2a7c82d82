"""What the times of a measurement say: medians, ratios, and how far they spread."""

import statistics
from typing import Any


def median(numbers: list[float]) -> float:
    """The middle one; of an even count the mean of the two in the middle."""
    return statistics.median(numbers)


def spread(numbers: list[float]) -> tuple[float, float]:
    """The smallest and the largest."""
    return min(numbers), max(numbers)


def ratios(theirs: list[float], ours: list[float]) -> list[float]:
    """Their time / ours, of each round: what else runs on the machine hits both of a round."""
    return [their / our for their, our in zip(theirs, ours, strict=False)]


def agrees(contestant: dict[str, Any]) -> bool | None:
    """Whether its outputs are within the tolerance; None where nothing was compared."""
    if contestant["difference"] is None:
        return None
    return contestant["difference"] <= contestant["tolerance"]


def problems(measurement: dict[str, Any]) -> list[str]:
    """What a reader must know before the numbers: outputs that differ."""
    return [
        f"{measurement['work']}: {one['name']}: outputs differ by {one['difference']:.3g}, "
        f"expected at most {one['tolerance']:g}"
        for one in measurement["contestants"]
        if agrees(one) is False
    ]


def our_failure(measurement: dict[str, Any]) -> list[str]:
    """Whether we failed, as a line. An alternative that is not there is no failure of the run."""
    ours = measurement["contestants"][0]
    return [f"{measurement['work']}: {ours['failure']}"] if ours["failure"] is not None else []


def reached(measurement: dict[str, Any], contestant: dict[str, Any]) -> bool | None:
    """Whether the contestant's numbers are what they should be; None where nothing is asked."""
    ours = measurement["contestants"][0]
    if contestant is ours:
        limits = measurement["at_most"], measurement.get("at_most_mb")
        if limits == (None, None) or not ours["seconds"]:
            return None
        seconds, megabytes = (float("inf") if limit is None else limit for limit in limits)
        return median(ours["seconds"]) < seconds and ours["peak_mb"] <= megabytes
    wanted = measurement["at_least"].get(contestant["name"])
    found = ratios(contestant["seconds"], ours["seconds"])
    if wanted is None or not found:
        return None
    return median(found) >= wanted
