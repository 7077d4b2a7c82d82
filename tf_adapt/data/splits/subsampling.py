"""A random part of the training examples: of a given size, or all but one of equal ones.

The parts of one seed are nested: each is the beginning of one permutation, so that a larger part
holds all smaller ones. Groups may be split: no test is made on train.
"""

from collections.abc import Sequence

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.groups import has_documents
from tf_adapt.data.stored.sequences import at
from tf_adapt.errors import ConfigError


def part_of(examples: Sequence, count: int, seed: int) -> Sequence:
    """`count` examples in the order of the file; all, if there are no more.

    Tagged sentences come as whole documents, the last one in part, since a sentence may be encoded
    with its neighbours; if no documents are marked, sentence by sentence. Of dialogues `count`
    whole ones.
    """
    if count >= len(examples):
        return examples
    if getattr(examples[0], "counted_whole", False):
        return _whole_documents(examples, count, seed)
    indices = document_indices if has_documents(examples) else example_indices
    return at(examples, indices(examples, count, seed))


def _whole_documents(examples: Sequence, count: int, seed: int) -> Sequence:
    """The examples of `count` documents."""
    order = np.random.default_rng(seed).permutation(np.unique(_units(examples)))
    kept = set(order[:count].tolist())
    return at(examples, (n for n, one in enumerate(examples) if one.document in kept))


def without_part(examples: Sequence, left_out: int, count: int, seed: int) -> Sequence:
    """All examples but those of one of `count` equal parts, in the order of the file.

    Every example is in one part, which is random with the seed. Documents of tagged sentences stay
    whole if they are marked: the parts have equally many documents.

    Raises:
        ConfigError: there are fewer examples, or documents, than parts.
    """
    names = _units(examples)
    units = np.random.default_rng(seed).permutation(np.unique(names))
    if len(units) < count:
        raise ConfigError(
            "data.leave_out.of: expected at most as many parts as train has "
            f"{'documents' if has_documents(examples) else 'examples'} ({len(units)}), got {count}"
        )
    kept = ~np.isin(names, units[left_out::count])
    return at(examples, np.flatnonzero(kept))


def example_indices(examples: Sequence, count: int, seed: int) -> list[int]:
    """Indices of `count` random examples, sorted."""
    return sorted(np.random.default_rng(seed).permutation(len(examples))[:count].tolist())


def document_indices(sentences: Sequence[TaggedSentence], count: int, seed: int) -> list[int]:
    """Indices of `count` sentences of random whole documents (the last one in part), sorted."""
    numbers = np.array([sentence.document for sentence in sentences])
    order = np.random.default_rng(seed).permutation(np.unique(numbers))
    indices = np.concatenate([np.flatnonzero(numbers == number) for number in order])
    return sorted(indices[:count].tolist())


def units_of(examples: Sequence) -> int:
    """The number of examples, or of marked documents, that parts are made of."""
    return len(np.unique(_units(examples)))


def _units(examples: Sequence) -> np.ndarray:
    marked = has_documents(examples)
    return np.array([example.document for example in examples] if marked else range(len(examples)))


def missing_labels(part: Sequence[Record | TaggedSentence], train: Sequence) -> list:
    """The labels (sets: their members; sentences: tags) of train that no example of a part has."""
    return sorted(_labels(train) - _labels(part))


def _labels(examples: Sequence) -> set:
    return {label for example in examples for label in example.labels}
