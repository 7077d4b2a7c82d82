"""All the data of one run: the splits of a config's `data` section, read and checked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tf_adapt.data.datasets import (
    dataset_info,
    dataset_labels,
    load_dataset,
    read_file,
    split_description,
)
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.formats.text import read_texts
from tf_adapt.data.limits import MEMORY_MB
from tf_adapt.data.own_files import labelled_only, recognised, with_dev
from tf_adapt.data.splits.equal_splits import check_distinct
from tf_adapt.data.splits.folds import fold_splits, strata_of
from tf_adapt.data.splits.kinds import KINDS, cut_together
from tf_adapt.data.splits.shifted import (
    described,
    read_shifted,
    shifted_paths,
    shifted_splits,
)
from tf_adapt.data.splits.subsampling import part_of, without_part
from tf_adapt.data.stored.sequences import at, places_in, stored
from tf_adapt.data.votes import (
    WeakLabels,
    check_rows,
    read_votes,
    weak_labels,
    with_probable_labels,
)
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.kinds import metrics_of
from tf_adapt.tasks.span_search import SpanSearch


@dataclass
class Splits:
    """The examples of a run, with the description of its task.

    Attributes:
        unlabelled: texts for a teacher, which train with `train`, after it.
        weak: the probabilities of the labels of `train`, from the votes of several sources; the
            labels of these examples are then the most probable ones. None: they have their own.
        spans: for span extraction: how answers are looked for.
        pool: with a fold: all examples, of which the splits are parts; else empty.
        memory_mb: of the tokens of each split; more are on disk, as the examples are.
    """

    name: str
    kind: str
    labels: list[str] | None
    metric: str | None
    label_range: tuple[float, float] | None
    scheme: str
    examples: dict[str, Sequence[Record | TaggedSentence]]
    descriptions: dict[str, str] = field(default_factory=dict)
    unlabelled: list[Record | TaggedSentence] = field(default_factory=list)
    weak: WeakLabels | None = None
    spans: SpanSearch | None = None
    pool: Sequence[Record | TaggedSentence] = field(default_factory=list)
    memory_mb: float = MEMORY_MB


def load_splits(data, weak=None) -> Splits:
    """Reads train, dev and, if there is one, test, of a config's `data` section.

    Labels are the dataset's own. For data that the user describes (own files, or a dataset of
    TensorFlow Datasets with `columns`) they are those of the section, else the names of its
    classes, else those of train in sorted order. Tags are converted to IOB2, but not those of words
    alone (`data.tag_files`).

    - `train_examples`: that many examples of train, sampled with `train_examples_seed`
      (`splits.subsampling`), in the order of the file; of these all but those of `leave_out`.
    - `fold`: of a train without dev and test, one of several parts plays test, and a share of the
      others (`held_out`, by default a tenth) dev: see `splits.folds`.
    - `genre`: the examples of one genre.
    - `held_out`: this share of train, sampled first with a fixed seed, serves as dev; dev then
      serves as test, and a test split is not read.
    - Without a dev split, a part of train serves as dev (`data.cut`).
    - Columns and tag schemes of CoNLL files are optional (`data.own_files`).

    Args:
        weak: a config's `weak` section, or None: the labels of train come from its file of votes
            (`data.votes`), and those of the user's own train file are not read.

    Raises:
        ConfigError: a `metric` of another kind of task; `held_out` leaves one side empty; no such
            genre; test is train or dev.
        DataError: a user's train has one label.
        ConfigError, DataError: as the readers; a label of dev or test that train does not have.
    """
    if getattr(data, "format", None) == "text":
        return _texts(data)
    splits = _weakly_labelled(data, weak) if weak is not None else _labelled(data)
    splits.memory_mb = data.memory_mb
    return splits if data.metric is None else replace(splits, metric=_metric(data, splits))


def _labelled(data) -> Splits:
    if hasattr(data, "dataset"):
        return _known(data)
    return _own_files(data) if hasattr(data, "format") else _from_tfds(data)


def _metric(data, splits: Splits) -> str:
    known = metrics_of(splits.kind, splits.scheme)
    if data.metric not in known:
        raise ConfigError(
            f"data.metric: expected one of {', '.join(known)} for {splits.kind}, got "
            f"{data.metric!r}"
        )
    return data.metric


def has_test(data) -> bool:
    """Whether a config's `data` section has its own test split; reads no data.

    Also False if `load_splits` will refuse the section's source or folder.
    """
    if not hasattr(data, "dataset"):
        return data.test is not None
    info = dataset_info(data.dataset)
    if data.source == "tfds":
        return info.tfds is not None and "test" in info.tfds.splits
    folder = info.folder or Path(data.data_dir or "")
    return any((folder / name).is_file() for name in info.files.get("test", ()))


def _weakly_labelled(data, weak) -> Splits:
    whole = data.model_copy(update={"train_examples": None, "leave_out": None})
    if hasattr(data, "format"):
        labels = data.labels or read_votes(weak.votes).labels
        splits = _own_files(whole.model_copy(update={"labels": labels}), train_labelled=False)
    else:
        splits = _labelled(whole)
    votes = read_votes(weak.votes, splits.labels)
    train = splits.examples["train"]
    check_rows(votes, len(train), splits.descriptions["train"])
    rows = places_in(_trained_on(train, data), train)
    _cut_train(splits.examples, splits.descriptions, data)
    splits.weak = weak_labels(votes, rows, weak.aggregate)
    labelled = with_probable_labels(splits.examples["train"], splits.weak.posteriors, splits.labels)
    splits.examples["train"] = stored(labelled, data.memory_mb)
    return splits


def _texts(data) -> Splits:
    paths = {split: getattr(data, split) for split in ("train", "dev", "test")}
    examples, descriptions = {}, {}
    for split, path in paths.items():
        if path is not None:
            examples[split], skipped = read_texts(path, data.skip_empty, data.memory_mb)
            note = f": {skipped} empty lines skipped" if skipped else ""
            descriptions[split] = f"{split} (file {path}){note}"
    check_distinct(examples)
    if data.dev is None:
        with_dev(examples, descriptions, str(data.train))
    name, memory = str(data.train), {"memory_mb": data.memory_mb}
    return Splits(name, data.kind, None, None, None, "IOB2", examples, descriptions, **memory)


def _known(data) -> Splits:
    info = dataset_info(data.dataset)
    examples = {
        split: load_dataset(
            data.dataset, split, data.source, data.data_dir, memory_mb=data.memory_mb
        )
        for split in ("train", "dev", *(["test"] if _reads_test(data) else []))
    }
    descriptions = {
        split: split_description(data.dataset, split, data.source) for split in examples
    }
    if data.genre is not None:
        examples = {split: _of_genre(records, data.genre) for split, records in examples.items()}
        descriptions = {split: f"{text}: {data.genre}" for split, text in descriptions.items()}
    further = read_shifted(data)
    if further[0]:
        check_distinct(examples | further[0], scored="test" if data.held_out is None else "dev")
    examples, descriptions = _held_out(examples, descriptions, data, KINDS[info.kind].held_out)
    _cut_train(examples, descriptions, data)
    labels = dataset_labels(data.dataset)
    return Splits(
        data.dataset,
        info.kind,
        labels,
        info.metric,
        info.label_range,
        "IOB2",
        examples | further[0],
        descriptions | further[1],
        spans=KINDS[info.kind].spans(data, examples["train"]),
    )


def _of_genre(examples: list, genre: str) -> list:
    genres = {getattr(example, "genre", None) for example in examples} - {None}
    if genre not in genres:
        known = (
            f"one of {', '.join(sorted(genres))}" if genres else "null, for these have no genres"
        )
        raise ConfigError(f"data.genre: expected {known}, got {genre!r}")
    return at(examples, (n for n, one in enumerate(examples) if one.genre == genre))


def _reads_test(data) -> bool:
    """With `held_out`, dev serves as test, and no test split is read."""
    return data.held_out is None and has_test(data)


def _held_out(
    examples: dict, descriptions: dict, data, cut: Callable[[list, int], tuple[list, list]]
) -> tuple[dict, dict]:
    """With `data.held_out`, a part of train becomes dev, and dev becomes test."""
    share = data.held_out
    if share is None:
        return examples, descriptions
    train, count = examples["train"], round(share * len(examples["train"]))
    if not 0 < count < len(train):
        raise ConfigError(
            f"data.held_out: expected a share of {len(train)} train examples that leaves some on "
            f"either side, got {share}"
        )
    held_out, kept = cut(train, count)
    dev = f"held out of {descriptions['train']}: {len(held_out)} examples of {len(train)}"
    replaced = "test, which is not read" if has_test(data) else "test"
    test = f"{descriptions['dev']}, in the place of {replaced}"
    return (
        {"train": kept, "dev": held_out, "test": examples["dev"]},
        descriptions | {"dev": dev, "test": test},
    )


def _cut_train(examples: dict, descriptions: dict, data) -> None:
    """Reduces train to `_trained_on`; call it after labels and other splits are known."""
    available = len(examples["train"])
    examples["train"] = _trained_on(examples["train"], data)
    if len(examples["train"]) < available:
        descriptions["train"] += f": {len(examples['train'])} examples of {available}"


def _trained_on(train: Sequence, data) -> Sequence:
    """`train_examples` of train, without those of `leave_out`."""
    count, without = data.train_examples, data.leave_out
    chosen = train if count is None else part_of(train, count, data.train_examples_seed)
    if without is not None:
        chosen = without_part(chosen, without.part, without.of, without.seed)
    return chosen


def _own_files(given, train_labelled: bool = True) -> Splits:
    data = recognised(given)
    paths = _split_names(data) | shifted_paths(data)
    examples = {
        split: read_file(path, data, labelled=train_labelled or split != "train")
        for split, path in paths.items()
    }
    if not train_labelled:  # placeholders
        placed = (replace(record, label=data.labels[0]) for record in examples["train"])
        examples["train"] = stored(placed, data.memory_mb)
    descriptions = {split: f"{split} (file {path})" for split, path in paths.items()}
    descriptions |= described(shifted_paths(data))
    for split in examples:
        examples[split], descriptions[split] = labelled_only(
            data, examples[split], descriptions[split]
        )
    labels, scheme = KINDS[data.kind].labels_and_scheme(given, data, examples, descriptions)
    return _of_user(data, str(data.train), examples, descriptions, labels, scheme, train_labelled)


def _from_tfds(data) -> Splits:
    from tf_adapt.data.tfds.columns import read_columns

    names = _split_names(data)
    columns = {role: name for role, name in data.columns if name is not None}
    examples, classes = read_columns(data.name, names, data.data_dir, columns, data.kind)
    descriptions = {
        split: f"{split} (TensorFlow Datasets, {data.name}:{name})" for split, name in names.items()
    }
    return _of_user(data, data.name, examples, descriptions, data.labels or classes)


def _split_names(data) -> dict[str, str]:
    """The file or split name of each split that is read."""
    names = ("train", "dev", *(["test"] if _reads_test(data) else []))
    return {split: name for split in names if (name := getattr(data, split)) is not None}


def _of_user(
    data,
    name: str,
    examples: dict,
    descriptions: dict,
    labels: list[str] | None,
    scheme: str = "IOB2",
    train_labelled: bool = True,
) -> Splits:
    """The splits of a user's own data, after checks, with a dev split."""
    row = KINDS[data.kind]
    labels = row.labels(labels, examples["train"], name)
    label_range = None if data.label_range is None else tuple(data.label_range)
    further = {split: (examples[split], descriptions[split]) for split in shifted_splits(examples)}
    for split, of_split in examples.items():
        where = descriptions[split] if split in further else f"{split} ({getattr(data, split)})"
        row.check_labels(of_split, labels, where, label_range)
    if train_labelled:
        row.check_train(examples["train"], name)
    check_distinct(examples, scored="test" if data.held_out is None else "dev")
    pool = []
    if data.fold is not None:
        pool = _trained_on(examples["train"], data)
        examples, descriptions = fold_splits(pool, descriptions["train"], data, name)
    else:
        if data.dev is None:
            is_file = hasattr(data, "format")
            reason = "there is no dev file" if is_file else "data.dev names no split"
            scored = data.held_out is not None
            with_dev(examples, descriptions, name, reason, scored, strata_of(data))
        cut = partial(cut_together, strata=strata_of(data))
        examples, descriptions = _held_out(examples, descriptions, data, cut)
        _cut_train(examples, descriptions, data)
    for split, (some, described_as) in further.items():
        examples[split], descriptions[split] = some, described_as
    return Splits(
        name,
        data.kind,
        labels,
        None,
        label_range,
        scheme,
        examples,
        descriptions,
        spans=row.spans(data, examples["train"]),
        pool=pool,
    )
