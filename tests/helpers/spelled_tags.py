"""Every way to place entities on a few words, and how each scheme writes them."""

from tf_adapt.data.formats import TaggedSentence

LETTERS = {"BIOES": "BIES", "BILOU": "BILU", "BMES": "BMES"}
TYPES = ("X", "Y")


def sentence_of(tags, where="f.txt:10"):
    return TaggedSentence(tuple(f"w{i}" for i in range(len(tags))), tuple(tags), where, 3)


def all_entities(length: int, start: int = 0):
    """Every way to place entities of the two types on words start … length - 1."""
    if start >= length:
        yield ()
        return
    yield from all_entities(length, start + 1)
    for end in range(start + 1, length + 1):
        for kind in TYPES:
            for rest in all_entities(length, end):
                yield ((start, end, kind), *rest)


def spell(entities, length: int, scheme: str) -> tuple[str, ...]:
    """The definition of each scheme, word by word."""
    tags = []
    for word in range(length):
        inside = [entity for entity in entities if entity[0] <= word < entity[1]]
        if not inside:
            tags.append("O")
            continue
        start, end, kind = inside[0]
        first, last = word == start, word == end - 1
        if scheme in LETTERS:
            begin, inside_of, end_of, single = LETTERS[scheme]
            prefix = {(True, True): single, (True, False): begin, (False, True): end_of}.get(
                (first, last), inside_of
            )
        elif scheme == "IO":
            prefix = "I"
        elif scheme == "IOB2":
            prefix = "B" if first else "I"
        else:
            follows = any(entity[1:] == (start, kind) for entity in entities)
            prefix = "B" if first and follows else "I"
        tags.append(f"{prefix}-{kind}")
    return tuple(tags)
