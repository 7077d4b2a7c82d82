"""Labels and tags: checked in Python, before any device sees an id; see `tf_adapt.tag_schemes`."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral

from tf_adapt.data.formats.records import Record, TaggedSentence, check_score
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.spans import spans
from tf_adapt.tag_schemes import SCHEMES, can_follow, is_tag, split_tag, tag_forms

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
            tuple(_write_tags(spans(_tags(sentence)), len(sentence.words), target)),
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


def _fault(before: str, tag: str, after: str, scheme: str) -> str | None:
    """Why a legal `before` may not be followed by `tag`, or `tag` by `after`; else None."""
    if not is_tag(tag, scheme):
        return f"expected {tag_forms(scheme)}"
    prefix, kind = split_tag(tag)
    if not can_follow(before, tag, scheme):
        if scheme == "IOB1":
            return (
                f"B-{kind} only parts two neighbouring entities of that type, before it is {before}"
            )
        return f"expected B-{kind} or I-{kind} before it, got {before}"
    # Where the neighbour after it is at fault, it is named in its own turn.
    if scheme == "BIOES" and prefix in ("B", "I") and not can_follow(tag, after, scheme):
        return f"expected I-{kind} or E-{kind} after it, got {after}"
    return None


def _write_tags(entities: list[tuple[str, int, int]], length: int, scheme: str) -> list[str]:
    tags = ["O"] * length
    touched = None  # type and end of the entity before
    for kind, start, end in entities:
        tags[start:end] = [f"I-{kind}"] * (end - start)
        if scheme != "IOB1" or touched == (kind, start):
            tags[start] = f"B-{kind}"
        if scheme == "BIOES":
            tags[end - 1] = f"E-{kind}" if end - start > 1 else f"S-{kind}"
        touched = (kind, end)
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
