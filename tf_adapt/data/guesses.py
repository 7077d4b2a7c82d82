"""Guesses the format, the columns and the kind of task of a user's data file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tf_adapt.data.formats.columns import guessed_delimiter, table_columns
from tf_adapt.data.formats.conll import last_column, word_lines
from tf_adapt.data.formats.text import is_blank, no_examples, read_lines
from tf_adapt.errors import DataError

# Usual names of columns, most certain first; compared in lower case.
LABELS = (
    *("label", "labels", "gold_label", "gold", "target", "class", "category", "sentiment"),
    *("intent", "topic", "stars", "rating", "score", "similarity", "quality", "y"),
)
TWO_TEXTS = (
    ("text_a", "text_b"),
    ("sentence1", "sentence2"),
    ("sentence_a", "sentence_b"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "answer"),
    ("text1", "text2"),
    ("first", "second"),
    ("#1 string", "#2 string"),
)
TEXTS = ("text", "sentence", "review", "body", "content", "comment", "message", "question")
# Numbers with more distinct values than this are no classes.
MOST_CLASSES_OF_NUMBERS = 10
WORDS_OF_A_TEXT = 2.5
_TAG = re.compile(r"O|[BIESLUM](-.+)?")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".conll": "conll",
    ".bio": "conll",
    ".iob": "conll",
}


@dataclass(frozen=True)
class Guess:
    """A guess at a file's content, with the keys of a config's `data` section.

    Attributes:
        columns: of tables, by `text` or `text_a` and `text_b`, and `label`; empty for CoNLL files.
        reasons: the reason of the guess for each key.
    """

    format: str
    kind: str
    delimiter: str | None
    columns: dict[str, str]
    reasons: dict[str, str]


def guess(path: str | Path) -> Guess:
    """Guesses from the content of a CSV, TSV, JSON lines or CoNLL file.

    Raises:
        DataError: as the readers; the columns are ambiguous.
    """
    form, reason = _format(Path(path))
    if form == "conll":
        last_column(path)
        reasons = {"format": reason, "kind": "CoNLL columns: a word and its tag a line"}
        return Guess(form, "tagging", None, {}, reasons)
    delimiter = guessed_delimiter(path) if form == "csv" else None
    table = table_columns(path, form, delimiter or ",")
    label = _label(table, path)
    texts = _texts({name: values for name, values in table.items() if name != label}, path)
    kind, kind_reason = _kind(table[label], label, two_texts=len(texts) == 2, path=path)
    names = ("text",) if len(texts) == 1 else ("text_a", "text_b")
    left_out = [name for name in table if name not in (label, *texts)]
    reasons = {"format": reason, "kind": kind_reason}
    if left_out:
        reasons["columns"] = f"not used: {', '.join(left_out)}"
    columns = dict(zip(names, texts, strict=True)) | {"label": label}
    return Guess(form, kind, None if delimiter == "," else delimiter, columns, reasons)


def _format(path: Path) -> tuple[str, str]:
    lines = [line for line in read_lines(path) if not is_blank(line)]
    if not lines:
        raise no_examples(path)
    suffix = path.suffix.lower()
    form = _SUFFIXES.get(suffix)
    if form in (None, "tsv") and _are_tagged(lines):
        return "conll", "every line ends in a tag"
    if form is None:
        raise DataError(
            f"{path}: expected a file named .csv, .tsv, .jsonl or .conll, or lines that end in a "
            f"tag, got {suffix or 'no suffix'}; give it the suffix of its format"
        )
    return form, f"its name ends in {suffix}"


def _are_tagged(lines: list[str]) -> bool:
    rows = word_lines(lines)
    return bool(rows) and all(len(row) > 1 and _TAG.fullmatch(row[-1]) for row in rows)


def _label(columns: dict[str, list], path: str | Path) -> str:
    """The column with a usual name, or the only one with few distinct values or lists of labels."""
    usual = [name for usual_name in LABELS for name in columns if name.lower() == usual_name]
    if usual:
        return usual[0]
    likely = [
        n for n, values in columns.items() if _are_classes(values) or _are_label_lists(values)
    ]
    if len(likely) == 1:
        return likely[0]
    raise _unknown("label", likely or list(columns), path)


def _are_classes(values: list) -> bool:
    texts = [value for value in values if isinstance(value, (str, int))]
    distinct = set(map(str, texts))
    return len(texts) == len(values) and 2 <= len(distinct) <= max(2, min(100, len(values) // 5))


def _are_label_lists(values: list) -> bool:
    return all(
        isinstance(value, list) and all(isinstance(label, (str, int)) for label in value)
        for value in values
    )


def _texts(columns: dict[str, list], path: str | Path) -> list[str]:
    """The column of the texts, or the two of a pair."""
    by_name = {name.lower(): name for name in columns}
    for pair in TWO_TEXTS:
        if all(name in by_name for name in pair):
            return [by_name[name] for name in pair]
    usual = [by_name[name] for name in TEXTS if name in by_name]
    likely = usual[:1] or [name for name, values in columns.items() if _are_texts(values)]
    if len(likely) != 1:
        raise _unknown("text", likely or list(columns), path)
    return likely


def _are_texts(values: list) -> bool:
    if not all(isinstance(value, str) for value in values):
        return False
    return sum(len(value.split()) for value in values) >= WORDS_OF_A_TEXT * len(values)


def _kind(values: list, label: str, two_texts: bool, path: str | Path) -> tuple[str, str]:
    """The kind of task, inferred from the labels, and the reason."""
    if _are_label_lists(values):
        return _kind_of_lists(values, label, two_texts, path)
    distinct = list(dict.fromkeys(map(str, values)))
    are_numbers = all(_NUMBER.fullmatch(value) for value in distinct)
    are_scores = are_numbers and (
        len(distinct) > MOST_CLASSES_OF_NUMBERS or any("." in value for value in distinct)
    )
    shown = _beginning(distinct)
    reason = f"{label!r} has {len(distinct)} different values: {shown}"
    if are_scores:
        return "pair_regression" if two_texts else "regression", f"{reason}; they are numbers"
    if len(distinct) < 2 or 2 * len(distinct) > len(values):
        raise DataError(
            f"{path}: expected a few labels in the column {label!r}, got {len(distinct)} "
            f"different values in {len(values)} examples ({shown}); name the column of the labels "
            "`label`, or write a config by hand"
        )
    return "pair_classification" if two_texts else "classification", reason


def _beginning(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _kind_of_lists(values: list, label: str, two_texts: bool, path: str | Path) -> tuple[str, str]:
    distinct = list(dict.fromkeys(str(item) for value in values for item in value))
    if two_texts:
        raise DataError(
            f"{path}: expected one label for each pair in the column {label!r}, got lists; several "
            "labels are for single texts: rename the second text's column, or write a config by "
            "hand"
        )
    shown = _beginning(distinct)
    return "multilabel_classification", f"{label!r} has lists of {len(distinct)} labels: {shown}"


def _unknown(what: str, names: list[str], path: str | Path) -> DataError:
    usual = "`label`" if what == "label" else "`text`, or those of a pair `text_a` and `text_b`"
    return DataError(
        f"{path}: expected one column that looks like the {what}s, got {', '.join(names)}; call "
        f"it {usual} in the file, or write a config by hand: data.columns says "
        f"`{{text: COLUMN, label: COLUMN}}`"
    )
