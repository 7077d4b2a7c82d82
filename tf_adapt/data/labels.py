"""Labels and tag schemes: checked in Python, before any device sees an id.

Tag schemes (Ramshaw and Marcus 1995; Tjong Kim Sang and Veenstra 1999, "Representing text
chunks"): a tag is `O` or a prefix, `-` and an entity type.

- IOB1: an entity is I-X …; its first word is B-X only right after an entity of the same type.
- IOB2: an entity is B-X I-X ….
- BIOES: an entity of one word is S-X, a longer one B-X I-X … E-X.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral

from tf_adapt.data.formats.records import Record, TaggedSentence, check_score
from tf_adapt.errors import ConfigError, DataError

SCHEMES = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES"}
_FILE_AND_LINE = re.compile(r"(?s)(.*):([0-9]+)")


def check_scheme(sentences: Iterable[TaggedSentence], scheme: str) -> None:
    """Checks that every tag is legal where it stands; nothing is repaired.

    Raises:
        ConfigError: no such scheme.
        DataError: a tag that is malformed, of another scheme, or illegal after or before its
            neighbour; a sentence without tags, or with another number of tags than of words.
    """
    _check_name(scheme)
    for sentence in sentences:
        tags = _tags(sentence)
        before = "O"
        for index, tag in enumerate(tags):
            after = tags[index + 1] if index + 1 < len(tags) else "O"
            fault = _fault(before, tag, after, scheme)
            if fault:
                raise DataError(
                    f"{word_where(sentence, index)}: tag {tag!r} is not legal in the scheme "
                    f"{scheme}: {fault}; correct it, or name the scheme the file is in"
                )
            before = tag


def convert_scheme(
    sentences: Sequence[TaggedSentence], source: str, target: str
) -> list[TaggedSentence]:
    """The same entities in another scheme, after `check_scheme` in the first.

    Raises:
        ConfigError, DataError: as `check_scheme`.
    """
    _check_name(target)
    check_scheme(sentences, source)
    if source == target:
        return list(sentences)
    return [
        TaggedSentence(
            sentence.words,
            tuple(_write_tags(_read_spans(_tags(sentence)), len(sentence.words), target)),
            sentence.where,
            sentence.document,
        )
        for sentence in sentences
    ]


def scheme_tags(types: Iterable[str], scheme: str) -> list[str]:
    """Every tag of a scheme for these entity types: `O`, then type by type.

    Raises:
        ConfigError: no such scheme.
    """
    _check_name(scheme)
    return ["O", *(f"{prefix}-{kind}" for kind in types for prefix in SCHEMES[scheme])]


def word_where(sentence: TaggedSentence, index: int) -> str:
    """The place of a word: words of a sentence stand on consecutive lines of its file."""
    match = _FILE_AND_LINE.fullmatch(sentence.where)
    if match:
        return f"{match[1]}:{int(match[2]) + index}"
    return f"{sentence.where or 'sentence'}, word {index + 1}"


def label_set(records: Iterable[Record | TaggedSentence], where: str) -> list[str]:
    """The distinct labels in sorted order; tags with `O` first, then by type and prefix.

    Raises:
        DataError: there is no example (`where` names the data), one has no label, or a label is
            not a text.
    """
    labels = set()
    tagged = False
    for record in records:
        tagged = isinstance(record, TaggedSentence)
        for label, place in _labels(record):
            if not isinstance(label, str):
                raise DataError(f"{place}: expected a text as label, got {label!r}")
            labels.add(label)
    if not labels:
        raise DataError(f"no examples in {where}; expected at least one")
    return sorted(labels, key=_tag_order if tagged else None)


def check_labels(
    records: Iterable[Record | TaggedSentence],
    labels: Sequence[str] | None,
    split: str,
    label_range: tuple[float, float] | None = None,
) -> None:
    """Checks each label against the task's labels, or each regression target (`labels` None).

    Labels are names, or ids from 0 to the number of labels - 1.

    Raises:
        DataError: a label is unknown (with its first place and count), an id out of range, a
            target not finite in float32 or outside `label_range`; an example has no label.
    """
    places: dict[object, str] = {}
    counts: Counter = Counter()
    for record in records:
        for label, where in _labels(record):
            if labels is None:
                _check_target(label, label_range, where)
            elif not _is_known(label, labels):
                places.setdefault(label, where)
                counts[label] += 1
    if counts:
        raise _unknown_labels(places, counts, labels, split)


def _check_name(scheme: str) -> None:
    if scheme not in SCHEMES:
        raise ConfigError(f"scheme: expected one of {', '.join(SCHEMES)}, got {scheme!r}")


def _tags(sentence: TaggedSentence) -> tuple[str, ...]:
    if sentence.tags is None:
        raise DataError(f"{sentence.where}: expected a tag for each word, got no tags")
    if len(sentence.tags) != len(sentence.words):
        raise DataError(
            f"{sentence.where}: expected {len(sentence.words)} tags, one for each word, "
            f"got {len(sentence.tags)}"
        )
    return sentence.tags


def split_tag(tag: str) -> tuple[str, str]:
    """("B", "PER-X") of "B-PER-X"; ("O", "") of "O"."""
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def _fault(before: str, tag: str, after: str, scheme: str) -> str | None:
    """Why a legal `before` may not be followed by `tag`, or `tag` by `after`; else None."""
    if tag == "O":
        return None
    prefix, kind = split_tag(tag)
    if prefix not in tuple(SCHEMES[scheme]) or not kind:
        prefixes = " or ".join(f"{letter}-TYPE" for letter in SCHEMES[scheme])
        return f"expected O, {prefixes}"
    return _FAULTS[scheme](before, prefix, kind, after)


def _fault_iob1(before: str, prefix: str, kind: str, after: str) -> str | None:
    if prefix == "B" and before not in (f"B-{kind}", f"I-{kind}"):
        return f"B-{kind} only parts two neighbouring entities of that type, before it is {before}"
    return None


def _fault_iob2(before: str, prefix: str, kind: str, after: str) -> str | None:
    if prefix == "I" and before not in (f"B-{kind}", f"I-{kind}"):
        return f"expected B-{kind} or I-{kind} before it, got {before}"
    return None


def _fault_bioes(before: str, prefix: str, kind: str, after: str) -> str | None:
    if prefix in "IE" and before not in (f"B-{kind}", f"I-{kind}"):
        return f"expected B-{kind} or I-{kind} before it, got {before}"
    if prefix in "BI" and after not in (f"I-{kind}", f"E-{kind}"):
        return f"expected I-{kind} or E-{kind} after it, got {after}"
    return None


_FAULTS: dict[str, Callable[[str, str, str, str], str | None]] = {
    "IOB1": _fault_iob1,
    "IOB2": _fault_iob2,
    "BIOES": _fault_bioes,
}


def _read_spans(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """(start, end, type) of each entity, end exclusive, of tags legal in any of the schemes.

    In all three an entity goes on exactly where its type stays and the prefix is I or E.
    """
    spans: list[tuple[int, int, str]] = []
    for index, tag in enumerate(tags):
        prefix, kind = split_tag(tag)
        if tag == "O":
            continue
        if prefix in "IE" and spans and spans[-1][1:] == (index, kind):
            spans[-1] = (spans[-1][0], index + 1, kind)
        else:
            spans.append((index, index + 1, kind))
    return spans


def _write_tags(spans: list[tuple[int, int, str]], length: int, scheme: str) -> list[str]:
    tags = ["O"] * length
    for number, (start, end, kind) in enumerate(spans):
        tags[start:end] = [f"I-{kind}"] * (end - start)
        touches_same_type = number > 0 and spans[number - 1][1:] == (start, kind)
        if scheme != "IOB1" or touches_same_type:
            tags[start] = f"B-{kind}"
        if scheme == "BIOES":
            tags[end - 1] = f"E-{kind}" if end - start > 1 else f"S-{kind}"
    return tags


def _labels(record: Record | TaggedSentence) -> list[tuple[object, str]]:
    """Each label of an example with its place."""
    if isinstance(record, TaggedSentence):
        return [(tag, word_where(record, i)) for i, tag in enumerate(_tags(record))]
    if record.label is None:
        raise DataError(f"{record.where}: expected a label, got none")
    return [(record.label, record.where)]


def _tag_order(tag: str) -> tuple[bool, str, str]:
    prefix, kind = split_tag(tag)
    return tag != "O", kind, prefix


def _is_known(label: object, labels: Sequence[str]) -> bool:
    if isinstance(label, Integral) and not isinstance(label, bool):
        return 0 <= label < len(labels)
    return label in labels


def _check_target(label: object, label_range: tuple[float, float] | None, where: str) -> None:
    score = check_score(label, where)
    if label_range and not label_range[0] <= score <= label_range[1]:
        low, high = label_range
        raise DataError(f"{where}: expected a label from {low:g} to {high:g}, got {score:g}")


def _unknown_labels(
    places: dict[object, str], counts: Counter, labels: Sequence[str], split: str
) -> DataError:
    found = "; ".join(
        f"{label!r}, first at {where}, {counts[label]} in all"
        for label, where in list(places.items())[:5]
    )
    return DataError(
        f"{split}: expected the labels {', '.join(map(repr, labels))} "
        f"(or ids from 0 to {len(labels) - 1}), got {found}; "
        "correct them, or add such examples to the training data"
    )
