"""Items of a test: against pencil cases, a search through the graph, and the real SICK."""

import subprocess
import sys
import unicodedata

import numpy as np
import pytest

from tf_adapt.data.datasets import load_dataset
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.groups import inseparable, item_groups, items_in_words, overlap


def pairs(*texts: str) -> list[Record]:
    """`ab` is the pair of the texts a and b."""
    return [Record(*two, label="x") for two in texts]


def sentences(*documents: int) -> list[TaggedSentence]:
    return [
        TaggedSentence(("a", str(number)), ("O", "O"), document=document)
        for number, document in enumerate(documents)
    ]


def searched(examples: list[Record]) -> list[int]:
    """The components by the definition: from each example on to all that share a key with it."""
    keys = [
        {("text", one.text_a), ("text", one.text_b), ("group", one.group)}
        - {("text", None), ("group", None)}
        for one in examples
    ]
    found, number = {}, 0
    for start in range(len(examples)):
        if start in found:
            continue
        frontier = [start]
        while frontier:
            here = frontier.pop()
            found[here] = number
            frontier += [n for n in range(len(keys)) if n not in found and keys[n] & keys[here]]
        number += 1
    return [found[n] for n in range(len(examples))]


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        (pairs("ab", "cd"), [0, 1]),
        (pairs("ab", "bc", "cd"), [0, 0, 0]),
        (pairs("ab", "cd", "bc"), [0, 0, 0]),  # the last one joins the first two
        (pairs("ab", "ca"), [0, 0]),  # text_a of one is text_b of the other
        (pairs("ab", "ba"), [0, 0]),
        (pairs("aa", "bb", "cc"), [0, 1, 2]),
        (pairs("ef", "ab", "gh", "ax", "gy", "xz"), [0, 1, 2, 1, 2, 1]),
        (pairs("ab"), [0]),
        ([Record("a"), Record("b"), Record("a")], [0, 1, 0]),
        ([Record("a", label="x"), Record("a", label="y")], [0, 0]),
        ([Record("a")], [0]),
        (sentences(0, 0, 1, 2, 2), [0, 0, 1, 2, 2]),
        (sentences(7, 7, 3), [0, 0, 1]),
        (sentences(-1, -2, -3), [0, 1, 2]),
        (sentences(4, 4, 4), [0, 1, 2]),  # one document: no boundaries are marked
        (sentences(0), [0]),
        ([TaggedSentence(("a",), document=number) for number in (0, 1, 1)], [0, 1, 1]),
    ],
)
def test_pencil_cases(examples, expected):
    found = item_groups(examples)
    assert found.shape == (len(examples),)
    assert np.issubdtype(found.dtype, np.integer)
    assert found.tolist() == expected


def test_one_sentence_is_one_group():
    assert inseparable([TaggedSentence(("a",), ("O",))]).tolist() == [0]


def test_the_group_column_joins_and_is_no_text():
    texts = [Record("a", group="g"), Record("b"), Record("c", group="g"), Record("b", group="h")]
    assert item_groups(texts).tolist() == [0, 1, 0, 1]
    # The name of a group that is also a text joins nothing; without a name each is by itself.
    assert item_groups([Record("a", group="b"), Record("b"), Record("c")]).tolist() == [0, 1, 2]
    chain = [Record("a", "b", group="g"), Record("c", "d", group="g"), Record("d", "e", group="h")]
    assert item_groups(chain).tolist() == [0, 0, 0]


def test_texts_are_compared_to_the_character():
    for one, other in (
        ("é", unicodedata.normalize("NFD", "é")),
        ("a", "A"),
        ("a", "a "),
        ("a b", "a\u00a0b"),
        ("ab", "a\u200bb"),
        ("ab", "a\u2028b"),
        ("\U0001f469\u200d\U0001f680", "\U0001f469\U0001f680"),
    ):
        records = [Record(one), Record(other), Record(one), Record(other)]
        assert item_groups(records).tolist() == [0, 1, 0, 1]
        assert overlap([Record(one)], records) == 2


def test_components_are_those_of_a_search():
    for seed in range(60):
        random = np.random.default_rng(seed)
        count, texts = random.integers(1, 40), random.integers(2, 60)
        is_pair, has_groups = seed % 2 == 0, seed % 3 == 0
        examples = [
            Record(
                str(random.integers(texts)),
                str(random.integers(texts)) if is_pair else None,
                # Names of groups that are texts too, and examples without one.
                group=str(random.integers(texts)) if has_groups and random.random() < 0.5 else None,
            )
            for _ in range(count)
        ]
        assert item_groups(examples).tolist() == searched(examples), seed


def test_a_long_chain_is_one_item():
    chain = [Record(str(number), str(number + 1)) for number in range(20_000)]
    order = np.random.default_rng(0).permutation(len(chain))
    assert set(item_groups([chain[place] for place in order])) == {0}


@pytest.mark.parametrize(
    ("train", "scored", "expected"),
    [
        (pairs("ab", "cd"), pairs("bx", "xy", "dc", "yy"), 2),
        ([Record("a")], [Record("a"), Record("b"), Record("a")], 2),
        ([Record("a", group="g")], [Record("b", group="g"), Record("g")], 0),
        (pairs("ab"), pairs("cd"), 0),
        (sentences(0, 1), sentences(5), 1),
        ([TaggedSentence(("a b",))], [TaggedSentence(("a", "b")), TaggedSentence(("a b",))], 1),
    ],
)
def test_overlap(train, scored, expected):
    assert overlap(train, scored) == expected


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        ([Record("a")], "1 text"),
        ([Record(str(number)) for number in range(1200)], "1,200 texts"),
        (
            [Record("a"), Record("b"), Record("a")],
            "3 texts in 2 groups, joined by shared texts; the largest has 2",
        ),
        (pairs("ab", "cd"), "2 pairs"),
        (
            pairs("ab", "bc", "cd", "xy"),
            "4 pairs in 2 groups, joined by shared texts; the largest has 3",
        ),
        (
            [Record("a", group="g"), Record("b", group="g")],
            "2 texts in 1 group, joined by shared texts or by `group`; the largest has 2",
        ),
        ([Record("a", group="g"), Record("b", group="h")], "2 texts"),
        (sentences(0, 0, 0), "3 sentences"),
        (sentences(0, 1, 2), "3 sentences"),
        (sentences(0, 1, 1), "3 sentences in 2 documents; the largest has 2"),
    ],
)
def test_items_in_words(examples, expected):
    assert items_in_words(examples, item_groups(examples)) == expected


def test_real_sick(shared):
    """Sentences shared within dev and with train, counted by a search and by sets of texts."""
    train, dev = (
        load_dataset("sick_e", split, data_dir=shared / "data" / "sick")
        for split in ("train", "dev")
    )
    found = item_groups(dev)
    assert found.tolist() == searched(dev)
    sizes = np.bincount(found)
    assert (len(dev), len(sizes), sizes.max()) == (500, 425, 6)
    assert sizes[sizes > 1].sum() == 134
    known = {record.text_a for record in train} | {record.text_b for record in train}
    assert overlap(train, dev) == 487
    assert sum(not {record.text_a, record.text_b} & known for record in dev) == 13
    assert items_in_words(dev, found) == (
        "500 pairs in 425 groups, joined by shared texts; the largest has 6"
    )


def test_real_conll_documents(shared):
    folder = shared / "data" / "conll2003"
    dev = load_dataset("conll2003", "dev", data_dir=folder)
    found = item_groups(dev)
    lines = (folder / "eng.testa").read_text(encoding="utf-8").split("\n")
    # The copy begins without such a line, and ends with one.
    borders = [number for number, line in enumerate(lines, 1) if line.startswith("-DOCSTART-")]
    places = [int(sentence.where.rpartition(":")[2]) for sentence in dev]
    assert found.tolist() == np.searchsorted(borders, places).tolist()
    assert items_in_words(dev, found) == ("3,250 sentences in 216 documents; the largest has 168")


def test_no_tensorflow_is_needed():
    code = (
        "import sys, tf_adapt.data.splits.groups;"
        "sys.exit(any(name in sys.modules for name in ('tensorflow', 'keras')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
