"""The space of a search in one cell, from its section and the cell's config; what is refused.

A key has alternatives; the first whose conditions hold gives its value. Conditions on keys that are
the same in all runs of a cell are settled here, those on searched keys in each trial. Imports
neither TensorFlow nor Optuna.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tf_adapt.adaptation.adaptations import ADAPTATIONS, SHORT_NAMES
from tf_adapt.comparison.search.section import GRID, SearchSection, ValuesSection
from tf_adapt.comparison.search.space import EPOCHS, RATE, CellSearch, Values, drawn, grid
from tf_adapt.config.default_training import default_rates
from tf_adapt.config.messages import Problems, shown
from tf_adapt.config.paths import absolute_handle, resolve_paths
from tf_adapt.config.reading import checked_config
from tf_adapt.config.sections import Config, TaskConfig
from tf_adapt.paper import TUNED
from tf_adapt.printing.words import did_you_mean
from tf_adapt.training.resolving.run_config import flat

KEY = ("compare", "search", "space")
NAME = "adaptation.name"
# What all trials of a cell share, by the beginning of the key.
_FIXED = (
    "about", "data", "encoder", "features", "head", NAME, "objective", "slices", "slice_heads",
    "start", "target", "tasks", "teacher", "training.devices", "training.seed",
    "training.stop_below", "training.strategy", "weak",
)  # fmt: skip


def cell_search(config: Config, section: SearchSection, problems: Problems) -> CellSearch | None:
    """What is searched in a cell; None, and problems, if its runs would be refused."""
    given = section.space or _paper(config)
    known = flat(config.model_dump())
    wrong = {
        key: [*_key_problems(key, values), *_order_problems(values, list(given)[number:])]
        for number, (key, values) in enumerate(given.items())
    }
    for key, found in wrong.items():
        for problem in found:
            problems.add((*KEY, key), problem)
    if any(wrong.values()):
        return None
    space: list[Values] = []
    is_reachable = True
    for key, alternatives in given.items():
        path, before = _in_config(config, key), tuple(space)
        for number, values in enumerate(alternatives):
            when = _when(config, values, before, known, problems, key)
            if when is not None:
                name = path if len(alternatives) == 1 else f"{path}[{number}]"
                space.append(_values(path, name, values, when))
            if when == ():
                break  # it holds in every trial
        if len(space) > len(before):
            taken = [*known, *(_in_config(config, other) for other in given)]
            is_reachable &= _is_reachable(key, path, taken, problems)
    if is_reachable:
        _check_cell(config, section, space, problems)
    return CellSearch(section, tuple(space))


def _is_reachable(key: str, path: str, taken: list[str], problems: Problems) -> bool:
    """Whether a key is in sections alone, so that `--set` can set it; else adds a problem."""
    above = next((name for name in taken if path.startswith(f"{name}.")), None)
    if above is not None:
        problems.add(
            (*KEY, key),
            f"expected a key of a section, got one in {above}, which is none in the config; "
            f"search {above} itself, or give it as a section",
        )
    return above is None


def _values(path: str, name: str, values: ValuesSection, when: tuple) -> Values:
    choices = tuple(values.choices or ())
    if path == RATE:  # as `training.learning_rate` itself takes whole numbers
        choices = tuple(float(value) if type(value) is int else value for value in choices)
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
    if key == "adaptation":  # whose other keys may differ
        fixed = NAME
    if fixed is not None:
        yield f"expected a key that may differ between trials, got {fixed}, which all share"
    if not alternatives:
        yield "expected low and high, or choices, got an empty list"
    for values in alternatives:
        yield from _range_problems(values)
        yield from _when_problems(values)


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


def _when_problems(values: ValuesSection) -> Iterator[str]:
    for other, allowed in values.when.items():
        listed = _listed(other, allowed) if allowed != {} else ()
        if not listed or any(isinstance(value, (list, dict)) for value in listed):
            given = "an empty list" if allowed == [] else shown(allowed)
            yield (
                "expected texts, numbers, true, false or null, or lists of them, in when, got "
                f"{given} for {other}"
            )


def _order_problems(alternatives: Sequence[ValuesSection], later: Sequence[str]) -> Iterator[str]:
    """Of conditions on a key that has no value yet when this one is drawn."""
    for other in (other for values in alternatives for other in values.when if other in later):
        yield (
            f"expected conditions on keys that are listed before it in the space, got {other} in "
            "when, which is not; put it first"
        )


def _listed(key: str, allowed: Any) -> tuple[Any, ...]:
    """The values of a key with which a condition holds."""
    listed = tuple(allowed) if isinstance(allowed, list) else (allowed,)
    if key == NAME:
        listed = tuple(SHORT_NAMES.get(v, v) if isinstance(v, str) else v for v in listed)
    return listed


def _when(
    config: Config,
    values: ValuesSection,
    before: Sequence[Values],
    known: Mapping[str, Any],
    problems: Problems,
    key: str,
) -> tuple[tuple[str, tuple[Any, ...]], ...] | None:
    """The conditions on keys searched before; None if one cannot hold in the cell."""
    conditions = []
    for other, allowed in values.when.items():
        path = _in_config(config, other)
        has = _values_had(path, before, known)
        if not has:
            names = [*(alternative.key for alternative in before), *known]
            problems.add(
                (*KEY, key, "when", other),
                "expected a key of the config, or one that is listed before in the space, got "
                f"{other!r}{did_you_mean(other, names)}",
            )
            continue
        kept = tuple(one for value in _listed(other, allowed) for one in _kept(value, has))
        if not kept:
            return None
        if any(alternative.key == path for alternative in before):
            conditions.append((path, kept))
    return tuple(conditions)


def _values_had(path: str, before: Sequence[Values], known: Mapping[str, Any]) -> list[Values]:
    """What a key may be in a cell: what is searched, else the config's value; empty: no key."""
    searched = [values for values in before if values.key == path]
    if searched or path not in known:
        return searched
    return [Values(path, path, choices=(known[path],))]


def _kept(value: Any, alternatives: Sequence[Values]) -> list[Any]:
    """A value of a condition as its key has it, with whole paths; empty: it never has it."""
    meant = [value, absolute_handle(value)] if isinstance(value, str) else [value]
    kept = [choice for has in alternatives for choice in has.choices if choice in meant]
    return kept or [value for has in alternatives if _is_between(value, has)][:1]


def _is_between(value: Any, ends: Values) -> bool:
    if ends.choices or not isinstance(value, (int, float)):
        return False
    is_whole = isinstance(ends.low, int)
    return ends.low <= value <= ends.high and not (is_whole and value % 1)


def check_conditions(
    section: SearchSection, cells: Sequence[tuple[Config, CellSearch]], problems: Problems
) -> None:
    """Adds a problem for each value of a condition that its key has in no cell. Names of
    adaptations may be of none, for a space is used with more cells or fewer."""
    names = list(section.space)
    for key, other, value in _conditions(section):
        has = [Values(NAME, NAME, choices=(*ADAPTATIONS, *SHORT_NAMES))] if other == NAME else []
        for config, search in cells:
            listed = [_in_config(config, name) for name in names[: names.index(key)]]
            before = [values for values in search.space if values.key in listed]
            has += _values_had(_in_config(config, other), before, flat(config.model_dump()))
        if not _kept(value, has):
            texts = [choice for values in has for choice in values.choices]
            problems.add(
                (*KEY, key, "when", other),
                f"expected a value that {other} has in a cell, got {shown(value)}"
                f"{did_you_mean(str(value), map(str, texts))}",
            )


def _conditions(section: SearchSection) -> Iterator[tuple[str, str, Any]]:
    """Each value of each condition: the key that has it, the key it asks for, the value."""
    for key, alternatives in section.space.items():
        for values in alternatives:
            for other, allowed in values.when.items():
                yield from ((key, other, value) for value in _listed(other, allowed))


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
            changed = with_values(content, others | {values.key: end})
            run = checked_config(changed, problems.within(where))
            if run is not None:
                _check_kept(run, values.key, end, problems)


def _check_kept(run: Config, key: str, value: Any, problems: Problems) -> None:
    """Checks that a run's config has a value as it is searched: trials are read from there."""
    keys = flat(resolve_paths(run).model_dump())
    if keys.get(key, ...) != value:
        below = [name for name in keys if name.startswith(f"{key}.") and keys[name] is not None]
        kept = [key] if key in keys else below
        problems.add(
            (*KEY, key),
            f"expected values as a run's config keeps them, got {shown(value)}, which is kept as "
            f"{', '.join(f'{name} {keys[name]!r}' for name in kept)}; write it so",
        )


def with_values(content: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a config with others, by key joined by dots; neither is changed."""
    content = dict(content)
    for key, value in values.items():
        section, path = content, key.split(".")
        for part in path[:-1]:
            section[part] = section = dict(section.get(part, {}))
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
