"""Groups of dependent examples: each counts as one item in a significance test.

Errors on examples of one document, or with one premise, are correlated; as separate items they
would make a difference look more significant than it is. Imports no TensorFlow.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
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
    return _components(_ties(examples))


def inseparable(examples: Examples) -> np.ndarray:
    """As `item_groups`, except that equal sentences are one group if no documents are marked.

    For splits: no two parts of the data may share such a group.
    """
    ties = _ties(examples)
    if not any(ties):
        ties = [example.texts for example in examples]
    return _components(ties)


def _components(of_examples: list[list[Hashable]]) -> np.ndarray:
    """The connected component of each example, numbered in order; equal ties join examples."""
    # Here: who only reads files, as to predict them, does without.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes: dict[Hashable, int] = {}
    edges = [
        (number, nodes.setdefault(tie, len(of_examples) + len(nodes)))
        for number, ties in enumerate(of_examples)
        for tie in ties
    ]
    rows, columns = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    size = len(of_examples) + len(nodes)
    graph = coo_array((np.ones(len(edges), dtype=np.int8), (rows, columns)), shape=(size, size))
    _, components = connected_components(graph, directed=False)
    # SciPy does not define the order of the components.
    numbers: dict[int, int] = {}
    component_of = components[: len(of_examples)].tolist()
    return np.array(
        [numbers.setdefault(component, len(numbers)) for component in component_of], dtype=np.int64
    )


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


def _ties(examples: Examples) -> list[Sequence[Hashable]]:
    """For each example its ties: examples with an equal tie are in one group. Where documents are
    marked, they are the ties."""
    if has_documents(examples):
        return [[example.document] for example in examples]
    return [example.ties for example in examples]
