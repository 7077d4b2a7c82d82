"""The space of a search: the keys, their values, and when they have them. Imports no TensorFlow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tf_adapt.comparison.search.section import SearchSection
from tf_adapt.config.messages import shown

RATE, EPOCHS = "training.learning_rate", "training.epochs"
DIGITS = 3  # of a number that is drawn: settings are read and written by people


@dataclass(frozen=True)
class Values:
    """One alternative of a key.

    Attributes:
        key: in a run's config, joined by dots.
        name: the key, with the number of the alternative where there are several.
        low, high: the ends of a range, of whole numbers if both are `int`; None: `choices`.
        when: the values of other searched keys with which it holds.
    """

    key: str
    name: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    choices: tuple[Any, ...] = ()
    when: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values between which all others are, or the choices."""
        return self.choices or (self.low, self.high)

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether its conditions hold, and its key has no value yet."""
        return self.key not in values and all(
            key in values and values[key] in allowed for key, allowed in self.when
        )


@dataclass(frozen=True)
class CellSearch:
    """What is searched in a cell, and how."""

    section: SearchSection
    space: tuple[Values, ...]


def drawn(space: Sequence[Values], draw: Callable[[Values], Any]) -> dict[str, Any]:
    """The values of a trial by key; `draw` gives that of an alternative whose conditions hold."""
    values: dict[str, Any] = {}
    for alternative in space:
        if alternative.holds(values):
            values[alternative.key] = draw(alternative)
    return values


def grid(space: Sequence[Values], values: Mapping[str, Any] | None = None) -> Iterator[dict]:
    """All settings of a space of choices; the last key changes first."""
    values = dict(values or {})
    if not space:
        yield values
        return
    first, *others = space
    if not first.holds(values):
        yield from grid(others, values)
        return
    for choice in first.choices:
        yield from grid(others, values | {first.key: choice})


def rounded(values: Values, value: float) -> float:
    """A drawn number to `DIGITS` significant digits, inside of its range."""
    return min(max(float(f"{value:.{DIGITS}g}"), values.low), values.high)


def in_words(space: Sequence[Values]) -> str:
    """`training.learning_rate 1e-05 to 0.001 by logarithm; training.epochs 2 to 4`."""
    return "; ".join(map(_values_in_words, space))


def _values_in_words(values: Values) -> str:
    text = ", ".join(map(shown, values.choices))
    if not values.choices:
        text = f"{values.low:g} to {values.high:g}" + (" by logarithm" if values.log else "")
    when = [f"{key} {' or '.join(map(shown, allowed))}" for key, allowed in values.when]
    return f"{values.key} {text}" + (f" (with {', '.join(when)})" if when else "")
