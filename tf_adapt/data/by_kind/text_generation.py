"""Sources and targets in files: two columns of a table, or questions to ask of SQuAD's answers."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from tf_adapt.data.by_kind.texts import TABLES, read_table
from tf_adapt.data.by_kind.to_predict import Read, texts_to_predict
from tf_adapt.data.formats import Record
from tf_adapt.data.formats.squad import read_questions_to_ask
from tf_adapt.data.formats.tables import written_text
from tf_adapt.data.formats.text import KnownLines

COLUMNS = {"text_a": "source", "label": "target"}


def _of_squad(path: Any, data: Any, labelled: bool) -> Sequence[Record]:
    return read_questions_to_ask(path, labelled, data.memory_mb)


_of_table = partial(read_table, label=dict.fromkeys(TABLES, written_text))
_READERS = {"squad": _of_squad, **dict.fromkeys(TABLES, _of_table)}
FORMATS = (*TABLES, "squad")


def read_sources(path: Any, data: Any, labelled: bool) -> Sequence[Record]:
    """The examples of a user's own file."""
    return _READERS[data.format](path, data, labelled)


def sources_to_predict(path: KnownLines, data: Any, read: Read) -> Sequence[Record]:
    """The sources of a file, one for each row."""
    if getattr(data, "format", None) not in TABLES:
        return read(path, data, False)
    return texts_to_predict(path, data, read, texts=1)


def with_columns(data: Any) -> Any:
    """The section with the columns `source` and `target` of a table, where none are named."""
    if data.format not in TABLES or data.columns.text_a is not None:
        return data
    return data.model_copy(update={"columns": data.columns.model_copy(update=COLUMNS)})


def column_problems(data: Any) -> list[tuple[str, str]]:
    """Columns of a file that has none."""
    if getattr(data, "format", None) in (*TABLES, None):
        return []
    given = [name for name, column in data.columns if column is not None]
    return [(name, "expected null with data.format: squad, whose keys are fixed") for name in given]
