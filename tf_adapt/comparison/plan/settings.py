"""The config of a comparison: a run's config whose encoder, adaptation and rate are lists.

    compare:
      encoders: [elmo_small, {handle: bert_small, learning_rates: [3.0e-4, 1.0e-4]}]
      adaptations: [feature_extraction, fine_tuning, {name: two_stage, head_epochs: 2}]
      learning_rates: {default: [1.0e-3, 3.0e-4], feature_extraction: [3.0e-3, 1.0e-3]}
      search: {trials: 20, space: paper}  # in place of learning_rates, see `search.section`
      epochs: {default: 4, feature_extraction: 15}
      settings: {fine_tuning: {optimizer: {decay: 0.4}, training: {weight_decay: 0.1}}}
      signals: {alone: {}, after_mnli: {start: {config: mnli.yaml}}}
      score_on: test
      train_examples: [100, 300, all]
      extend: true
      seeds: 5
      threads: 1

A *cell* is one encoder with one adaptation, one head and one of the `signals`; all cells have the
same number of learning rates, the trials. Default heads are in `default_heads`, rates, epochs and
batch size in `tf_adapt.config.default_training`, the stages of two-stage training in `two_stages`.
All other keys are equal in all cells, except for `epochs` (an epoch of a frozen encoder costs
little), for `settings`, which override shared keys in the cells of an adaptation, and for
`signals`, which override both.
`train_examples` repeats everything with parts of train (`sizes`). Imports no TensorFlow.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hub_modules.shipped import shipped_names
from hub_modules.storage.strict_yaml import KeyPath, read_yaml
from tf_adapt.comparison.kinds import KINDS as COMPARED
from tf_adapt.comparison.plan.cells import Cell, Comparison, cell_name, check_cells
from tf_adapt.comparison.plan.compare_section import compare_section, refuse_varied
from tf_adapt.comparison.plan.default_heads import default_heads, kind_of_data
from tf_adapt.comparison.plan.scored_split import check_folds, check_shifted, with_scored_split
from tf_adapt.comparison.plan.sections import (
    VARIED,
    Compare,
    EncoderEntry,
    Rates,
)
from tf_adapt.comparison.plan.signal_cells.dependent import check_signals_apart, with_teachers
from tf_adapt.comparison.plan.signal_cells.members import values_of_members
from tf_adapt.comparison.plan.signals import (
    KEY,
    laid_over,
    own_data,
    signals_of,
    with_own_data,
    with_signal,
)
from tf_adapt.comparison.plan.sizes import check_sizes, sizes_of
from tf_adapt.comparison.plan.start_of_cells import starts_of
from tf_adapt.comparison.plan.students import check_heads
from tf_adapt.comparison.plan.two_stages import with_whole_stages
from tf_adapt.comparison.search.cell_space import cell_search, check_conditions
from tf_adapt.config.default_training import default_epochs, default_rates
from tf_adapt.config.kinds import KINDS
from tf_adapt.config.messages import Problems, location_of, shown
from tf_adapt.config.names import with_canonical_names
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import checked_config, overridden
from tf_adapt.config.sections import OF_TASKS
from tf_adapt.config.training_sections import AdaptationConfig
from tf_adapt.errors import ConfigError
from tf_adapt.heads.names import LSTM_HEADS
from tf_adapt.paper import FROZEN


def is_comparison(path: str | Path) -> bool:
    """Whether a config is that of a comparison, not of a run.

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
        ConfigError: every problem with file, line and key path; a cell that `tf-adapt train`
            refuses; cells with different numbers of learning rates, or with equal names; as
            `with_scored_split`.
        ArtifactError: the manifest of a module, read for default rates or heads, is damaged.
    """
    content, lines = read_yaml(path)
    locations = {key: f"{path}:{line}" for key, line in lines.items()}
    return comparison_from(content, str(path), locations, overrides, seeds)


def comparison_from(
    content: Any,
    where: str,
    locations: dict[KeyPath, str] | None = None,
    overrides: tuple[str, ...] = (),
    seeds: int | None = None,
) -> Comparison:
    """As `load_comparison`, from plain nested values; `locations` gives the file and line of keys.

    Raises:
        ConfigError, ArtifactError: as `load_comparison`.
    """
    locations = {} if locations is None else locations
    if not isinstance(content, dict) or "compare" not in content:
        raise ConfigError(
            f"{where}: expected the sections of a run's config and one called compare, got "
            f"{shown(content) if not isinstance(content, dict) else 'none of that name'}; start "
            "from a file under configs/small, or use `tf-adapt train` for a single run"
        )
    if seeds is not None:
        overrides = (*overrides, f"compare.seeds={seeds}")
    content = overridden(content, overrides, where, locations)
    if seeds is not None:
        locations["compare", "seeds"] = "seeds"
    problems = Problems(where, locations)
    content = with_canonical_names(content, problems)
    for key in OF_TASKS:
        if key in content:
            problems.add(
                (key,),
                "expected the data and head of one task, got a key of several tasks, which "
                "`tf-adapt compare` takes in compare.signals alone: name the further tasks there, "
                "or train them with `tf-adapt train`",
            )
    problems.refuse()
    varied = compare_section(content.pop("compare"), problems)
    refuse_varied(content, (), VARIED, problems)
    if varied is not None and any(signal.leave_out_parts for signal in varied.signals.values()):
        _check_beside_parts(content, problems)
    _check_fold(content.get("data"), problems)
    if varied is not None and varied.train_examples is not None:
        check_sizes(varied.train_examples, content.get("data"), problems)
        _check_parts(content.get("data"), problems)
    if problems or varied is None:
        # Report problems with the run's keys too: they do not depend on the cells.
        checked_config(_with_any_cell(content), problems)
        problems.refuse()
    groups = [
        [
            _cell(content, encoder, adaptation, head, signal, varied, problems)
            for signal in signals_of(encoder.handle, adaptation.name, varied.signals)
        ]
        for encoder in varied.encoders
        for adaptation in varied.adaptations
        for head in varied.heads or default_heads(content.get("data"), encoder, adaptation.name)
    ]
    problems.refuse()
    if varied.search is not None:
        searches = [(cell.config, cell.search) for group in groups for cell in group]
        check_conditions(varied.search, searches, problems)
        problems.refuse()
    cells = tuple(cell for group in groups for cell in with_teachers(group))
    check_signals_apart(cells, varied, where)
    check_cells(cells, where)
    check_heads(cells, where)
    starts = starts_of(cells, where, locations)
    location = location_of(("data", "held_out"), where, locations)
    data = with_scored_split(own_data(cells[0].config), varied.score_on, location)
    if any(cell.config.weak is not None for cell in cells) and data.held_out is not None:
        raise ConfigError(
            f"{where}: weak: expected data with dev and test, and compare.score_on: test, got "
            "data where a part of train would choose; the labels of train are not known"
        )
    cells = tuple(replace(cell, config=with_own_data(cell.config, data)) for cell in cells)
    about = cells[0].config.about
    summary = about.summary if about else None
    comparison = Comparison(
        summary,
        cells,
        tuple(range(varied.seeds or 0)),
        varied.threads,
        sizes_of(varied.train_examples),
        starts,
        varied.extend and varied.search is None,
        folds=varied.folds,
    )
    check_folds(comparison, problems)
    check_shifted(comparison, problems)
    problems.refuse()
    return comparison


def _check_beside_parts(content: dict[str, Any], problems: Problems) -> None:
    data = content.get("data")
    without = data.get("leave_out") if isinstance(data, dict) else None
    if content.get("slice_heads"):
        problems.add(
            ("slice_heads",),
            "expected false beside leave_out_parts in compare.signals, got true: a part of train "
            "may lack all members of a slice",
        )
    if without is not None:
        problems.add(
            ("data", "leave_out"),
            "expected null beside leave_out_parts in compare.signals, which sets it, got "
            f"{shown(without)}; remove it",
        )


def _check_parts(data: Any, problems: Problems) -> None:
    kind = kind_of_data(data)
    if kind in COMPARED and COMPARED[kind].no_parts:
        problems.add(
            ("compare", "train_examples"),
            f"expected null for {kind}, without {COMPARED[kind].no_parts}; take "
            "data.train_examples, which counts them",
        )


def _check_fold(data: Any, problems: Problems) -> None:
    if isinstance(data, dict) and data.get("fold") is not None:
        problems.add(
            ("data", "fold"),
            "expected null in a comparison, whose folds are compare.folds, got "
            f"{shown(data['fold'])}; remove it",
        )


def _with_any_cell(shared: dict[str, Any]) -> dict[str, Any]:
    """The shared keys as a run's config with any encoder, to be checked without a cell."""
    varied = {key for key, *rest in VARIED if not rest}
    content = {key: value for key, value in shared.items() if key not in varied}
    training = content.get("training")
    if isinstance(training, dict):
        content["training"] = {"epochs": 1} | training | {"learning_rate": 1.0, "seed": 0}
    name, kind = shipped_names()[0], kind_of_data(shared.get("data"))
    required = KINDS[kind].required if kind in KINDS else {}
    encoder = {"handle": name} | {key: name for section, key in required if section == "encoder"}
    return content | {"encoder": encoder, "adaptation": "fine_tuning"}


def _cell(
    shared: dict[str, Any],
    encoder: EncoderEntry,
    adaptation: AdaptationConfig,
    head: str,
    signal: str | None,
    varied: Compare,
    problems: Problems,
) -> Cell | None:
    laid = None if signal is None else varied.signals[signal]
    entry = encoder.model_dump(exclude_unset=True)
    rates = entry.pop("learning_rates", None) or varied.learning_rates
    if rates is None:
        handle = (laid and laid.encoder.handle) or encoder.handle
        names = {"default": adaptation.name, FROZEN: FROZEN}
        rates = {key: default_rates(handle, name, head) for key, name in names.items()}
    tried = _rates_of(adaptation, rates, problems)
    if varied.search is not None:
        tried = tried[len(tried) // 2 :][:1]  # the default; every trial has another
    settings = _of(adaptation, varied.settings)
    if settings is not None:
        shared = laid_over(shared, settings.model_dump(exclude_unset=True))
        problems = problems.within(f"{problems.where} (cells of {adaptation.name})")
    training, lengths = shared.get("training", {}), varied.epochs or {}
    if isinstance(training, dict):
        if training.get("epochs") is None and "default" not in lengths:
            lengths = default_epochs(kind_of_data(shared.get("data"))) | lengths
        training = training | {"learning_rate": tried[0] if tried else 1.0, "seed": 0}
        epochs = _of(adaptation, lengths)
        training |= {} if epochs is None else {"epochs": epochs}
    units = varied.head_units or {}
    # A width by adaptation holds only for heads that have one.
    width = units.get(adaptation.name) if head in ("default", *LSTM_HEADS) else None
    content = shared | {
        "head_units": units.get(head, width),
        "encoder": entry,
        "adaptation": adaptation.model_dump(exclude_unset=True),
        "head": head,
        "training": training,
    }
    if laid is None or "epochs" not in laid.training.model_fields_set:
        frozen_rates = rates.get(FROZEN, rates.get("default", ()))
        content = with_whole_stages(content, lengths, tried, frozen_rates)
    if laid is not None:
        content, problems = with_signal(content, laid, (*KEY, signal), problems)
    config = checked_config(content, problems)
    if config is None or not tried:
        return None
    config = resolve_paths(config)
    search = varied.search and cell_search(config, varied.search, problems)
    name = cell_name(config, head, signal)
    members = () if laid is None else values_of_members(content, laid, problems)
    return Cell(name, config, tuple(tried), signal, laid, search=search, member_values=members)


def _of(adaptation: AdaptationConfig, section: dict[str, Any]) -> Any:
    """The value for an adaptation, or `default`'s, in a section by adaptation; None if neither."""
    return section.get(adaptation.name, section.get("default"))


def _rates_of(adaptation: AdaptationConfig, rates: Rates, problems: Problems) -> list[float]:
    """The rates to try; empty if they are missing or wrong."""
    tried, path = _of(adaptation, rates) or [], ("compare", "learning_rates")
    if not tried:
        problems.add(
            path,
            f"expected a list with at least one rate for {adaptation.name}, got none; add one, or "
            "a list under `default`",
        )
    elif len(set(tried)) < len(tried) or min(tried) <= 0:
        problems.add(
            path, f"expected numbers above 0, each once, for {adaptation.name}, got {tried}"
        )
        return []
    return tried
