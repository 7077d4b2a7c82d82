"""Sources and targets in files: two columns of a table, questions to ask of SQuAD's answers, or
replies to what was said."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from tf_adapt.data.by_kind.texts import TABLES, read_table
from tf_adapt.data.by_kind.to_predict import Read, texts_to_predict
from tf_adapt.data.formats import Record
from tf_adapt.data.formats.dialogues import read_dialogue_lines
from tf_adapt.data.formats.squad import read_questions_to_ask
from tf_adapt.data.formats.tables import written_text
from tf_adapt.data.formats.text import KnownLines
from tf_adapt.data.stored.sequences import stored
from tf_adapt.tasks.by_kind.dialog import EXCHANGES

COLUMNS = {"text_a": "source", "label": "target"}


def _of_squad(path: Any, data: Any, labelled: bool) -> Sequence[Record]:
    return read_questions_to_ask(path, labelled, data.memory_mb)


def _of_dialogues(path: Any, data: Any, labelled: bool) -> Sequence[Record]:
    """The source: the persona and, as of `kind: dialog`, the last turns, a line each; a dialogue is
    a group. The newest turn comes first: what is cut of a long source are its oldest turns."""
    records = (
        Record(
            "\n".join((*one.persona, *one.history[: -(2 * EXCHANGES + 2) : -1])),
            None,
            one.reply if labelled else None,
            one.where,
            group="\n".join((*one.persona, one.history[0])),
        )
        for one in read_dialogue_lines(path, labelled, data.memory_mb)
    )
    return stored(records, data.memory_mb)


_of_table = partial(read_table, label=dict.fromkeys(TABLES, written_text))
_OF_KEYS = {"squad": _of_squad, "convai2": _of_dialogues}
_READERS = _OF_KEYS | dict.fromkeys(TABLES, _of_table)
FORMATS = (*TABLES, *_OF_KEYS)


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
    message = f"expected null with data.format: {data.format}, which has no columns"
    return [(name, message) for name in given]
