"""The examples of a config's slices, in each split. Imports no TensorFlow.

An example is in a slice if it fulfils all of its rules (`tf_adapt.data.slices`, and `wrong_in`).
`wrong_in`: the run predicted another label than the gold one (tagging: for any word; multilabel:
another set of labels). Its predictions are used for a split of the same examples in the same order,
told by the hash that its checkpoint has; for other examples the rule says nothing, and the slice is
not scored there.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from tf_adapt.data.gold_answers import gold_answers, right_answers
from tf_adapt.data.slices import (
    Examples,
    at_places,
    check_places,
    longer_than,
    read_places,
    with_overlap,
    with_words,
)
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.printing.words import counted
from tf_adapt.runs import checkpoints
from tf_adapt.runs.ensemble_folder import ENSEMBLE, is_ensemble
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.runs.run_folder import finished_metrics


class Slice(Protocol):
    """The rules of a slice, each of which may be None."""

    words: Sequence[str] | None
    longer_than: int | None
    word_overlap_above: float | None
    wrong_in: str | None
    file: str | None


Slices = Mapping[str, Slice]
# Slice → which examples are in it, `[examples] bool`; None: unknown of these examples.
Members = dict[str, np.ndarray | None]
SPLITS = ("dev", "test")


def members_of(slices: Slices, examples: Examples, kind: str) -> Members:
    """The members of each slice among some examples.

    Raises:
        ArtifactError: the run of `wrong_in` is not finished or damaged, has several tasks, or is an
            ensemble.
        DataError: a file of places cannot be read.
    """
    return {name: _members(name, rules, examples, kind) for name, rules in slices.items()}


def training_members(slices: Slices, splits: Splits) -> Members:
    """The members of each slice in train, for heads of their own.

    Raises:
        DataError: a slice has none.
        ArtifactError, DataError: as `members_of`.
    """
    train = splits.examples["train"]
    members = members_of(slices, train, splits.kind)
    for name, mask in members.items():
        if not mask.any():
            raise DataError(
                f"slices.{name}: expected at least one of the {counted(len(train), 'example')} of "
                "train in it, on which its head is trained (slice_heads), got 0; change its rules "
                "or remove it"
            )
    return members


def checked_members(slices: Slices, splits: Splits, with_train: bool = False) -> dict[str, Members]:
    """The members of each slice in dev and, if there is one, test.

    Args:
        with_train: whether a file of places may list examples of train too.

    Raises:
        ConfigError: the scored split (test, or dev if there is none) has no example of a slice, or
            the run of `wrong_in` did not predict it.
        ArtifactError: as `members_of`.
        DataError: as `members_of`; a place is that of no example of dev or test, or of several.
    """
    names = [name for name in SPLITS if name in splits.examples]
    for rules in slices.values():
        if rules.file is not None:
            listed = ["train", *names] if with_train else names
            examples = [example for name in listed for example in splits.examples[name]]
            check_places(rules.file, read_places(rules.file), examples)
    members = {name: members_of(slices, splits.examples[name], splits.kind) for name in names}
    scored = names[-1]
    total = counted(len(splits.examples[scored]), "example")
    for name, rules in slices.items():
        if members[scored][name] is None:
            raise ConfigError(
                f"slices.{name}.wrong_in: expected a run that predicted the same {total} of "
                f"{scored}, got {rules.wrong_in}, whose dev and test are others; train one on this "
                "data, or remove the slice"
            )
        if not members[scored][name].any():
            raise ConfigError(
                f"slices.{name}: expected at least one of the {total} of {scored} in it, got 0; "
                "change its rules or remove it"
            )
    return members


def in_words(rules: Slice) -> str:
    """The rules of a slice: `a text with any of not, no, n't; wrong in runs/a`."""
    clauses = {
        "words": rules.words and f"a text with any of {', '.join(rules.words)}",
        "longer_than": f"a text of more than {rules.longer_than} words",
        "word_overlap_above": f"word overlap above {rules.word_overlap_above}",
        "wrong_in": f"predicted wrongly by {rules.wrong_in}",
        "file": f"listed in {rules.file}",
    }
    return "; ".join(text for rule, text in clauses.items() if getattr(rules, rule) is not None)


def _members(name: str, rules: Slice, examples: Examples, kind: str) -> np.ndarray | None:
    masks = [np.ones(len(examples), dtype=bool)]
    if rules.words is not None:
        masks.append(with_words(examples, rules.words))
    if rules.longer_than is not None:
        masks.append(longer_than(examples, rules.longer_than))
    if rules.word_overlap_above is not None:
        masks.append(with_overlap(examples, rules.word_overlap_above))
    if rules.file is not None:
        masks.append(at_places(examples, read_places(rules.file)))
    if rules.wrong_in is not None:
        masks.append(_wrong(name, Path(rules.wrong_in), examples, kind))
    return None if any(mask is None for mask in masks) else np.logical_and.reduce(masks)


def _wrong(name: str, run: Path, examples: Examples, kind: str) -> np.ndarray | None:
    """Which examples a run predicted wrongly; None if it predicted others."""
    _check_is_training(name, run)
    state, metrics = checkpoints.latest_state(run / "checkpoint"), finished_metrics(run)
    if state is None or metrics is None:
        raise ArtifactError(
            f"slices.{name}.wrong_in: expected the folder of a finished run, got {run}; name the "
            "folder that `tf-adapt train` wrote"
        )
    if metrics.get("tasks"):
        raise ArtifactError(
            f"slices.{name}.wrong_in: expected a run of one task, got {run}, a run of several "
            f"({', '.join(metrics['tasks'])}); name one that was trained on this data alone"
        )
    known, wanted = state.get("identity", {}), fingerprint(examples)
    for split in SPLITS:
        if known.get(f"{split} data") == wanted:
            predicted, gold = read_predictions(run, split, kind), gold_answers(examples, kind)
            return ~np.array(right_answers(predicted, gold, kind))
    return None


def _check_is_training(name: str, folder: Path) -> None:
    """Refuses ensembles, which do not know of which examples their predictions are."""
    if (folder / ENSEMBLE).is_file():
        got = "an ensemble" if is_ensemble(folder) else "the average of the weights of several runs"
        raise ArtifactError(
            f"slices.{name}.wrong_in: expected the folder of one training, got {folder}, {got}; "
            "name one of its members"
        )
