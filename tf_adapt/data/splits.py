"""All the data of one run: the splits of a config's `data` section, read and checked."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tf_adapt.data.datasets import (
    dataset_info,
    dataset_labels,
    load_dataset,
    read_file,
    split_description,
)
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.formats.text import read_texts
from tf_adapt.data.labels import check_labels, convert_scheme, label_set, scheme_tags
from tf_adapt.errors import ConfigError

SUBSET_SEED, HELD_OUT_SEED = 29, 31


@dataclass
class Splits:
    """The examples of a run, and what they say about the task."""

    name: str
    kind: str
    labels: list[str] | None
    metric: str | None
    label_range: tuple[float, float] | None
    scheme: str
    examples: dict[str, list[Record | TaggedSentence]]
    descriptions: dict[str, str] = field(default_factory=dict)


def load_splits(data) -> Splits:
    """Reads train, dev and, where there is one, test, of a config's `data` section.

    Labels are the dataset's own; of a user's own files those that the section lists, else those of
    train in sorted order. Tags are converted to IOB2. `train_examples` takes that many examples of
    train (tagging: of whole documents), picked by a fixed seed, in the order of the file.
    `genre` takes the examples of one genre. `held_out` cuts that share off train first, picked by
    another fixed seed, to play dev; dev then plays test, and a test split is not read.

    Raises:
        ConfigError: `held_out` leaves nothing on one side; a genre that is not there.
        ConfigError, DataError: as the readers; a label of dev or test that train does not have.
    """
    if getattr(data, "kind", None) == "language_model":
        return _texts(data)
    return _known(data) if hasattr(data, "dataset") else _own_files(data)


def has_test(data) -> bool:
    """Whether a config's `data` section has a test split of its own, without reading any.

    False, too, where `load_splits` will refuse the section's source or folder.
    """
    if not hasattr(data, "dataset"):
        return data.test is not None
    info = dataset_info(data.dataset)
    if data.source == "tfds":
        return info.tfds is not None and "test" in info.tfds.splits
    folder = info.folder or Path(data.data_dir or "")
    return any((folder / name).is_file() for name in info.files.get("test", ()))


def _texts(data) -> Splits:
    paths = {split: getattr(data, split) for split in ("train", "dev", "test")}
    examples, descriptions = {}, {}
    for split, path in paths.items():
        if path is not None:
            examples[split], skipped = read_texts(path, data.skip_empty)
            note = f": {skipped} empty lines skipped" if skipped else ""
            descriptions[split] = f"{split} (file {path}){note}"
    return Splits(str(data.train), data.kind, None, None, None, "IOB2", examples, descriptions)


def fingerprint(examples: list[Record | TaggedSentence]) -> str:
    """SHA-256 of texts, labels and groups in order; file names do not count."""
    digest = hashlib.sha256()
    for example in examples:
        if isinstance(example, TaggedSentence):
            content = [example.words, example.tags]
        else:
            content = [example.text_a, example.text_b, example.label]
            content += [] if example.group is None else [example.group]
        digest.update(json.dumps(content, ensure_ascii=True).encode("ascii") + b"\n")
    return digest.hexdigest()


def _known(data) -> Splits:
    info = dataset_info(data.dataset)
    examples = {
        split: load_dataset(data.dataset, split, data.source, data.data_dir)
        for split in ("train", "dev", *(["test"] if _reads_test(data) else []))
    }
    descriptions = {
        split: split_description(data.dataset, split, data.source) for split in examples
    }
    if data.genre is not None:
        examples = {split: _of_genre(found, data.genre) for split, found in examples.items()}
        descriptions = {split: f"{text}: {data.genre}" for split, text in descriptions.items()}
    examples, descriptions = _held_out(examples, descriptions, data)
    available = len(examples["train"])
    if data.train_examples is not None and data.train_examples < available:
        picked = _picked(examples["train"], data.train_examples, SUBSET_SEED)
        examples["train"] = [examples["train"][index] for index in picked]
        descriptions["train"] += f": {data.train_examples} examples of {available}"
    labels = dataset_labels(data.dataset)
    return Splits(
        data.dataset,
        info.kind,
        labels,
        info.metric,
        info.label_range,
        "IOB2",
        examples,
        descriptions,
    )


def _of_genre(examples: list, genre: str) -> list:
    found = {getattr(example, "genre", None) for example in examples} - {None}
    if genre not in found:
        known = f"one of {', '.join(sorted(found))}" if found else "null, for these have no genres"
        raise ConfigError(f"data.genre: expected {known}, got {genre!r}")
    return [example for example in examples if example.genre == genre]


def _reads_test(data) -> bool:
    """Where a part of train plays dev, dev stands in the place of test."""
    return data.held_out is None and has_test(data)


def _held_out(examples: dict, descriptions: dict, data) -> tuple[dict, dict]:
    """A part of train to choose on, and dev to score on."""
    share = data.held_out
    if share is None:
        return examples, descriptions
    train, count = examples["train"], round(share * len(examples["train"]))
    if not 0 < count < len(train):
        raise ConfigError(
            f"data.held_out: expected a share of {len(train)} train examples that leaves some on "
            f"either side, got {share}"
        )
    picked = set(_picked(train, count, HELD_OUT_SEED))
    held_out = [example for index, example in enumerate(train) if index in picked]
    kept = [example for index, example in enumerate(train) if index not in picked]
    said = f"held out of {descriptions['train']}: {count} examples of {len(train)}"
    place = "test, which is not read" if has_test(data) else "test"
    return (
        {"train": kept, "dev": held_out, "test": examples["dev"]},
        descriptions | {"dev": said, "test": f"{descriptions['dev']}, in the place of {place}"},
    )


def _picked(examples: list, count: int, seed: int) -> list[int]:
    """Places of so many examples; of tagged sentences whole documents (the last one in part), since
    a sentence may be read with its neighbours."""
    random = np.random.default_rng(seed)
    if not isinstance(examples[0], TaggedSentence):
        return sorted(random.permutation(len(examples))[:count])
    numbers = np.array([sentence.document for sentence in examples])
    order = random.permutation(np.unique(numbers))
    places = np.concatenate([np.flatnonzero(numbers == number) for number in order])
    return sorted(places[:count])


def _own_labels(data) -> list[str] | None:
    """The labels that the section lists; tags of another scheme as those of IOB2."""
    if data.labels is None or data.kind != "tagging" or data.scheme == "IOB2":
        return data.labels
    types = dict.fromkeys(tag.partition("-")[2] for tag in data.labels if tag != "O")
    return scheme_tags(types, "IOB2")


def _own_files(data) -> Splits:
    names = ("train", "dev", *(["test"] if _reads_test(data) else []))
    paths = {split: getattr(data, split) for split in names}
    examples = {split: read_file(path, data) for split, path in paths.items()}
    if data.kind == "tagging":
        examples = {
            split: convert_scheme(sentences, data.scheme, "IOB2")
            for split, sentences in examples.items()
        }
    labels = None
    if data.kind != "pair_regression":
        labels = _own_labels(data) or label_set(examples["train"], str(data.train))
    label_range = None if data.label_range is None else tuple(data.label_range)
    for split, found in examples.items():
        check_labels(found, labels, f"{split} ({paths[split]})", label_range)
    descriptions = {split: f"{split} (file {paths[split]})" for split in examples}
    examples, descriptions = _held_out(examples, descriptions, data)
    return Splits(
        str(data.train), data.kind, labels, None, label_range, "IOB2", examples, descriptions
    )
