"""Which examples belong together: in a test of two cells they count as one item.

Answers to examples of one document, or of one premise, err alike; as items of their own they would
make a difference look surer than it is. Imports no TensorFlow.
"""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.words import counted

Examples = Sequence[Record] | Sequence[TaggedSentence]


def item_groups(examples: Examples) -> np.ndarray:
    """The item that each example belongs to: numbers from 0, in the order of first appearance.

    Tagged sentences: those of one document are one item. Where all are of one document, the
    boundaries are not marked, and each sentence is an item.

    Texts and pairs: two of them are one item if they share a text (to the character; of pairs
    either text of the one and either of the other) or have the same `group`, directly or through
    others: the connected components of the graph of examples, texts and groups.

    Shapes: → `[examples] int64`.
    """
    nodes: dict[Hashable, int] = {}
    edges = [
        (number, nodes.setdefault(tie, len(examples) + len(nodes)))
        for number, ties in enumerate(_ties(examples))
        for tie in ties
    ]
    rows, columns = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    size = len(examples) + len(nodes)
    graph = coo_array((np.ones(len(edges), dtype=np.int8), (rows, columns)), shape=(size, size))
    _, components = connected_components(graph, directed=False)
    # SciPy promises no order of the components.
    numbers: dict[int, int] = {}
    of_examples = components[: len(examples)].tolist()
    return np.array([numbers.setdefault(one, len(numbers)) for one in of_examples], dtype=np.int64)


def items_in_words(examples: Examples, groups: np.ndarray) -> str:
    """What the items are: `500 pairs in 425 groups, joined by shared texts; the largest has 6`.

    Args:
        groups: `item_groups` of the examples.
    """
    sizes = np.bincount(groups)
    is_tagged = isinstance(examples[0], TaggedSentence)
    said = counted(len(examples), _noun(examples[0]))
    if len(sizes) == len(examples):
        return said
    items = counted(len(sizes), "document" if is_tagged else "group")
    joined = "" if is_tagged else ", joined by shared texts"
    if not is_tagged and any(example.group is not None for example in examples):
        joined += " or by `group`"
    return f"{said} in {items}{joined}; the largest has {sizes.max():,}"


def overlap_with_train(train: Examples, scored: Examples) -> int:
    """How many scored examples share a text with one of train (tagging: are a sentence of train).

    They may score better than new texts would. They join no items: a test of two cells holds for
    the one set of training examples.
    """
    known = {text for example in train for text in _texts(example)}
    return sum(not known.isdisjoint(_texts(example)) for example in scored)


def _ties(examples: Examples) -> list[list[Hashable]]:
    """What joins each example to those that have the same."""
    if not isinstance(examples[0], TaggedSentence):
        return [_ties_of_record(example) for example in examples]
    documents = [sentence.document for sentence in examples]
    return [[number] if len(set(documents)) > 1 else [] for number in documents]


def _ties_of_record(record: Record) -> list[Hashable]:
    # A group may be named as a text is.
    groups = [] if record.group is None else [("group", record.group)]
    return [*(("text", text) for text in _texts(record)), *groups]


def _texts(example: Record | TaggedSentence) -> Iterable[Hashable]:
    if isinstance(example, TaggedSentence):
        return (example.words,)
    return (example.text_a,) if example.text_b is None else (example.text_a, example.text_b)


def _noun(example: Record | TaggedSentence) -> str:
    if isinstance(example, TaggedSentence):
        return "sentence"
    return "text" if example.text_b is None else "pair"
