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
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.label_sets import joined

_OTHER_COLUMNS = ("text_a", "text_b", "prediction")
_BREAKS = re.compile("[\t\n\r]+")


def form_of(output: str | os.PathLike, task: Any) -> str:
    """The format of a file of predictions: tsv, csv, jsonl or conll.

    Raises:
        ConfigError: the format of this suffix cannot represent the predictions of this task.
    """
    suffix = Path(output).suffix.lower()
    if suffix == ".jsonl":
        return "jsonl"
    if not task.is_tagging:
        return "csv" if suffix == ".csv" else "tsv"
    if suffix == ".csv":
        raise ConfigError(
            f"{output}: expected .jsonl for tagging, or another suffix for CoNLL columns, got "
            ".csv; a sentence is no row of a table"
        )
    return "conll"


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
        return "\n".join(_columns(record.words, one.label) for record, one in pairs)
    names = _text_names(task) if with_input else ()
    if form == "jsonl":
        objects = (_object(task, record, one, names) for record, one in pairs)
        return "".join(f"{json.dumps(found, ensure_ascii=False)}\n" for found in objects)
    columns = ("score", "start", "end") if task.is_span_extraction else _score_columns(task)
    rows = [[*names, "prediction", *columns]]
    rows += [
        [*(getattr(record, name) for name in names), *_fields(task, one)] for record, one in pairs
    ]
    if form == "tsv":
        return "".join("\t".join(row) + "\n" for row in rows)
    content = io.StringIO()
    csv.writer(content).writerows(rows)
    return content.getvalue()


def _score_columns(task: Any) -> list[str]:
    """The labels; one that another column is called by gets `score_` before it."""
    columns = []
    for label in task.labels or ():
        name = label
        while name in _OTHER_COLUMNS or (name != label and name in task.labels):
            name = f"score_{name}"
        columns.append(name)
    return columns


def _fields(task: Any, one: Any) -> list[str]:
    scores = [f"{score:.6f}" for score in one.scores]
    if not task.is_span_extraction:
        return [_field(one.label), *scores]
    best = one.answers[0]
    # Scores of answers do not depend on their white space, a line of a table does.
    return [" ".join(_BREAKS.split(best.text)), *scores, str(best.start), str(best.end)]


def _field(label: str | float | tuple[str, ...]) -> str:
    if isinstance(label, tuple):
        return joined(label)
    return f"{label:.6f}" if isinstance(label, float) else label


def _columns(words: Sequence[str], tags: Sequence[str]) -> str:
    return "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True))


def _text_names(task: Any) -> tuple[str, ...]:
    if task.is_tagging:
        return ()
    return ("text_a", "text_b") if task.is_pair else ("text_a",)


def _object(
    task: Any, record: Record | TaggedSentence, one: Any, names: Sequence[str]
) -> dict[str, Any]:
    scores = [round(score, 6) for score in one.scores]
    if task.is_tagging:
        return {"words": list(record.words), "tags": list(one.label), "scores": scores}
    texts = {name: getattr(record, name) for name in names}
    if task.is_regression:
        return texts | {"prediction": round(one.label, 6)}
    if task.is_span_extraction:
        answers = [asdict(answer) | {"score": round(answer.score, 6)} for answer in one.answers]
        best = {name: answers[0][name] for name in ("score", "start", "end")}
        return texts | {"prediction": one.label} | best | {"answers": answers}
    by_label = dict(zip(task.labels, scores, strict=True))
    label = list(one.label) if isinstance(one.label, tuple) else one.label
    return texts | {"prediction": label, "scores": by_label}
