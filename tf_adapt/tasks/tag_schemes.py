"""Tag schemes: their tags, and which tag may follow which. Plain Python.

A tag is `O` or a prefix, `-` and an entity type (Ramshaw and Marcus 1995; Tjong Kim Sang and
Veenstra 1999, "Representing text chunks"):

- IOB1: an entity is I-X …; its first word is B-X only right after an entity of the same type.
- IOB2: an entity is B-X I-X ….
- BIOES: an entity of one word is S-X, a longer one B-X I-X … E-X.

Files may also be in IO (IOB1 without B-X), BILOU (BIOES with L-X for E-X and U-X for S-X) and BMES
(BIOES with M-X for I-X). In `words` each tag is of its word alone, as a part of speech.
"""

SCHEMES = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES"}
WORDS = "words"
# Of a task.
TASK_SCHEMES = (*SCHEMES, WORDS)
# Other spellings in files: the scheme that each stands for, and its prefix for each of theirs.
SPELLINGS = {
    **{
        scheme: (scheme, {letter: letter for letter in letters})
        for scheme, letters in SCHEMES.items()
    },
    "IO": ("IOB1", {"I": "I"}),
    "BILOU": ("BIOES", {"B": "B", "I": "I", "L": "E", "U": "S"}),
    "BMES": ("BIOES", {"B": "B", "M": "I", "E": "E", "S": "S"}),
}
FILE_SCHEMES = (*SPELLINGS, WORDS)


def split_tag(tag: str) -> tuple[str, str]:
    """("B", "PER-X") of "B-PER-X"; ("O", "") of "O"."""
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def is_tag(tag: str, scheme: str) -> bool:
    """Whether a tag can occur in a scheme: "O", or a prefix of the scheme, "-" and a type; in
    `words` any text."""
    if scheme == WORDS:
        return bool(tag)
    prefix, kind = split_tag(tag)
    return tag == "O" or (prefix in SPELLINGS[scheme][1] and bool(kind))


def tag_forms(scheme: str) -> str:
    """The form of a scheme's tags, for messages: `O, B-TYPE or I-TYPE`."""
    if scheme == WORDS:
        return "a text"
    return f"O, {' or '.join(f'{prefix}-TYPE' for prefix in SPELLINGS[scheme][1])}"


def can_follow(before: str, tag: str, scheme: str) -> bool:
    """Whether `tag` may follow `before`; the ends of a sentence are like `O`."""
    if scheme == WORDS:
        return True
    base, letters = SPELLINGS[scheme]
    (last, last_kind), (prefix, kind) = split_tag(before), split_tag(tag)
    last, prefix = letters.get(last, last), letters.get(prefix, prefix)
    if base == "IOB1":  # B-X only separates two neighbouring entities of the type X
        return prefix != "B" or kind == last_kind
    if base == "IOB2":  # I-X only continues an entity of the type X
        return prefix != "I" or kind == last_kind
    # B-X and I-X are continued, I-X and E-X continue, within the type X.
    is_open, continues = last in ("B", "I"), prefix in ("I", "E")
    return is_open == continues and (not continues or kind == last_kind)
