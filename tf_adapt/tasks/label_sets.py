"""Sets of labels as one field: `a|b`, empty if no label applies. Plain Python."""

from collections.abc import Iterable

SEPARATOR = "|"


def joined(labels: Iterable[str]) -> str:
    """The labels as one field of a table."""
    return SEPARATOR.join(labels)


def split_joined(field: str) -> tuple[str, ...]:
    """The reverse of `joined`."""
    return tuple(field.split(SEPARATOR)) if field else ()


def check_label_name(label: str) -> str | None:
    """The problem with a label's name for multilabel tasks, or None."""
    if SEPARATOR in label:
        return f"expected a label without {SEPARATOR}, which stands between labels in files"
    if label != label.strip():
        return "expected a label without white space around it"
    return None
