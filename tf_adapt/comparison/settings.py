"""The config of a comparison: a run's config whose encoder, adaptation and rate are lists.

    compare:
      encoders: [elmo_small, {handle: bert_small, learning_rates: [3.0e-4, 1.0e-4]}]
      adaptations: [feature_extraction, fine_tuning, {name: two_stage, head_epochs: 2}]
      learning_rates: {default: [1.0e-3, 3.0e-4], feature_extraction: [3.0e-3, 1.0e-3]}
      epochs: {default: 4, feature_extraction: 15}
      settings: {fine_tuning: {optimizer: {decay: 0.4}, training: {weight_decay: 0.1}}}
      score_on: test
      seeds: 3
      threads: 1

A *cell* is one encoder with one adaptation and one head; each has the same number of learning
rates, the trials. All else is held equal, but for the epochs where `epochs` says so (those of a
frozen encoder cost little), and for what `settings` lays over the shared keys in the cells of an
adaptation. Imports no TensorFlow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tf_adapt.adaptation import ADAPTATIONS
from tf_adapt.comparison.scored_split import with_scored_split
from tf_adapt.comparison.sections import (
    VARIED,
    VARIED_IN_SETTINGS,
    Compare,
    EncoderEntry,
    Rates,
)
from tf_adapt.config import config_from, filled_in, place_of, resolve_paths, set_key, typed
from tf_adapt.config_errors import did_you_mean, shown
from tf_adapt.config_sections import HEAD_NAMES, AdaptationConfig, Config
from tf_adapt.errors import ConfigError
from tf_adapt.run_folder import flat
from tf_adapt.strict_yaml import KeyPath, dotted, read_yaml


@dataclass(frozen=True)
class Cell:
    """One encoder with one adaptation and one head.

    Attributes:
        name: of its folders, and in reports.
        config: of its runs, with the first learning rate and the first seed.
        rates: the learning rates to try.
    """

    name: str
    config: Config
    rates: tuple[float, ...]

    @property
    def pretrained(self) -> bool:
        """False for a baseline of random weights."""
        return self.config.encoder.pretrained

    @property
    def settings(self) -> dict[str, Any]:
        """The keys of the adaptation that are not its defaults."""
        return _settings(self.config.adaptation)


@dataclass(frozen=True)
class Comparison:
    """All that a comparison varies; what it holds equal is in the config of each cell.

    Attributes:
        threads: of each run, whose last bits depend on them.
    """

    summary: str | None
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    threads: int

    @property
    def trials(self) -> int:
        """Learning rates tried in each cell."""
        return len(self.cells[0].rates)


def different_settings(cells: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """The keys of a run's config that are not the same in all cells, beyond what cells are named
    after and their learning rates: by key, the value in each cell."""
    values = {cell.name: flat(cell.config.model_dump()) for cell in cells}
    keys = dict.fromkeys(key for found in values.values() for key in found)
    named = ("encoder.", "adaptation.", "head", "about", "training.learning_rate")
    of_keys = {key: {name: found.get(key) for name, found in values.items()} for key in keys}
    return {
        key: found
        for key, found in of_keys.items()
        if len(set(map(str, found.values()))) > 1
        and (key == "head_units" or not key.startswith(named))
    }


def is_comparison(path: str | Path) -> bool:
    """Whether a config is one of a comparison, not of a run.

    Raises:
        ConfigError: as `read_yaml`.
    """
    content, _ = read_yaml(path)
    return isinstance(content, dict) and "compare" in content


def load_comparison(
    path: str | Path, overrides: tuple[str, ...] = (), seeds: int | None = None
) -> Comparison:
    """Reads the config of a comparison and checks it, cell by cell.

    Raises:
        ConfigError: file, line and key path of the first problem; a cell that `tf-adapt train`
            would refuse; cells with different numbers of learning rates, or with one name; as
            `with_scored_split`.
    """
    content, lines = read_yaml(path)
    places = {key: f"{path}:{line}" for key, line in lines.items()}
    if not isinstance(content, dict) or "compare" not in content:
        raise ConfigError(
            f"{path}: expected the sections of a run's config and one called compare, got "
            f"{shown(content) if not isinstance(content, dict) else 'none of that name'}; start "
            "from a file under configs/small, or use `tf-adapt train` for a single run"
        )
    for override in overrides:
        set_key(content, override, places)
    if seeds is not None:
        set_key(content, f"compare.seeds={seeds}", places)
    written_out = _written_out(content.pop("compare"))
    _refuse_varied_settings(written_out, str(path), places)
    varied = typed(Compare, written_out, ("compare",), str(path), places)
    _check_names(varied, str(path), places)
    _refuse_varied(content, (), VARIED, str(path), places)
    cells = tuple(
        _cell(content, encoder, adaptation, head, varied, str(path), places)
        for encoder in varied.encoders
        for adaptation in varied.adaptations
        for head in varied.heads
    )
    _check_cells(cells, str(path))
    place = place_of(("data", "held_out"), str(path), places)
    data = with_scored_split(cells[0].config.data, varied.score_on, place)
    cells = tuple(
        replace(cell, config=cell.config.model_copy(update={"data": data})) for cell in cells
    )
    about = cells[0].config.about
    summary = about.summary if about else None
    return Comparison(summary, cells, tuple(range(varied.seeds)), varied.threads)


def _check_names(varied: Compare, where: str, places: dict[KeyPath, str]) -> None:
    """The keys of a section by adaptation are adaptations, those of one by head are heads too."""
    by_adaptation = ["default", *ADAPTATIONS]
    sections = {
        ("learning_rates",): (varied.learning_rates, by_adaptation),
        ("epochs",): (varied.epochs, by_adaptation),
        ("settings",): (varied.settings, by_adaptation),
        ("head_units",): (varied.head_units, [*ADAPTATIONS, *HEAD_NAMES]),
    }
    for number, encoder in enumerate(varied.encoders):
        key = ("encoders", number, "learning_rates")
        sections[key] = (encoder.learning_rates, by_adaptation)
    for key, (section, names) in sections.items():
        for name in section or ():
            if name not in names:
                path = ("compare", *key, name)
                raise ConfigError(
                    f"{place_of(path, where, places)}: {dotted(path)}: expected one of "
                    f"{', '.join(names)}, got {name!r}{did_you_mean(name, names)}"
                )


def _refuse_varied_settings(section: Any, where: str, places: dict[KeyPath, str]) -> None:
    settings = section.get("settings") if isinstance(section, dict) else None
    for name, content in settings.items() if isinstance(settings, dict) else ():
        _refuse_varied(content, ("compare", "settings", name), VARIED_IN_SETTINGS, where, places)


def _refuse_varied(
    content: Any,
    prefix: KeyPath,
    varied: dict[KeyPath, str],
    where: str,
    places: dict[KeyPath, str],
) -> None:
    """A key that the section `compare` has for every cell cannot stand elsewhere."""
    for key, home in varied.items():
        section, path = content, (*prefix, *key)
        for part in key[:-1]:
            section = section.get(part) if isinstance(section, dict) else None
        if isinstance(section, dict) and key[-1] in section:
            raise ConfigError(
                f"{place_of(path, where, places)}: {dotted(path)}: expected as compare.{home} in "
                "a comparison, got a key of its own; move it there"
            )


def _written_out(section: Any) -> Any:
    """A handle is short for a section with it, as is a name; a list of rates for `default`."""
    if not isinstance(section, dict):
        return section
    section = dict(section)
    for key, name in (("encoders", "handle"), ("adaptations", "name")):
        if isinstance(section.get(key), list):
            section[key] = [{name: x} if isinstance(x, str) else x for x in section[key]]
    encoders = section.get("encoders")
    for entry in (section, *(encoders if isinstance(encoders, list) else ())):
        if isinstance(entry, dict) and isinstance(entry.get("learning_rates"), list):
            entry["learning_rates"] = {"default": entry["learning_rates"]}
    return section


def _cell(
    shared: dict[str, Any],
    encoder: EncoderEntry,
    adaptation: AdaptationConfig,
    head: str,
    varied: Compare,
    where: str,
    places: dict[KeyPath, str],
) -> Cell:
    own = encoder.model_dump(exclude_unset=True)
    rates = own.pop("learning_rates", None) or varied.learning_rates
    tried = _rates_of(adaptation, rates, where)
    settings = _of(adaptation, varied.settings)
    if settings is not None:
        shared = _laid_over(shared, settings.model_dump(exclude_unset=True))
        where = f"{where} (cells of {adaptation.name})"
    training = shared.get("training")
    if isinstance(training, dict):
        training = training | {"learning_rate": tried[0], "seed": 0}
        epochs = _of(adaptation, varied.epochs or {})
        training |= {} if epochs is None else {"epochs": epochs}
    units = varied.head_units or {}
    content = shared | {
        "head_units": units.get(head, units.get(adaptation.name)),
        "encoder": own,
        "adaptation": adaptation.model_dump(exclude_unset=True),
        "head": head,
        "training": training,
    }
    config = resolve_paths(config_from(content, where, places))
    return Cell(_name(config), config, tuple(tried))


def _of(adaptation: AdaptationConfig, section: dict[str, Any]) -> Any:
    """What a section by adaptation says of one; None where it says nothing."""
    return section.get(adaptation.name, section.get("default"))


def _laid_over(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Nested values, its own in the place of shared ones."""
    merged = dict(shared)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(shared.get(key), dict)
        merged[key] = _laid_over(shared[key], value) if both else value
    return merged


def _rates_of(adaptation: AdaptationConfig, rates: Rates | None, where: str) -> list[float]:
    tried = _of(adaptation, rates or {})
    if not tried:
        raise ConfigError(
            f"{where}: compare.learning_rates: expected a list with at least one rate for "
            f"{adaptation.name}, got none; add one, or a list under `default`"
        )
    if len(set(tried)) < len(tried) or min(tried) <= 0:
        raise ConfigError(
            f"{where}: compare.learning_rates: expected numbers above 0, each once, for "
            f"{adaptation.name}, got {tried}"
        )
    return tried


def _name(config: Config) -> str:
    encoder, adaptation = config.encoder, config.adaptation
    settings = [f"{key}_{value}" for key, value in _settings(adaptation).items()]
    parts = [short_name(encoder.handle)]
    parts += [] if encoder.pretrained else ["untrained"]
    parts += [] if encoder.pairs is None else [encoder.pairs]
    parts += [] if encoder.execution is None else [encoder.execution]
    parts.append("_".join([adaptation.name, *settings]))
    parts += [] if config.head == "default" else [config.head]
    return "-".join(parts)


def _settings(adaptation: AdaptationConfig) -> dict[str, Any]:
    standard = filled_in(AdaptationConfig(name=adaptation.name), "").model_dump()
    return {key: value for key, value in adaptation if value != standard[key]}


def short_name(handle: str) -> str:
    """The last part of a path or a URL that is not a mere version."""
    parts = [part for part in handle.split("/") if part]
    return next((part for part in reversed(parts) if not part.isdigit()), parts[-1])


def _check_cells(cells: tuple[Cell, ...], where: str) -> None:
    names = [cell.name for cell in cells]
    for cell in cells:
        if names.count(cell.name) > 1:
            raise ConfigError(
                f"{where}: compare: two cells are called {cell.name}; list each encoder, "
                "adaptation and head once, and give folders of modules different names"
            )
        if len(cell.rates) != len(cells[0].rates):
            raise ConfigError(
                f"{where}: compare.learning_rates: expected the same number of rates for every "
                f"cell, got {len(cells[0].rates)} for {cells[0].name} and {len(cell.rates)} for "
                f"{cell.name}; the budget of trials must be the same"
            )
        if cell.config.training.strategy is not None:
            raise ConfigError(
                f"{where}: training.strategy: expected null in a comparison, whose runs are "
                f"processes of one machine, got {cell.config.training.strategy}"
            )
        if cell.config.objective != "task":
            raise ConfigError(
                f"{where}: objective: expected task in a comparison, got {cell.config.objective}"
            )
