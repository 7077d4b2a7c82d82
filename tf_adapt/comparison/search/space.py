"""The space of a search in one cell: the keys, their values, and when they have them.

A key has alternatives; the first whose conditions hold gives its value. Conditions on keys that are
the same in all runs of a cell are settled here, those on searched keys in each trial. Imports
neither TensorFlow nor Optuna.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tf_adapt.adaptation.adaptations import SHORT_NAMES
from tf_adapt.comparison.search.section import GRID, SearchSection, ValuesSection
from tf_adapt.config.default_training import default_rates
from tf_adapt.config.messages import Problems, shown
from tf_adapt.config.reading import checked_config
from tf_adapt.config.sections import Config, TaskConfig
from tf_adapt.paper import TUNED
from tf_adapt.printing.words import did_you_mean
from tf_adapt.training.resolving.run_config import flat

KEY = ("compare", "search", "space")
RATE, EPOCHS, NAME = "training.learning_rate", "training.epochs", "adaptation.name"
DIGITS = 3  # of a number that is drawn: settings are read and written by people
# What all trials of a cell share, by the beginning of the key.
_FIXED = (
    "about", "data", "encoder", "features", "head", NAME, "objective", "slices", "slice_heads",
    "start", "target", "tasks", "teacher", "training.devices", "training.seed",
    "training.stop_below", "training.strategy", "weak",
)  # fmt: skip


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


def cell_search(config: Config, section: SearchSection, problems: Problems) -> CellSearch | None:
    """What is searched in a cell; None, and problems, if its runs would be refused."""
    given = section.space or _paper(config)
    known = flat(config.model_dump())
    wrong = {key: [*_key_problems(key, values)] for key, values in given.items()}
    for key, found in wrong.items():
        for problem in found:
            problems.add((*KEY, key), problem)
    if any(wrong.values()):
        return None
    space, searched = [], set()
    for key, alternatives in given.items():
        path = _in_config(config, key)
        for number, values in enumerate(alternatives):
            when = _when(config, values, searched, known, problems, key)
            if when is not None:
                name = path if len(alternatives) == 1 else f"{path}[{number}]"
                space.append(_values(path, name, values, when))
            if when == ():
                break  # it holds in every trial
        searched |= {path} & {values.key for values in space}
    _check_cell(config, section, space, problems)
    return CellSearch(section, tuple(space))


def _values(path: str, name: str, values: ValuesSection, when: tuple) -> Values:
    choices = tuple(values.choices or ())
    if path == RATE:  # as `training.learning_rate` itself takes whole numbers
        choices = tuple(float(choice) for choice in choices)
    low, high = values.low, values.high
    if isinstance(low, float) or isinstance(high, float):
        low, high = float(low), float(high)
    return Values(path, name, low, high, values.log, choices, when)


def _in_config(config: Config, key: str) -> str:
    """The path of a key; with several tasks those of the head are the target's."""
    root = key.partition(".")[0]
    if config.tasks is not None and root in TaskConfig.model_fields:
        return f"tasks.{config.target}.{key}"
    return key


def _key_problems(key: str, alternatives: Sequence[ValuesSection]) -> Iterator[str]:
    fixed = next((name for name in _FIXED if f"{key}.".startswith(f"{name}.")), None)
    if fixed is not None:
        yield f"expected a key that may differ between trials, got {fixed}, which all share"
    for values in alternatives:
        yield from _range_problems(values)


def _range_problems(values: ValuesSection) -> Iterator[str]:
    low, high = values.low, values.high
    if (values.choices is None) == (low is None and high is None):
        yield "expected low and high, or choices, got both or neither; leave one of them out"
    elif values.choices is None and (low is None or high is None or low >= high):
        yield f"expected low below high, got {shown(low)} and {shown(high)}"
    elif values.log and (values.choices is not None or low <= 0):
        yield f"expected a range above 0 with log: true, got {shown(low)}"
    for choice in values.choices or ():
        if isinstance(choice, (list, dict)):
            yield f"expected texts, numbers, true, false or null as choices, got {shown(choice)}"
    if len(set(map(repr, values.choices or ()))) < len(values.choices or ()):
        yield f"expected each choice once, got {values.choices}"


def _when(
    config: Config,
    values: ValuesSection,
    searched: set[str],
    known: Mapping[str, Any],
    problems: Problems,
    key: str,
) -> tuple[tuple[str, tuple[Any, ...]], ...] | None:
    """The conditions on searched keys; None if one on a key of the cell does not hold."""
    conditions = []
    for other, allowed in values.when.items():
        path = _in_config(config, other)
        allowed = tuple(allowed) if isinstance(allowed, list) else (allowed,)
        if other == NAME:
            allowed = tuple(SHORT_NAMES.get(name, name) for name in allowed)
        if path in searched:
            conditions.append((path, allowed))
        elif path not in known:
            names = [*searched, *known]
            problems.add(
                (*KEY, key, "when", other),
                "expected a key of the config, or one that is listed before in the space, got "
                f"{other!r}{did_you_mean(other, names)}",
            )
        elif known[path] not in allowed:
            return None
    return tuple(conditions)


def _check_cell(
    config: Config, section: SearchSection, space: list[Values], problems: Problems
) -> None:
    """Checks that each end of each range, and each choice, makes a config that can be run."""
    keys = {values.key for values in space}
    if RATE not in keys:
        problems.add(
            KEY, f"expected {RATE} in every cell, got none in those of {config.adaptation.name}; "
            "add it, with {choices: [RATE]} for a single one"
        )  # fmt: skip
    if section.sampler == GRID:
        ranges = [values.key for values in space if not values.choices]
        if ranges:
            problems.add(
                (*KEY, ranges[0]), "expected choices with sampler: grid, got a range; list its "
                "values, or take another sampler"
            )  # fmt: skip
            return
        points = sum(1 for _ in grid(space))
        if points != section.trials:
            problems.add(
                ("compare", "search", "trials"),
                f"expected {points}, the number of settings of the grid in the cells of "
                f"{config.adaptation.name}, got {section.trials}",
            )
    content = config.model_dump()
    first = drawn(space, lambda values: values.ends[0])
    for values in space:
        for end in values.ends:
            others = first | {key: allowed[0] for key, allowed in values.when}
            where = f"{problems.where} (search, {values.key} {end})"
            checked_config(with_values(content, others | {values.key: end}), problems.within(where))


def with_values(content: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a config with others, by key joined by dots; neither is changed."""
    content = dict(content)
    for key, value in values.items():
        section, path = content, key.split(".")
        for part in path[:-1]:
            section[part] = section = dict(section.get(part) or {})
        section[path[-1]] = value
    return content


def _paper(config: Config) -> dict[str, list[ValuesSection]]:
    """Appendix A: learning rate, dropout, weight decay and epochs; for fine-tuning also slanted
    triangular rates, and 0.4 times the rate for each layer down.

    The paper has no ranges. Ours: rates from half the lowest to twice the highest built-in one,
    dropout and weight decay around their usual values, from half to all epochs of the config, and
    at least one after the stages before the last. What an adaptation does not take is left out.
    """
    rates = default_rates(config.encoder.handle, config.adaptation.name, config.head)
    epochs = config.training.epochs
    rate = ValuesSection(low=min(rates) / 2, high=2.0 * max(rates), log=True)
    space = {
        RATE: [rate],
        "head_dropout": [ValuesSection(low=0.0, high=0.5)],
        "training.weight_decay": [ValuesSection(low=1.0e-3, high=0.1, log=True)],
    }
    adaptation = config.adaptation
    stages = (adaptation.head_epochs or 0) + (adaptation.upper_epochs or 0)
    fewest = max(math.ceil(epochs / 2), stages + 1)
    if fewest < epochs:
        space[EPOCHS] = [ValuesSection(low=fewest, high=epochs)]
    if config.adaptation.name == TUNED:
        shapes = ["linear_decay", "slanted_triangular"]
        space["schedule.name"] = [ValuesSection(choices=shapes)]
        space["optimizer.decay"] = [ValuesSection(choices=[None, 0.4])]
    return {key: values for key, values in space.items() if _is_taken(config, key, values)}


def _is_taken(config: Config, key: str, alternatives: list[ValuesSection]) -> bool:
    problems, path = Problems("", {}), _in_config(config, key)
    for values in alternatives:
        for end in values.choices or (values.low, values.high):
            checked_config(with_values(config.model_dump(), {path: end}), problems)
    return not problems
