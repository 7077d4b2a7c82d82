"""Labels and tags: checked in Python, before ids reach a device."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Integral

from tf_adapt.data.formats.label_sets import check_separated
from tf_adapt.data.formats.records import (
    Answers,
    Record,
    TaggedSentence,
    check_answers,
    check_score,
)
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.spans import spans
from tf_adapt.tasks.tag_schemes import (
    FILE_SCHEMES,
    SCHEMES,
    SPELLINGS,
    TASK_SCHEMES,
    WORDS,
    can_follow,
    is_tag,
    split_tag,
    tag_forms,
)

_NUMBER = re.compile(r"[+-]?[0-9]+")


def check_scheme(sentences: Iterable[TaggedSentence], scheme: str) -> None:
    """Checks that every tag is legal in its position; nothing is repaired.

    Raises:
        ConfigError: no such scheme.
        DataError: a tag that is malformed, of another scheme, or illegal next to its neighbour; a
            sentence without tags, or with another number of tags than of words.
    """
    _check_name(scheme, FILE_SCHEMES)
    for sentence in sentences:
        tags = sentence.labels
        before = "O"
        for index, tag in enumerate(tags):
            after = tags[index + 1] if index + 1 < len(tags) else "O"
            fault = _fault(before, tag, after, scheme)
            if fault:
                raise DataError(
                    f"{sentence.place_of(index)}: tag {tag!r} is not legal in the scheme "
                    f"{scheme}: {fault}; correct it, or name the scheme the file is in"
                )
            before = tag


def convert_scheme(
    sentences: Sequence[TaggedSentence], source: str, target: str
) -> Sequence[TaggedSentence]:
    """The same entities in a scheme of tasks, after `check_scheme` in the source scheme.

    Raises:
        ConfigError, DataError: as `check_scheme`; one of both is `words`, which has no entities.
    """
    _check_name(target, TASK_SCHEMES)
    check_scheme(sentences, source)
    if source == target:
        return sentences
    if WORDS in (source, target):
        raise ConfigError(f"scheme: expected {target}, got {source}; one of them has no entities")
    return [
        replace(
            sentence,
            tags=tuple(
                _write_tags(spans(_in_letters(sentence, source)), len(sentence.words), target)
            ),
        )
        for sentence in sentences
    ]


def scheme_tags(types: Iterable[str], scheme: str) -> list[str]:
    """Every tag of a scheme for these entity types: `O`, then type by type.

    Raises:
        ConfigError: no such scheme.
    """
    _check_name(scheme, SCHEMES)
    return ["O", *(f"{prefix}-{kind}" for kind in types for prefix in SCHEMES[scheme])]


def label_set(records: Iterable[Record | TaggedSentence], where: str) -> list[str]:
    """The distinct labels in sorted order; tags with `O` first, then by type and prefix.

    Raises:
        DataError: there is no example (`where` names the data), one has no label, or a label is
            not a text; for sets of labels, all are empty, or a label seems to be several.
    """
    labels = set()
    order, of_sets = None, False
    for record in records:
        order, of_sets = record.label_order, record.has_label_set
        for label, location in record.located_labels:
            if not isinstance(label, str):
                raise DataError(f"{location}: expected a text as label, got {label!r}")
            labels.add(label)
    if of_sets:
        if not labels:
            raise DataError(f"no labels in {where}; expected an example with at least one")
        check_separated(labels, where)
    if not labels:
        raise DataError(f"no examples in {where}; expected at least one")
    return sorted(labels, key=order)


def check_labels(
    records: Iterable[Record | TaggedSentence],
    labels: Sequence[str] | None,
    split: str,
    label_range: tuple[float, float] | None = None,
) -> None:
    """Checks each label against the task's labels, or each regression target (`labels` None), or
    each answer against its context.

    Labels are as in `label_ids`; in sets of labels names only.

    Raises:
        DataError: a label is unknown (with its first location and count), an id out of range, a
            target not finite in float32 or outside `label_range`; an answer is not in its context
            at its offset; an example has no label.
    """
    first_locations: dict[object, str] = {}
    counts: Counter = Counter()
    of_sets, id_of = False, label_ids(labels or [])
    for record in records:
        of_sets = record.has_label_set
        for label, where in record.located_labels:
            if isinstance(label, Answers):
                check_answers(label, record.text_b, where)
            elif labels is None:
                _check_target(label, label_range, where)
            elif id_of(label) is None:
                first_locations.setdefault(label, where)
                counts[label] += 1
    if counts:
        raise _unknown_labels(first_locations, counts, labels, split, of_sets)


def label_ids(labels: Sequence[str]) -> Callable[[object], int | None]:
    """A label → its position among the task's labels; None for one that is not among them.

    An integer is an id where no label is a number. Where every label is one, it is the label with
    its digits: 4 is the fourth of the stars "1" to "5". Where only some are, it is neither.
    """
    ids: dict[object, int] = {name: number for number, name in enumerate(labels)}
    numbers = [_NUMBER.fullmatch(name) is not None for name in labels]
    if not any(numbers):
        integers = {number: number for number in ids.values()}
    elif all(numbers):
        integers = {int(name): number for name, number in ids.items() if str(int(name)) == name}
    else:
        integers = {}

    def id_of(label: object) -> int | None:
        if isinstance(label, Integral):
            return None if isinstance(label, bool) else integers.get(int(label))
        return ids.get(label)

    return id_of


def _check_name(scheme: str, known: Iterable[str]) -> None:
    if scheme not in known:
        raise ConfigError(f"scheme: expected one of {', '.join(known)}, got {scheme!r}")


def _in_letters(sentence: TaggedSentence, scheme: str) -> list[str]:
    """The tags with the letters of the scheme that is the same but for them."""
    letters = SPELLINGS[scheme][1] | {"O": "O"}
    return [letters[tag[0]] + tag[1:] for tag in sentence.labels]


def _fault(before: str, tag: str, after: str, scheme: str) -> str | None:
    """Why `tag` is illegal after `before` or before `after`; None if it is legal."""
    if not is_tag(tag, scheme):
        return f"expected {tag_forms(scheme)}"
    if scheme == WORDS:
        return None
    prefix, kind = split_tag(tag)
    base, letters = SPELLINGS[scheme]
    written = {meaning: letter for letter, meaning in letters.items()}
    if not can_follow(before, tag, scheme):
        if base == "IOB1":
            return (
                f"B-{kind} only separates two neighbouring entities of that type, but follows "
                f"{before}"
            )
        return f"expected B-{kind} or {written['I']}-{kind} before it, got {before}"
    # An illegal tag after it is reported at its own position.
    is_open = base == "BIOES" and letters.get(prefix) in ("B", "I")
    if is_open and not can_follow(tag, after, scheme):
        return f"expected {written['I']}-{kind} or {written['E']}-{kind} after it, got {after}"
    return None


def _write_tags(entities: list[tuple[str, int, int]], length: int, scheme: str) -> list[str]:
    tags = ["O"] * length
    previous = None  # type and end of the entity before
    for kind, start, end in entities:
        tags[start:end] = [f"I-{kind}"] * (end - start)
        if scheme != "IOB1" or previous == (kind, start):
            tags[start] = f"B-{kind}"
        if scheme == "BIOES":
            tags[end - 1] = f"E-{kind}" if end - start > 1 else f"S-{kind}"
        previous = (kind, end)
    return tags


def _check_target(label: object, label_range: tuple[float, float] | None, where: str) -> None:
    score = check_score(label, where)
    if label_range and not label_range[0] <= score <= label_range[1]:
        low, high = label_range
        raise DataError(f"{where}: expected a label from {low:g} to {high:g}, got {score:g}")


def _unknown_labels(
    first_locations: dict[object, str],
    counts: Counter,
    labels: Sequence[str],
    split: str,
    of_sets: bool,
) -> DataError:
    unknown = "; ".join(
        f"{label!r}, first at {where}, {counts[label]} in all"
        for label, where in list(first_locations.items())[:5]
    )
    has_ids = not of_sets and not any(_NUMBER.fullmatch(name) for name in labels)
    ids = f" (or ids from 0 to {len(labels) - 1})" if has_ids else ""
    return DataError(
        f"{split}: expected the labels {', '.join(map(repr, labels))}{ids}, got {unknown}; "
        "correct them, or add such examples to the training data"
    )
