"""Formats of prediction files. Imports no TensorFlow.

The suffix of the file selects the format, with one line per example: tab-separated values (the
default) with a header and six decimals, .csv (RFC 4180), or .jsonl with one object per line. For
tagging: CoNLL columns (the default), one word per line, separated from its tag by a tab because
words may contain blanks; or .jsonl. Label sets are joined by `|` in tables, and lists in .jsonl.
Of answers to questions, tables have the best with its score and offsets; .jsonl has the next best
too. Tabs and line breaks in answers and in tagged words are blanks, but in .jsonl.
"""

import csv
import io
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.runs import kinds as runs
from tf_adapt.serving.kinds import KINDS, on_one_line
from tf_adapt.serving.prediction.output_files import write_output

# Columns that say which example a row is.
_ID = re.compile(r"(.*[_ -])?(id|idx|index|guid|uuid)", re.IGNORECASE)


def form_of(output: str | os.PathLike, task: Any) -> str:
    """The format of a file of predictions: tsv, csv, jsonl or conll.

    Raises:
        ConfigError: the format of this suffix cannot represent the predictions of this task.
    """
    suffix = Path(output).suffix.lower()
    if suffix == ".jsonl":
        return "jsonl"
    form = runs.KINDS[task.kind].form
    if suffix != ".csv":
        return form
    if form == "conll":
        raise ConfigError(
            f"{output}: expected .jsonl for {task.kind}, or another suffix for CoNLL columns, got "
            ".csv; a sentence is no row of a table"
        )
    return "csv"


def check_texts(
    form: str, task: Any, records: Sequence[Record | TaggedSentence], with_input: bool
) -> None:
    """Checks that a format can represent what is written of the input.

    Raises:
        DataError: a text contains a tab or a line break, and the format is tsv.
    """
    for record in records if form == "tsv" else ():
        for value in _of_input(record, task, with_input).values():
            text = _text(value)
            if any(character in text for character in "\t\n\r"):
                raise DataError(
                    f"{record.where}: expected a text on one line without tabs, got "
                    f"{text[:40]!r}; name the output .jsonl or .csv, which can hold it (--format "
                    "csv for standard output)"
                )


def predictions_text(
    form: str,
    task: Any,
    records: Sequence[Record | TaggedSentence],
    predictions: Sequence[Any],
    with_input: bool = False,
    with_scores: bool = False,
) -> str:
    """The content of a file of predictions.

    Args:
        form: tsv, csv, jsonl or conll: see `form_of`.
        predictions: one for each record, see `tf_adapt.serving.prediction.prediction`; None for an
            empty one.
        with_input: write the row first, with its own names of the columns; columns of ids are
            written in any case, and for tagging the words.
        with_scores: write the probability of each tag after it, and of a written text
            `serving.kinds.Row.own_columns`, as a run's own files have it.
    """
    return "".join(_parts(form, task, records, predictions, with_input, with_scores))


def _parts(
    form: str,
    task: Any,
    records: Sequence[Record | TaggedSentence],
    predictions: Iterable[Any],
    with_input: bool,
    with_scores: bool = False,
) -> Iterator[str]:
    """The text of each example, before them the header."""
    pairs = zip(records, predictions, strict=True)
    if form == "conll":
        for number, pair in enumerate(pairs):
            yield ("\n" if number else "") + _columns(*pair, with_scores)
    elif form == "jsonl":
        for record, prediction in pairs:
            values = _of_input(record, task, with_input)
            item = values | _renamed(_object(record, prediction, task), values)
            yield f"{json.dumps(item, ensure_ascii=False)}\n"
    else:
        given = (_of_input(record, task, with_input) for record in records)
        names = list(dict.fromkeys(name for values in given for name in values))
        row, line = KINDS[task.kind], _tab_line if form == "tsv" else _comma_line
        own = row.own_columns if with_scores else ()
        answers = ["prediction", *row.columns(task.labels), *own]
        yield line([*names, *_renamed(dict.fromkeys(answers), names)])
        for record, prediction in pairs:
            values = _of_input(record, task, with_input)
            fields = [""] * len(answers) if prediction is None else row.fields(prediction)
            scores = [f"{score:.6f}" for score in prediction.scores] if own else []
            yield line([*(_text(values.get(name)) for name in names), *fields, *scores])


def _tab_line(fields: list[str]) -> str:
    return "\t".join(fields) + "\n"


def _comma_line(fields: list[str]) -> str:
    content = io.StringIO()
    csv.writer(content).writerow(fields)
    return content.getvalue()


def write_predictions(
    path: str | os.PathLike,
    task: Any,
    records: Sequence[Record | TaggedSentence],
    predictions: Iterable[Any],
    with_input: bool = False,
    named: str | os.PathLike | None = None,
) -> None:
    """Writes a file of predictions as they come, or to standard output if `path` is `-`.

    A file is there when it is whole.

    Args:
        path: its suffix selects the format, see this module.
        with_input: write the row before each prediction.
        named: a name whose suffix selects the format instead.

    Raises:
        ArtifactError: the file cannot be written.
        ConfigError, DataError: the format cannot represent the predictions, or a text.
    """
    form = form_of(path if named is None else named, task)
    check_texts(form, task, records, with_input)
    parts = _parts(form, task, records, predictions, with_input)
    write_output(path, (part.encode("utf-8") for part in parts))


def _of_input(record: Record | TaggedSentence, task: Any, with_input: bool) -> dict[str, Any]:
    """What is written of an example before its prediction, by column."""
    fields = getattr(record, "fields", None)
    if fields is None:
        texts = KINDS[task.kind].texts if with_input else ()
        return {name: getattr(record, name) for name in texts}
    return {name: value for name, value in fields.items() if with_input or _ID.fullmatch(name)}


def _object(record: Record | TaggedSentence, prediction: Any, task: Any) -> dict[str, Any]:
    if prediction is None:
        return {"prediction": None}
    return KINDS[task.kind].object(record, prediction, task.labels)


def _renamed(answer: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Names that the input has too get `predicted_` before them."""
    return {f"predicted_{name}" if name in names else name: value for name, value in answer.items()}


def _text(value: Any) -> str:
    """A value of a row in a table."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _columns(record: TaggedSentence, prediction: Any, with_scores: bool) -> str:
    columns = [map(on_one_line, record.words), () if prediction is None else prediction.label]
    if with_scores:
        columns.append([f"{score:.4f}" for score in prediction.scores])
    return "".join("\t".join(line) + "\n" for line in zip(*columns, strict=True))
