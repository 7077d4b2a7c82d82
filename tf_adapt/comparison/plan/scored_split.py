"""What a comparison scores, never what it chooses on: a test split, or each example by folds.

A run selects epoch and learning rate on its dev split and is scored on its test split. If dev is
scored, because there is no test split or the config says so, dev serves as test, and a part of
train as dev. With neither a dev nor a test file and few examples each fold of train serves as test
once a repeat, scored by a model of the others.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.config.data_sections import DatasetConfig, FilesConfig, FoldConfig, TfdsConfig
from tf_adapt.config.messages import Problems
from tf_adapt.config.sections import Config
from tf_adapt.data.splits.cut import SplitError
from tf_adapt.data.splits.folds import HELD_OUT, numbers_of_folds, of_fold, strata_of
from tf_adapt.data.splits.read_splits import (
    has_test,
    load_splits,
)
from tf_adapt.errors import ConfigError
from tf_adapt.training.resolving.run_config import saved_config

SEEDS, REPEATS, FOLDS = 5, 2, 5  # the defaults
# From so many examples on one split scores enough of them.
ENOUGH_FOR_A_SPLIT = 2000


def with_scored_split(
    data: DatasetConfig | FilesConfig, score_on: str, place: str
) -> DatasetConfig | FilesConfig:
    """The `data` section of every run of a comparison.

    Args:
        score_on: "test" (dev if there is no test split), or "dev" (a test split is not read).
        place: the location of `data.held_out`, for messages.

    Raises:
        ConfigError: a share of train is held out although the test split is scored.
    """
    if score_on == "test" and has_test(data):
        if data.held_out is not None:
            raise ConfigError(
                f"{place}: data.held_out: expected null where there is a test split, got "
                f"{data.held_out}: dev chooses, test is scored; set compare.score_on: dev to have "
                "that share of train choose and dev scored"
            )
        return data
    return data if data.held_out else data.model_copy(update={"held_out": HELD_OUT})


def check_folds(comparison: Comparison, problems: Problems) -> None:
    """Adds a problem where a cross-validation is asked for and cannot be."""
    reason = _against_folds(comparison)
    if comparison.folds is not None and comparison.folds > 1 and reason is not None:
        problems.add(
            ("compare", "folds"), f"expected 0 or null {reason}, got {comparison.folds}; remove it"
        )


def check_shifted(comparison: Comparison, problems: Problems) -> None:
    """Adds a problem where answers in other domains are asked of ensembles, which have none."""
    if getattr(comparison.data, "shifted", None) and any(c.together for c in comparison.cells):
        problems.add(
            ("data", "shifted"),
            "expected null beside signals with ensembles; leave one of them out",
        )


def settled(comparison: Comparison) -> Comparison:
    """The comparison with its number of folds (0: one split) and its seeds.

    Raises:
        ConfigError, DataError: as `load_splits`, which reads train where the config does not say
            the number of folds.
    """
    folds, repeats = comparison.folds, comparison.seeds or tuple(range(REPEATS))
    if folds is None:
        against = _against_folds(comparison) or _seen_before(comparison)
        folds = 0 if against else default_folds(comparison.data, repeats)[0]
    elif folds > 1:
        _check_every_fold(comparison, folds, repeats)
    folds = folds if folds > 1 else 0
    seeds = comparison.seeds or (repeats if folds else tuple(range(SEEDS)))
    return replace(comparison, folds=folds, seeds=seeds)


def _check_every_fold(comparison: Comparison, folds: int, repeats: Sequence[int]) -> None:
    seen = _seen_before(comparison)
    if seen is not None:
        raise ConfigError(
            f"compare.folds: expected 0 or null {seen}, got {folds}: it has seen the labels of "
            "every fold"
        )
    every_fold(comparison.data, folds, repeats)


def default_folds(
    data: FilesConfig | TfdsConfig, repeats: Sequence[int] = range(REPEATS)
) -> tuple[int, list | None]:
    """The default number of folds of data without dev and test (0: one split), and the examples;
    None where they cannot be cut into folds.

    Raises:
        DataError: as `load_splits`.
    """
    try:
        pool = every_fold(data, FOLDS, repeats)
    except SplitError:
        return 0, None
    return FOLDS if len(pool) < ENOUGH_FOR_A_SPLIT else 0, pool


def every_fold(
    data: FilesConfig | TfdsConfig, folds: int = FOLDS, repeats: Sequence[int] = (0,)
) -> list:
    """The examples that a cross-validation scores, after each of its folds was tried: large groups
    may leave one without examples to choose on.

    Raises:
        SplitError, DataError: as `load_splits`.
    """
    splits = load_splits(data.model_copy(update={"fold": FoldConfig(of=folds)}))
    share = data.held_out or HELD_OUT
    for repeat in repeats:
        numbers = numbers_of_folds(splits.pool, splits.kind, folds, repeat, splits.name)
        for number in range(folds):
            of_fold(splits.pool, numbers, number, repeat, share, splits.name, strata_of(data))
    return splits.pool


def _seen_before(comparison: Comparison) -> str | None:
    """`beside start.run, which was trained on the same file`, if a run before the cells' own, or a
    further task of theirs, reads the train that is to be cut into folds."""
    train = comparison.data.train
    befores = {f"start.config {path}": cell.config for path, cell in comparison.starts.items()}
    for cell in comparison.cells:
        config = cell.config
        if config.start is not None and config.start.run is not None:
            befores["start.run"] = saved_config(Path(config.start.run))
        if config.teacher is not None and cell.teacher is None:
            befores["teacher.run"] = saved_config(Path(config.teacher.run))
        if config.tasks is not None:
            others = (name for name in config.tasks if name != config.target)
            befores |= {f"tasks.{name}": config.of_task(name) for name in others}
    for name, before in befores.items():
        if before is not None and _train_of(before) == train:
            return f"beside {name}, which was trained on the same file"
    return None


def _train_of(config: Config) -> str | None:
    config = config if config.tasks is None else config.of_task(config.target)
    return getattr(config.data, "train", None)


def _against_folds(comparison: Comparison) -> str | None:
    """Why there can be no folds, as `beside data.test, …`; None: there can."""
    data, cells = comparison.data, comparison.cells
    if isinstance(data, DatasetConfig):
        return "for a named dataset, whose splits are given"
    for name in ("dev", "test", "leave_out"):
        if getattr(data, name) is not None:
            return f"beside data.{name}"
    if len(comparison.sizes) > 1 or comparison.sizes[0] is not None:
        return "beside compare.train_examples"
    if any(cell.config.weak is not None for cell in cells):
        return "beside weak, whose train has no labels to score"
    if any(cell.config.slice_heads for cell in cells):
        return "beside slice_heads, which a fold may leave without examples"
    if any(cell.parts for cell in cells):
        return "beside leave_out_parts"
    return None
