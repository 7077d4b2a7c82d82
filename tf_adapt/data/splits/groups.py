"""Groups of dependent examples: each counts as one item in a significance test.

Errors on examples of one document, or with one premise, are correlated; as separate items they
would make a difference look more significant than it is. Imports no TensorFlow.
"""

import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.stored.digests import digests
from tf_adapt.printing.words import counted

Examples = Sequence[Record] | Sequence[TaggedSentence]


def item_groups(examples: Examples) -> np.ndarray:
    """The item of each example: numbers from 0, in the order of first appearance.

    Tagged sentences: those of one document are one item. If all are of one document, the boundaries
    are not marked, and each sentence is an item.

    Texts and pairs: the connected components of the graph in which two examples are neighbours if
    they share a text (exactly; for pairs either text of the one and either of the other) or have
    the same `group`.

    Shapes: → `[examples] int64`.
    """
    return _components(map(_ties_of(examples), examples))


def inseparable(examples: Examples) -> np.ndarray:
    """As `item_groups`, except that equal sentences are one group if no documents are marked.

    For splits: no two parts of the data may share such a group.
    """
    ties_of = _ties_of(examples)
    if not any(map(ties_of, examples)):
        ties_of = operator.attrgetter("texts")
    return _components(map(ties_of, examples))


def _components(of_examples: Iterable[Sequence[Hashable]]) -> np.ndarray:
    """The connected component of each example, numbered in order; equal ties join examples."""
    # Here: who only reads files, as to predict them, does without.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    lengths: list[int] = []

    def each() -> Iterator[Hashable]:
        for ties in of_examples:
            lengths.append(len(ties))
            yield from ties

    _, nodes = np.unique(digests(each()), return_inverse=True)
    count = len(lengths)
    rows, columns = np.repeat(np.arange(count), lengths), count + nodes
    size = count + int(nodes.max(initial=-1)) + 1
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(size, size))
    _, components = connected_components(graph, directed=False)
    # SciPy does not define the order of the components.
    _, first, component_of = np.unique(components[:count], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[component_of].astype(np.int64)


def items_in_words(examples: Examples, groups: np.ndarray) -> str:
    """A description: `500 pairs in 425 groups, joined by shared texts; the largest has 6`.

    Args:
        groups: `item_groups` of the examples.
    """
    sizes = np.bincount(groups)
    first = examples[0]
    total = counted(len(examples), first.noun)
    if len(sizes) == len(examples):
        return total
    items, joined = counted(len(sizes), first.group_noun), first.joined_by
    if any(example.group is not None for example in examples):
        joined += " or by `group`"
    return f"{total} in {items}{joined}; the largest has {sizes.max():,}"


def overlap(seen: Examples, scored: Examples) -> int:
    """Number of scored examples with a text that is also in another split (tagging: the whole
    sentence), in train or in dev.

    Their scores may be better than those of new texts. They join no items: a test of two cells is
    conditional on the training examples.
    """
    known = {text for example in seen for text in example.texts}
    return sum(not known.isdisjoint(example.texts) for example in scored)


def has_documents(examples: Examples) -> bool:
    """Whether the examples are sentences of several documents, which are marked."""
    return len({example.document for example in examples}) > 1


def _ties_of(examples: Examples) -> Callable[[Any], Sequence[Hashable]]:
    """An example → its ties: examples with an equal tie are in one group. Where documents are
    marked, they are the ties."""
    if has_documents(examples):
        return lambda example: [example.document]
    return operator.attrgetter("ties")
