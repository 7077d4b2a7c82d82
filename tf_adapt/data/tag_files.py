"""The tag scheme of each of a user's own files, recognised where none is named.

Tags without a type, bare letters as `B` and `I`, get the type `CHUNK`; in a file that is said to be
in IO, tags without letters are types: `PER` is `I-PER`. Where no tag has a letter, nor any is `O`,
each is of its word alone, as a part of speech.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.labels import check_scheme, convert_scheme, scheme_tags
from tf_adapt.errors import DataError
from tf_adapt.tasks.tag_schemes import FILE_SCHEMES, SPELLINGS, WORDS, split_tag

UNNAMED = "CHUNK"
_WITH_TYPE = re.compile("[BIOESMLU]-", re.IGNORECASE)
_LETTERS = frozenset(chain.from_iterable(letters for _, letters in SPELLINGS.values()))
# Letters that only one scheme has.
_OF_ONE = {"L": "BILOU", "U": "BILOU", "M": "BMES"}


def task_scheme(scheme: str) -> str:
    """The scheme of the task for the scheme of its train file."""
    return WORDS if scheme == WORDS else "IOB2"


def task_tags(tags: Sequence[str], scheme: str) -> list[str]:
    """A task's tags, in its scheme, for those of a config, in the scheme of its train file."""
    if scheme == WORDS or (scheme == "IOB2" and not _LETTERS & set(tags)):
        return list(tags)
    typed = [tag for tag in _typed(tags, scheme) if tag != "O"]
    return scheme_tags(dict.fromkeys(split_tag(tag)[1] for tag in typed), "IOB2")


def with_types(sentences: Sequence[TaggedSentence], scheme: str) -> list[TaggedSentence]:
    """The sentences of a whole file, each tag with a type (see the module's docstring)."""
    used = list(dict.fromkeys(chain.from_iterable(sentence.tags for sentence in sentences)))
    names = dict(zip(used, _typed(used, scheme), strict=True))
    return [
        replace(sentence, tags=tuple(names[tag] for tag in sentence.tags)) for sentence in sentences
    ]


def in_scheme(
    sentences: Sequence[TaggedSentence], scheme: str | None, target: str, where: str
) -> list[TaggedSentence]:
    """The sentences of a whole file in a scheme of tasks.

    Args:
        scheme: of the file; None: the one that its tags show.
        target: of the task.
        where: names the file.

    Raises:
        DataError: a tag is not legal in the scheme, or the tags fit none.
    """
    scheme = scheme or recognised_scheme(sentences, where, target)
    return convert_scheme(with_types(sentences, scheme), scheme, target)


def recognised_scheme(
    sentences: Sequence[TaggedSentence], where: str, target: str | None = None
) -> str:
    """The scheme in which every tag is legal; with an entity, all such mean the same entities.

    Args:
        where: names the data.
        target: the scheme of the task, where it is known.

    Raises:
        DataError: the tags fit none, or may be of several.
    """
    used = set(chain.from_iterable(sentence.tags for sentence in sentences))
    chunks = used - {"O"}
    if target == WORDS:
        return WORDS
    if chunks and not chunks <= _LETTERS and not any(map(_WITH_TYPE.match, chunks)):
        if target is None and "O" not in used:
            return WORDS
        raise _unclear(where, chunks)
    letters = {tag[:1] for tag in chunks}
    schemes = {_OF_ONE[letter]: None for letter in letters if letter in _OF_ONE}
    faults = []
    for scheme in schemes or ("IOB2", "IOB1", "BIOES"):  # without entities any scheme fits
        try:
            check_scheme(with_types(sentences, scheme), scheme)
            return scheme
        except DataError as error:
            faults.append(str(error).partition("; correct it")[0])
    raise DataError(
        f"{where}: expected tags that are legal in one of {', '.join(FILE_SCHEMES)}, got tags that "
        f"fit none: {', and '.join(faults)}; correct them"
    )


def _typed(tags: Sequence[str], scheme: str) -> list[str]:
    chunks = set(tags) - {"O"}
    if scheme == WORDS or any(map(_WITH_TYPE.match, chunks)):
        return list(tags)
    if chunks <= set(SPELLINGS[scheme][1]):
        return [tag if tag == "O" else f"{tag}-{UNNAMED}" for tag in tags]
    if scheme == "IO":
        return [tag if tag == "O" else f"I-{tag}" for tag in tags]
    return list(tags)


def _unclear(where: str, chunks: set[str]) -> DataError:
    some = ", ".join(map(repr, sorted(chunks)[:5]))
    return DataError(
        f"{where}: expected tags as B-TYPE and I-TYPE, got {some} and others without a letter; set "
        "data.scheme: IO where neighbours of one tag are one entity, words where each tag is of "
        "its word alone (as a part of speech)"
    )
