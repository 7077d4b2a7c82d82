"""Tag schemes: their tags, and which tag may follow which. Plain Python.

A tag is `O` or a prefix, `-` and an entity type (Ramshaw and Marcus 1995; Tjong Kim Sang and
Veenstra 1999, "Representing text chunks"):

- IOB1: an entity is I-X …; its first word is B-X only right after an entity of the same type.
- IOB2: an entity is B-X I-X ….
- BIOES: an entity of one word is S-X, a longer one B-X I-X … E-X.
"""

SCHEMES = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES"}


def split_tag(tag: str) -> tuple[str, str]:
    """("B", "PER-X") of "B-PER-X"; ("O", "") of "O"."""
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def is_tag(tag: str, scheme: str) -> bool:
    """Whether a tag can occur in a scheme: "O", or a prefix of the scheme, "-" and a type."""
    prefix, kind = split_tag(tag)
    return tag == "O" or (prefix in tuple(SCHEMES[scheme]) and bool(kind))


def tag_forms(scheme: str) -> str:
    """The form of a scheme's tags, for messages: `O, B-TYPE or I-TYPE`."""
    return f"O, {' or '.join(f'{prefix}-TYPE' for prefix in SCHEMES[scheme])}"


def can_follow(before: str, tag: str, scheme: str) -> bool:
    """Whether `tag` may follow `before`; the ends of a sentence are like `O`."""
    (last, last_kind), (prefix, kind) = split_tag(before), split_tag(tag)
    if scheme == "IOB1":  # B-X only separates two neighbouring entities of the type X
        return prefix != "B" or kind == last_kind
    if scheme == "IOB2":  # I-X only continues an entity of the type X
        return prefix != "I" or kind == last_kind
    # B-X and I-X are continued, I-X and E-X continue, within the type X.
    is_open, continues = last in ("B", "I"), prefix in ("I", "E")
    return is_open == continues and (not continues or kind == last_kind)
