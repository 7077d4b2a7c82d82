"""Sets of labels: the target of an example in multilabel classification.

In a table the labels are in one field, separated by `|` without spaces; an empty field is the empty
set. In JSON lines they are a list of texts. A set is a sorted tuple.
"""

from collections.abc import Iterable, Mapping

from tf_adapt.data.formats.tables import text_label
from tf_adapt.errors import DataError
from tf_adapt.tasks.label_sets import SEPARATOR, check_label_name, joined

# Other usual separators: a label that contains one may be several.
_OTHER_SEPARATORS = ",;/"


def joined_labels(value: object, where: str) -> tuple[str, ...]:
    """The labels in a field of a table.

    Raises:
        DataError: see `listed_labels`.
    """
    return listed_labels(value.split(SEPARATOR) if value else (), where)


def listed_labels(value: object, where: str) -> tuple[str, ...]:
    """The labels of a list.

    Raises:
        DataError: it is no list; a label is no text, is empty, is a duplicate, holds the separator,
            or begins or ends with white space.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise DataError(
            f"{where}: expected a list of labels, empty where none applies, got "
            f"{type(value).__name__} {str(value)[:40]}"
        )
    labels = [_label(item, where) for item in value]
    for label in labels:
        if labels.count(label) > 1:
            raise DataError(f"{where}: expected each label once, got {label!r} twice; remove one")
    return tuple(sorted(labels))


def check_separated(labels: Iterable[str], where: str) -> None:
    """Checks that no label is a list of other labels, written with another separator.

    Raises:
        DataError: one is, such as `a, b` beside `a` and `b`.
    """
    known = set(labels)
    for label in sorted(known):
        for separator in _OTHER_SEPARATORS:
            parts = [part.strip() for part in label.split(separator)]
            if len(parts) > 1 and known.issuperset(parts):
                raise DataError(
                    f"{where}: expected labels with {SEPARATOR} between them, got {label!r}, whose "
                    f"parts are labels too; write {joined(parts)!r}, or rename the label"
                )


def _label(value: object, where: str) -> str:
    if value == "":
        raise DataError(
            f"{where}: expected labels with one {SEPARATOR} between two of them, got an empty one; "
            "remove it (where no label applies, leave the whole field or list empty)"
        )
    label = text_label(value, where)
    fault = check_label_name(label)
    if fault:
        raise DataError(f"{where}: {fault}, got {label!r}; rename it, everywhere")
    return label
