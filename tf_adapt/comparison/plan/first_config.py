"""Writes a first, commented config of a comparison for a user's data file: `tf-adapt init`."""

import json
import re
import shlex
from pathlib import Path

from tf_adapt.comparison.kinds import KINDS
from tf_adapt.comparison.plan.design_power import power_lines
from tf_adapt.comparison.plan.scored_split import FOLDS, REPEATS, default_folds
from tf_adapt.comparison.plan.sections import EncoderEntry
from tf_adapt.config.data_sections import FilesConfig
from tf_adapt.data.guesses import Given, Guess, guess
from tf_adapt.data.splits.cut import SplitError
from tf_adapt.data.splits.folds import HELD_OUT
from tf_adapt.data.splits.groups import item_groups
from tf_adapt.data.splits.kinds import KINDS as SPLITS
from tf_adapt.data.splits.label_warnings import MOST_WARNINGS, label_warnings
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.printing.words import counted
from tf_adapt.statistics.power import Design

_SCORED = {
    False: "A part of train plays dev, and another one test.",
    True: "Each example is scored, by a model that did not see it.",
}
# Plain scalars that YAML reads as strings.
_PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[A-Za-z_][\w./-]*", re.IGNORECASE)


def write_config(
    path: str | Path, out: str | Path, given: Given | None = None
) -> tuple[Guess, list[str], list[str]]:
    """Writes a config for a data file and returns the guesses about the file, warnings, and how
    large a difference the comparison can decide.

    Raises:
        ConfigError: `out` exists already; as `guess`.
        DataError: the content of the file is wrong, or its kind cannot be guessed.
        ArtifactError: `out` cannot be written.
    """
    _check_new(out)
    guessed = guess(path, given)
    data = data_section(guessed, path)
    folds, examples = default_folds(data)
    warnings = _warnings(guessed, data, examples)
    _write(out, _text(guessed, str(path), str(out), folds))
    return guessed, warnings, _power(examples, folds) if folds else []


def _power(examples: list, folds: int) -> list[str]:
    items = int(item_groups(examples).max()) + 1
    return power_lines(Design(REPEATS * folds, REPEATS, items), 2)


def data_section(guessed: Guess, path: str | Path) -> FilesConfig:
    """The section `data` of a config for a file, of which a part is held out."""
    columns = {"text_a" if key == "text" else key: name for key, name in guessed.columns.items()}
    return FilesConfig(
        format=guessed.format,
        kind=guessed.kind,
        train=str(path),
        columns=columns,
        delimiter=guessed.delimiter,
        held_out=HELD_OUT,
        skip_unlabelled=guessed.unlabelled > 0,
    )


def _warnings(guessed: Guess, data: FilesConfig, examples: list | None) -> list[str]:
    """What a comparison would refuse or leave out; `examples`: None where they make no folds."""
    warnings = []
    if guessed.unlabelled:
        without = f"{counted(guessed.unlabelled, 'example')} without a label"
        warnings.append(f"{without}: data.skip_unlabelled leaves them out")
    if examples is None:
        try:
            examples = [one for some in load_splits(data).examples.values() for one in some]
        except SplitError as error:
            warnings.append(f"{error}; until then a comparison refuses the file")
            return warnings
    labels = SPLITS[data.kind].labels(None, examples, data.train)
    suspicious = label_warnings(labels, {"train": examples})
    more = [f"{len(suspicious) - MOST_WARNINGS} more of labels: `tf-adapt data check`"]
    return warnings + suspicious[:MOST_WARNINGS] + more * (len(suspicious) > MOST_WARNINGS)


def examples() -> dict[str, str]:
    """The names of data that ship with a first config, with their kind of task."""
    named = {kind: kind if row.example is None else row.example for kind, row in KINDS.items()}
    return {name: kind for kind, name in named.items() if name}


def write_example(name: str, out: str | Path) -> None:
    """Writes a config for data that ship with the project.

    Args:
        name: a key of `examples`.

    Raises:
        ConfigError: `out` exists already.
        ArtifactError: `out` cannot be written.
    """
    _check_new(out)
    kind = examples()[name]
    data = ["data:", f"  dataset: sample_{kind}", "  source: sample", "  held_out: 0.2"]
    parts = [*_head(str(out)), *data, *_body("[elmo_small]", kind)]
    _write(out, "\n".join(parts) + "\n")


def _check_new(out: str | Path) -> None:
    if Path(out).exists():
        raise ConfigError(f"{out}: it exists already and is left as it is; give another --out")


def _write(out: str | Path, content: str) -> None:
    try:
        with open(out, "x", encoding="utf-8") as file:
            file.write(content)
    except OSError as error:
        raise ArtifactError(f"{out}: not writable ({error.strerror}); give another --out") from None


def lines(guessed: Guess, warnings: list[str], power: list[str], out: str) -> list[str]:
    """The guesses, the warnings, what can be decided and the next command, as lines for a
    terminal."""
    answers = [f"{key}: {value}" for key, value in guessed.columns.items()]
    answers += [f"delimiter: {guessed.delimiter!r}"] if guessed.delimiter else []
    return [
        f"format: {guessed.format} ({guessed.reasons['format']})",
        f"kind: {guessed.kind} ({guessed.reasons['kind']})",
        *answers,
        *([guessed.reasons["columns"]] if "columns" in guessed.reasons else []),
        *(f"warning: {warning}" for warning in warnings),
        *power,
        *next_lines(out),
    ]


def next_lines(out: str) -> list[str]:
    """The config and the next command, as lines for a terminal."""
    return [f"config: {out}", f"next: {shlex.join(['tf-adapt', 'compare', out, '--dry-run'])}"]


def _text(guessed: Guess, path: str, out: str, folds: int) -> str:
    delimiter = [f"  delimiter: {_scalar(guessed.delimiter)}"] if guessed.delimiter else []
    columns = [f"    {key}: {_scalar(name)}" for key, name in guessed.columns.items()]
    reasons = guessed.reasons
    unused = [f"    # {_comment(reasons['columns'])}"] if "columns" in reasons else []
    parts = [
        *_head(out, "; correct what was guessed wrongly"),
        "data:",
        f"  # guessed: {_comment(reasons['format'])}",
        f"  format: {guessed.format}",
        *delimiter,
        f"  # guessed: {_comment(reasons['kind'])}",
        f"  kind: {guessed.kind}",
        f"  train: {_scalar(path)}",
        f"  # {_SCORED[folds > 0]} With files of their own:",
        "  # dev: FILE",
        "  # test: FILE",
        *KINDS[guessed.kind].column_lines(columns, unused),
        *(["  skip_unlabelled: true"] if guessed.unlabelled else []),
        *(_few_cells(guessed.kind) if folds else _body("[bert_small, elmo_small]", guessed.kind)),
    ]
    return "\n".join(parts) + "\n"


def _few_cells(kind: str) -> list[str]:
    """The section `compare` of a cross-validation, of which ten models a cell are trained."""
    row = KINDS[kind]
    heads = row.frozen_heads(EncoderEntry(handle="bert_small"), "bert") or ["default"]
    return [
        "compare:",
        f"  # {FOLDS} folds, {REPEATS} times: ten trainings a cell. One split: `folds: 0`",
        f"  seeds: {REPEATS}",
        "  # They ship too, and make more cells: elmo_small, lm_small, lstm_small.",
        "  # Others: a folder with a module, or the address of one.",
        "  encoders: [bert_small]",
        "  # freeze: the encoder stays as it is. tune: all of it learns.",
        "  adaptations: [freeze, tune]",
        "  # A larger head on the frozen encoder beside it: remove the line.",
        f"  heads: [{', '.join(heads)}]",
        "  # Each is tried; more of them find better ones: `learning_rates: null`",
        "  learning_rates: {freeze: [3.0e-2, 1.0e-2], tune: [3.0e-4, 1.0e-4]}",
        "  # Passes over the training data; those with a frozen encoder cost little.",
        "  epochs: {freeze: 30, tune: 6}",
        "  # Twice the epochs, or another rate, where a cell is not trained to the end: `true`",
        "  extend: false",
        *_training(kind, 6, 16),
    ]


def _head(out: str, more: str = "") -> list[str]:
    return [
        f"# Freeze the encoder, or tune it? A first config{more}.",
        f"# Look:  {_comment(shlex.join(['tf-adapt', 'compare', out, '--dry-run']))}",
        f"# Run:   {_comment(shlex.join(['tf-adapt', 'compare', out, '--out', 'comparison']))}",
    ]


def _body(encoders: str, kind: str) -> list[str]:
    row = KINDS[kind]
    return [
        "compare:",
        "  # They ship; so do lm_small and lstm_small, which read from left to right only.",
        "  # Others: a folder with a module, or the address of one.",
        f"  encoders: {encoders}",
        "  # freeze: the encoder stays as it is, under a large head and again under a small one.",
        "  # tune: all of it learns. Without the small head: `heads: [default]`",
        "  adaptations: [freeze, tune]",
        "  # Passes over the training data; those with a frozen encoder cost little.",
        "  epochs: {freeze: 15, tune: 4}",
        *row.width_lines,
        "  # Learning rates are tried; to choose them yourself: `learning_rates: [1.0e-3, 3.0e-4]`",
        "  # From how many examples on does tuning pay? `train_examples: [100, 300, all]`",
        "  # Every run is repeated with so many seeds; more of them decide smaller differences.",
        "  seeds: 5",
        *_training(kind, 4, 32),
    ]


def _training(kind: str, epochs: int, batch_size: int) -> list[str]:
    return [
        "training:",
        f"  epochs: {epochs}",
        f"  batch_size: {batch_size}",
        f"  # Texts that are longer than an encoder takes {KINDS[kind].over_long}.",
        "  truncate: true",
    ]


def _scalar(text: str) -> str:
    """The text as a YAML scalar, quoted if necessary."""
    if _PLAIN.fullmatch(text) and text.isascii():
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _comment(text: str) -> str:
    """The text on one line, with ? for unprintable characters."""
    return "".join(character if character.isprintable() else "?" for character in text)
