"""Values of TensorFlow Datasets' features → texts, labels, groups."""

from collections.abc import Callable, Mapping
from typing import Any

from tf_adapt.data.formats import check_score, check_text, listed_labels, text_label
from tf_adapt.errors import DataError

# Type of a feature, as in messages → what reads its values.
Readers = Mapping[str, Callable[[Any, str, str, Any], Any]]


def decoded_text(value: bytes, where: str, column: str, feature: object = None) -> str:
    """A text, after a check that it is not empty.

    Raises:
        DataError: it is empty or not UTF-8.
    """
    try:
        return check_text(value.decode("utf-8"), where, column)
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: expected UTF-8 in {column!r}, got {error}") from None


def class_name(value: int, where: str, column: str, feature: Any) -> str:
    """The name of a class; TensorFlow Datasets has −1 for labels that are not public.

    Raises:
        DataError: there is no such class.
    """
    if not 0 <= value < len(feature.names):
        raise DataError(
            f"{where}: expected a label, got {value}; the labels of this split are not public"
        )
    return feature.names[value]


def _text_label(value: bytes, where: str, column: str, feature: Any) -> str:
    return text_label(decoded_text(value, where, column), where)


def _digits(value: int, where: str, column: str, feature: Any) -> str:
    return str(int(value))


def _number(value: float, where: str, column: str, feature: Any) -> float:
    return check_score(float(value), where)


def _whole(value: int, where: str, column: str, feature: Any) -> int:
    return int(value)


def _classes(value: Any, where: str, column: str, feature: Any) -> tuple[str, ...]:
    return listed_labels([class_name(item, where, column, feature) for item in value], where)


def _set_of_texts(value: Any, where: str, column: str, feature: Any) -> tuple[str, ...]:
    return listed_labels([decoded_text(item, where, column) for item in value], where)


TEXTS: Readers = {"a text": decoded_text}
GROUPS: Readers = {"a text": decoded_text, "a whole number": _digits}
# Labels: one of several, a number, any number of them; as they are.
CLASSES: Readers = {"a class": class_name, "a text": _text_label, "a whole number": _digits}
NUMBERS: Readers = {"a number": _number, "a whole number": _number}
SETS: Readers = {"classes": _classes, "texts": _set_of_texts}
UNCHANGED: Readers = CLASSES | {"a whole number": _whole, "a number": _number} | SETS
