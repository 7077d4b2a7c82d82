"""Formats of prediction files. Imports no TensorFlow.

The suffix of the file selects the format, with one line per example: tab-separated values (the
default) with a header and six decimals, .csv (RFC 4180), or .jsonl with one object per line. For
tagging: CoNLL columns (the default), one word per line, separated from its tag by a tab because
words may contain blanks; or .jsonl. Label sets are joined by `|` in tables, and lists in .jsonl.
Of answers to questions, tables have the best with its score and offsets, tabs and line breaks in it
as blanks; .jsonl has it unchanged, and the next best.
"""

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.runs import kinds as runs
from tf_adapt.serving.kinds import KINDS


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


def check_texts(form: str, records: Sequence[Record | TaggedSentence]) -> None:
    """Checks that a format can represent the texts.

    Raises:
        DataError: a text contains a tab or a line break, and the format is tsv.
    """
    for record in records if form == "tsv" else ():
        for text in (record.text_a, record.text_b or ""):
            if any(character in text for character in "\t\n\r"):
                raise DataError(
                    f"{record.where}: expected a text on one line without tabs, got "
                    f"{text[:40]!r}; name the output .jsonl or .csv, which can hold it"
                )


def predictions_text(
    form: str,
    task: Any,
    records: Sequence[Record | TaggedSentence],
    predictions: Sequence[Any],
    with_input: bool = False,
) -> str:
    """The content of a file of predictions.

    Args:
        form: tsv, csv, jsonl or conll: see `form_of`.
        predictions: a `tf_adapt.serving.prediction.predict.Prediction` for each record.
        with_input: write the texts first; for tagging the words are always written.
    """
    pairs = list(zip(records, predictions, strict=True))
    if form == "conll":
        return "\n".join(_columns(record.words, prediction.label) for record, prediction in pairs)
    row = KINDS[task.kind]
    names = row.texts if with_input else ()
    texts = [[getattr(record, name) for name in names] for record in records]
    if form == "jsonl":
        objects = (
            dict(zip(names, given, strict=True)) | row.object(record, prediction, task.labels)
            for given, (record, prediction) in zip(texts, pairs, strict=True)
        )
        return "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in objects)
    rows = [[*names, "prediction", *row.columns(task.labels)]]
    rows += [
        [*given, *row.fields(prediction)]
        for given, prediction in zip(texts, predictions, strict=True)
    ]
    if form == "tsv":
        return "".join("\t".join(row) + "\n" for row in rows)
    content = io.StringIO()
    csv.writer(content).writerows(rows)
    return content.getvalue()


def _columns(words: Sequence[str], tags: Sequence[str]) -> str:
    return "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True))
