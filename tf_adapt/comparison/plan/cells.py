"""The cells of a comparison, and what it varies.

`tf_adapt.comparison.plan.settings` makes them from a config. Imports no TensorFlow.
"""

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tf_adapt.comparison.plan.sections import SignalSettings
from tf_adapt.comparison.plan.signal_cells.members import Values, in_words
from tf_adapt.comparison.plan.signals import keys_of, own_data
from tf_adapt.comparison.plan.sizes import Sizes
from tf_adapt.comparison.search.cell_space import with_values
from tf_adapt.comparison.search.section import SearchSection
from tf_adapt.comparison.search.space import CellSearch
from tf_adapt.config.data_sections import DatasetConfig, FilesConfig, TfdsConfig
from tf_adapt.config.reading import config_from, filled_in
from tf_adapt.config.sections import Config, EncoderConfig
from tf_adapt.config.signal_sections import SliceConfig, WeakConfig
from tf_adapt.config.task_checks import kind_of
from tf_adapt.config.training_sections import AdaptationConfig
from tf_adapt.errors import ConfigError
from tf_adapt.runs.ensemble_folder import PROBABILITIES, WEIGHTS
from tf_adapt.runs.kinds import combinations_of
from tf_adapt.tasks.task import LOWER_IS_BETTER
from tf_adapt.training.resolving.run_config import flat

# What an `Extension` adds: epochs, or a learning rate at an end of the list.
EPOCHS, LOWER, HIGHER = "epochs", "lower", "higher"
# The longest prompts that a cell's name has as they are, in characters.
PROMPT_LENGTH = 30


@dataclass(frozen=True)
class Cell:
    """One encoder with one adaptation, one head and one signal.

    Attributes:
        name: the cell's name, for folders and reports.
        config: the config of its runs, with the first learning rate and the first seed.
        rates: the learning rates to try; with a search a single one, which no run has.
        signal: its name; None: the comparison has no signals.
        laid: the keys of the signal.
        teacher: the name of the cell whose runs teach its runs; None: there is none. In its config
            the signal of that cell is in the place of a run's folder.
        more_epochs: the epochs that the comparison itself chose, which are in `config` too; None:
            it has those of the user's config.
        member_values: what each member of its ensemble sets in its config, by key; empty: their
            seeds alone differ.
        search: what is searched in it; None: nothing, its learning rates are a list.
    """

    name: str
    config: Config
    rates: tuple[float, ...]
    signal: str | None = None
    laid: SignalSettings | None = None
    teacher: str | None = None
    more_epochs: int | None = None
    search: CellSearch | None = None
    member_values: tuple[Values, ...] = ()

    @property
    def has_trials(self) -> bool:
        """Whether a learning rate or a setting is chosen by runs that are not scored."""
        return self.search is not None or len(self.rates) > 1

    @property
    def together(self) -> int:
        """The size of the ensemble that is trained for each seed; 0: a single model."""
        return self.laid.together if self.laid else 0

    @property
    def parts(self) -> int | None:
        """The number of parts of train; each member of the ensemble leaves out one."""
        return self.laid.leave_out_parts if self.laid else None

    @property
    def members(self) -> str:
        """`ensemble 3`, `leave_out_parts 5, votes`: kind and size of the ensemble, and what is
        averaged; empty: one model."""
        if not self.together:
            return ""
        size = f"leave_out_parts {self.parts}" if self.parts else f"ensemble {self.together}"
        size += f" of {in_words(self.member_values)}" if self.member_values else ""
        return size if self.combine == PROBABILITIES else f"{size}, {self.combine}"

    @property
    def combine(self) -> str:
        """What of an ensemble's members is averaged: probabilities, votes or weights."""
        return (self.laid and self.laid.combine) or PROBABILITIES

    @functools.cached_property
    def member_configs(self) -> tuple[Config, ...]:
        """The config of each member of its ensemble; empty: they are its own but for the seeds."""
        content = self.config.model_dump()
        return tuple(
            config_from(with_values(content, dict(values)), f"{self.name} (member {number})")
            for number, values in enumerate(self.member_values)
        )

    @property
    def configs(self) -> tuple[Config, ...]:
        """The configs of its trials and final runs."""
        return (self.config, *self.member_configs)

    @property
    def pretrained(self) -> bool:
        """False for an encoder with random weights."""
        return self.config.encoder.pretrained

    @property
    def settings(self) -> dict[str, Any]:
        """The adaptation's keys with values other than the default, and the signal."""
        signal = {} if self.signal is None else {"signal": self.signal}
        return settings_of(self.config.adaptation) | signal


@dataclass(frozen=True)
class Extension:
    """What a comparison adds to all cells of an adaptation.

    Attributes:
        epochs: whether they get more epochs.
        rates: the ends of their lists of learning rates that get one more: `LOWER`, `HIGHER`.
        why: by cell that is not trained to the end, the reason as a phrase.
    """

    epochs: bool
    rates: tuple[str, ...]
    why: Mapping[str, str]

    @property
    def added(self) -> tuple[str, ...]:
        """Some of `EPOCHS`, `LOWER`, `HIGHER`."""
        return (EPOCHS, *self.rates) if self.epochs else self.rates


@dataclass(frozen=True)
class Comparison:
    """Everything that a comparison varies; the rest is in the config of each cell.

    Attributes:
        seeds: empty: the default, see `scored_split.settled`.
        threads: of each run; scores depend on them in the last bits.
        sizes: numbers of training examples, ascending; None is all. The verdict is on the last.
        starts: the runs that are trained first, as cells of one run, by the path of their config.
        extend: whether cells that are not trained to the end are trained further.
        extensions: what was added to its cells so, by adaptation.
        folds: of a cross-validation; each seed is a repeat of it. 0: one split; None: not settled.
        minutes: its budget, see `tf_adapt.comparison.budget`; None: all cells are scored.
    """

    summary: str | None
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    threads: int
    sizes: Sizes = (None,)
    starts: Mapping[str, Cell] = field(default_factory=dict)
    extend: bool = True
    extensions: Mapping[str, Extension] = field(default_factory=dict)
    folds: int | None = None
    minutes: float | None = None

    @property
    def data(self) -> DatasetConfig | FilesConfig | TfdsConfig:
        """The section `data` of all cells."""
        return own_data(self.cells[0].config)

    @property
    def slices(self) -> dict[str, SliceConfig]:
        """The slices of all cells; with several tasks those of the target."""
        return self.cells[0].config.slices

    @property
    def slice_heads(self) -> bool:
        """Whether slices have heads in all cells, so that their files may list train."""
        return all(cell.config.slice_heads for cell in self.cells)

    @property
    def weak(self) -> WeakConfig | None:
        """The votes that the labels of train come from: the first cell's, if every cell has some;
        None: a cell reads the labels of train itself."""
        votes = [cell.config.weak for cell in self.cells]
        return None if None in votes else votes[0]

    @property
    def has_one_weak(self) -> bool:
        """Whether the labels of train are the same in all cells, votes or not."""
        return all(cell.config.weak == self.cells[0].config.weak for cell in self.cells)

    @property
    def search(self) -> SearchSection | None:
        """How the setting of each cell is searched; None: learning rates are tried."""
        search = self.cells[0].search
        return None if search is None else search.section

    @property
    def devices(self) -> set[str | None]:
        """`training.devices` of all runs."""
        cells = (*self.cells, *self.starts.values())
        return {config.training.devices for cell in cells for config in cell.configs}

    @property
    def trials(self) -> int:
        """Learning rates, or settings of a search, tried in each cell; `extensions` may add
        rates."""
        if self.search is not None:
            return self.search.trials
        return min(len(cell.rates) for cell in self.cells)


def different_settings(cells: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """The config keys whose values differ between cells, except learning rates, the keys in the
    cells' names and those of signals: by key, the value in each cell."""
    values = {cell.name: flat(cell.config.model_dump()) for cell in cells}
    keys = dict.fromkeys(key for settings in values.values() for key in settings)
    named = ("encoder.", "adaptation.", "head", "about", "training.learning_rate")
    of_heads = ("head_units", "head_pooling", "head_word_pieces", "head_mixed", "head_scaled")
    laid = tuple({key for cell in cells if cell.laid for key in keys_of(cell.laid)})
    of_keys = {key: {name: settings.get(key) for name, settings in values.items()} for key in keys}
    return {
        key: by_cell
        for key, by_cell in of_keys.items()
        if len(set(map(str, by_cell.values()))) > 1
        and (key in of_heads or not key.startswith(named))
        and not key.startswith(laid)
    }


def settings_of(adaptation: AdaptationConfig) -> dict[str, Any]:
    """The keys of an adaptation with values other than the default, as in names of cells."""
    standard = filled_in(AdaptationConfig(name=adaptation.name)).model_dump()
    changed = {key: value for key, value in adaptation if value != standard[key]}
    # A list as `query+value`, in names of folders too.
    return {k: "+".join(map(str, v)) if isinstance(v, list) else v for k, v in changed.items()}


def cell_name(config: Config, head: str, signal: str | None) -> str:
    """The name of a cell, for folders and reports."""
    encoder, adaptation = config.encoder, config.adaptation
    settings = [f"{key}_{value}" for key, value in settings_of(adaptation).items()]
    parts = [short_name(encoder.handle)]
    parts += [] if encoder.decoder is None else [short_name(encoder.decoder)]
    parts += [] if encoder.pretrained else ["untrained"]
    parts += [] if encoder.pairs is None else [encoder.pairs]
    parts += ["classification_token"] if encoder.classification_token else []
    parts += [f"layers_{'_'.join(map(str, encoder.keep_layers))}"] if encoder.keep_layers else []
    parts += [] if encoder.execution is None else [encoder.execution]
    if encoder.long is not None:
        parts.append(f"long_{encoder.long.window}_{encoder.long.stride}_{encoder.long.pool}")
    parts += [_short_prompts(encoder.prompts)] if encoder.prompts else []
    parts.append("_".join([adaptation.name, *settings]))
    parts += [] if head == "default" else [head]
    parts += [] if signal is None else [signal]
    return "-".join(parts)


def _short_prompts(prompts: list[str]) -> str:
    """Prompts in the name of a folder, for which a long one would be too long."""
    name = _safe("".join(prompts))
    if len(name) <= PROMPT_LENGTH:
        return name
    content = json.dumps(prompts).encode()
    return f"{name[:PROMPT_LENGTH]}_{hashlib.sha256(content).hexdigest()[:8]}"


def encoder_in_words(encoder: EncoderConfig) -> str:
    """`bert_small`, `bert_small layers 0+2 "query: "`, `bert_small + lm_small`: the module, the
    layers that are kept of it, what is put before texts; the decoder."""
    kept = f" layers {'+'.join(map(str, encoder.keep_layers))}" if encoder.keep_layers else ""
    prompts = "".join(f' "{prompt}"' for prompt in encoder.prompts or ())
    decoder = "" if encoder.decoder is None else f" + {short_name(encoder.decoder)}"
    return short_name(encoder.handle) + kept + prompts + decoder


def short_name(handle: str) -> str:
    """The last part of a path or URL that is no version number, safe as a file name."""
    parts = [_safe(part) for part in handle.split("/") if part] or ["module"]
    return next((part for part in reversed(parts) if not part.isdigit()), parts[-1])


def _safe(text: str) -> str:
    return re.sub(r"[^\w.+-]", "_", text)


def check_cells(cells: tuple[Cell, ...], where: str) -> None:
    """Checks what all cells together must be: of other names, of as many rates, of one machine.

    Raises:
        ConfigError: they are not.
    """
    names = [cell.name for cell in cells]
    for cell in cells:
        if names.count(cell.name) > 1:
            raise ConfigError(
                f"{where}: compare: two cells are called {cell.name}; list each encoder, "
                "adaptation and head once, and give folders of modules different names"
            )
        if cell.together:
            _check_members(cell, where)
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
        metric = None if cell.config.data is None else getattr(cell.config.data, "metric", None)
        if metric in LOWER_IS_BETTER:
            raise ConfigError(
                f"{where}: data.metric: expected a score of which more is better in a comparison, "
                f"got {metric}; take log_probability, which is that of a word, − ln of its "
                "perplexity, and the same for all tokenizers"
            )


def _check_members(cell: Cell, where: str) -> None:
    """Checks that what is averaged of an ensemble's members can be."""
    kind, key = kind_of(cell.config), f"{where}: compare.signals.{cell.signal}"
    if not combinations_of(kind):
        raise ConfigError(
            f"{key}: expected neither ensemble nor leave_out_parts for {kind}, whose answers are "
            f"not averaged, got {cell.members}"
        )
    if cell.combine not in (*combinations_of(kind), WEIGHTS):
        raise ConfigError(
            f"{key}.combine: expected {', '.join(combinations_of(kind))} or weights for {kind}, "
            f"got {cell.combine}"
        )
    random = not cell.pretrained or cell.config.adaptation.reinitialise is not None
    if cell.combine == WEIGHTS and random and not cell.member_values:
        raise ConfigError(
            f"{key}.combine: expected {' or '.join(combinations_of(kind))} with {cell.name}, whose "
            "members have layers that begin with random numbers of their own, got weights"
        )
    if cell.combine == WEIGHTS and cell.config.head == "concat_pooling":
        raise ConfigError(
            f"{key}.combine: expected {' or '.join(combinations_of(kind))} with head: "
            "concat_pooling, whose averages of batch normalisation belong to one run's weights, "
            "got weights"
        )
