"""Tables of texts, or of pairs of texts, with a label of any form."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tf_adapt.data import formats
from tf_adapt.data.formats import Record
from tf_adapt.data.formats.text import is_missing

_READERS = {"tsv": formats.read_tsv, "csv": formats.read_csv, "jsonl": formats.read_jsonl}
TABLES = tuple(_READERS)


def read_table(
    path: str | Path, data: Any, labelled: bool, label: Mapping[str, Callable]
) -> Sequence[Record]:
    """The examples of a user's own file.

    Args:
        label: reads one, by format.
    """
    columns = {key: value for key, value in dict(data.columns).items() if value is not None}
    more = {"delimiter": data.delimiter or ","} if data.format == "csv" else {}
    given = label[data.format], labelled, data.skip_unlabelled, data.memory_mb
    return _READERS[data.format](path, columns, *given, **more)


def count_missing(labels: list) -> int:
    """How many labels of a column are none, or only white space."""
    return sum(map(is_missing, labels))
