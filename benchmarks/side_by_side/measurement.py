"""What is measured: one piece of work, and those who do it."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contestant:
    """Somebody who does the work: a script of `benchmarks/children`, in one environment.

    Args:
        name: as the page shows it.
        script: file name in `benchmarks/children`.
        environment: a key of `environments.ENVIRONMENTS`.
        job: what the script is told, beside what the measurement tells all of them.
        tolerance: largest absolute difference of its outputs from the first contestant's.
        why: why the outputs may differ by as much as `tolerance` says; for the page.
        failure: why it cannot take part, where that is known before.
    """

    name: str
    script: str
    environment: str = "ours"
    job: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0
    why: str = ""
    failure: str | None = None


@dataclass(frozen=True)
class Measurement:
    """One piece of work that several contestants do in turns; the first is what we compare with.

    Args:
        work: what is done, for the page.
        contestants: at least one.
        job: what all of them are told.
        rounds: turns of each.
        calls: timed calls in a turn; their median is the time of the turn, or with `fastest` the
            smallest.
        fastest: see `calls`.
        percentile: of the calls of a turn, in place of their median.
        compared: what is compared, for the page; "" where there is nothing to compare.
        unit: what `amount` of a child's answer counts, as "tokens".
        at_least: the ratio to reach, by contestant.
        at_most: seconds that the first contestant may take.
        at_most_mb: megabytes that it may hold.
    """

    work: str
    contestants: list[Contestant]
    job: dict[str, Any] = field(default_factory=dict)
    rounds: int = 7
    calls: int = 1
    fastest: bool = False
    percentile: int | None = None
    compared: str = ""
    unit: str = ""
    at_least: dict[str, float] = field(default_factory=dict)
    at_most: float | None = None
    at_most_mb: float | None = None
