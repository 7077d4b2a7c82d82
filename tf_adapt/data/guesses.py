"""Guesses the format, the columns and the kind of task of a user's data file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tf_adapt.data.formats.columns import guessed_delimiter, table_columns
from tf_adapt.data.formats.conll import last_column, word_lines
from tf_adapt.data.formats.json_fields import fields_of_tags
from tf_adapt.data.formats.suffixes import SUFFIXES, suffix_of
from tf_adapt.data.formats.text import is_blank, is_missing, no_examples, read_lines
from tf_adapt.data.kinds import KINDS
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.label_sets import SEPARATOR

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


@dataclass(frozen=True)
class Guess:
    """A guess at a file's content, with the keys of a config's `data` section.

    Attributes:
        columns: of tables, by `text` or `text_a` and `text_b`, and `label`; of tagged JSON lines by
            `words` or `text`, and `tags`; empty for CoNLL files.
        reasons: the reason of the guess for each key.
        unlabelled: the number of examples without a label.
    """

    format: str
    kind: str
    delimiter: str | None
    columns: dict[str, str]
    reasons: dict[str, str]
    unlabelled: int = 0


@dataclass(frozen=True)
class Given:
    """What a user says of a file: the columns of the texts and of the label, the kind of task."""

    texts: tuple[str, ...] = ()
    label: str | None = None
    kind: str | None = None


def guess(path: str | Path, given: Given | None = None) -> Guess:
    """Guesses from the content of a CSV, TSV, JSON, CoNLL or SQuAD file what is not given.

    Raises:
        ConfigError: there is no given column, or the kind has another number of texts.
        DataError: as the readers; the columns are ambiguous.
    """
    given = given or Given()
    form, reason = _format(Path(path))
    if form == "conll":
        last_column(path)
        reasons = {"format": reason, "kind": "CoNLL columns: a word and its tag a line"}
        return Guess(form, "tagging", None, {}, reasons)
    if form == "squad":
        reasons = {"format": reason, "kind": "questions about paragraphs"}
        return Guess(form, "span_extraction", None, {}, reasons)
    delimiter = guessed_delimiter(path) if form == "csv" else None
    table = table_columns(path, form, delimiter or ",")
    _check_given(given, table, path)
    if form == "jsonl" and (given.kind is None or "tags" in KINDS[given.kind].columns):
        tagged = _tagged(table, given, path)
        if tagged is not None:
            reasons = {"format": reason, "kind": _reason_of_tags(tagged)}
            return Guess(form, "tagging", None, tagged, reasons)
    return _of_table(table, given, form, reason, delimiter, path)


def _of_table(
    table: dict[str, list],
    given: Given,
    form: str,
    reason: str,
    delimiter: str | None,
    path: str | Path,
) -> Guess:
    label = given.label or _label(table, path)
    others = {name: values for name, values in table.items() if name != label}
    texts = list(given.texts) or _texts(others, path)
    kind, kind_reason = given.kind, "as given"
    if kind is None:
        kind, kind_reason = _kind(table[label], label, two_texts=len(texts) == 2, path=path)
    if ("text_b" in KINDS[kind].columns) != (len(texts) == 2):
        raise ConfigError(
            f"--kind {kind}: expected {'two columns' if len(texts) == 1 else 'one column'} of "
            f"texts, got {' and '.join(texts)}; name them with --text"
        )
    names = ("text",) if len(texts) == 1 else ("text_a", "text_b")
    left_out = [name for name in table if name not in (label, *texts)]
    reasons = {"format": reason, "kind": kind_reason}
    if left_out:
        reasons["columns"] = f"not used: {', '.join(left_out)}"
    columns = dict(zip(names, texts, strict=True)) | {"label": label}
    missing = KINDS[kind].missing(table[label])
    return Guess(form, kind, None if delimiter == "," else delimiter, columns, reasons, missing)


def _check_given(given: Given, table: dict[str, list], path: str | Path) -> None:
    for option, name in (*(("--text", name) for name in given.texts), ("--label", given.label)):
        if name is not None and name not in table:
            raise ConfigError(
                f"{option}: expected one of the columns of {path}, {', '.join(table)}, got {name!r}"
            )


def _tagged(table: dict[str, list], given: Given, path: str | Path) -> dict[str, str] | None:
    """The fields of tagged sentences, as `Guess.columns`; None where there are none."""
    objects = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if given.kind is None or not (given.texts and given.label):
        found = fields_of_tags(objects)
    else:
        is_text = isinstance(objects[0][given.texts[0]], str)
        found = {"text_a" if is_text else "words": given.texts[0], "tags": given.label}
    if found is None and given.kind is not None:
        raise DataError(
            f"{path}: expected fields with words and tags, or a text and its spans, got "
            f"{', '.join(table)}; name them with --text and --label"
        )
    return found and {"text" if key == "text_a" else key: name for key, name in found.items()}


def _reason_of_tags(columns: dict[str, str]) -> str:
    if "words" in columns:
        return f"{columns['tags']!r} has a tag for each word of {columns['words']!r}"
    return f"{columns['tags']!r} has spans of {columns['text']!r}"


def _format(path: Path) -> tuple[str, str]:
    lines = [line for line in read_lines(path) if not is_blank(line)]
    if not lines:
        raise no_examples(path)
    suffix = suffix_of(path)
    form = SUFFIXES.get(suffix)
    if suffix == ".json" and any('"paragraphs"' in line for line in lines[:100]):
        return "squad", "paragraphs with questions, as SQuAD's"
    if form in (None, "tsv") and _are_tagged(lines):
        return "conll", "every line ends in a tag"
    if form is None:
        raise DataError(
            f"{path}: expected a file named .csv, .tsv, .jsonl, .json or .conll, or lines that end "
            f"in a tag, got {suffix or 'no suffix'}; give it the suffix of its format"
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
        name
        for name, values in columns.items()
        if _are_classes(values) or _are_label_lists(values) or _joined_labels(values)
    ]
    if len(likely) == 1:
        return likely[0]
    raise _unknown("label", likely or list(columns), path)


def _are_classes(values: list) -> bool:
    values = [value for value in values if not is_missing(value)]
    texts = [value for value in values if isinstance(value, (str, int))]
    distinct = set(map(str, texts))
    return len(texts) == len(values) and 2 <= len(distinct) <= max(2, min(100, len(values) // 5))


def _are_label_lists(values: list) -> bool:
    return all(
        isinstance(value, list) and all(isinstance(label, (str, int)) for label in value)
        for value in values
    )


def _joined_labels(values: list) -> list[list[str]] | None:
    """The labels of each field of a table that holds several, `a|b`; None if they are no labels."""
    if not all(isinstance(value, str) for value in values):
        return None
    lists = [value.split(SEPARATOR) if value else [] for value in values]
    several = [labels for labels in lists if len(labels) > 1]
    names = {label for labels in lists for label in labels}
    are_names = all(name and name == name.strip() for name in names)
    return lists if several and are_names and 2 * len(names) <= len(values) else None


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
    if not values or not all(isinstance(value, str) for value in values):
        return False
    return sum(len(value.split()) for value in values) >= WORDS_OF_A_TEXT * len(values)


def _kind(values: list, label: str, two_texts: bool, path: str | Path) -> tuple[str, str]:
    """The kind of task, inferred from the labels, and the reason."""
    lists = values if _are_label_lists(values) else _joined_labels(values)
    if lists is not None:
        return _kind_of_lists(lists, label, two_texts, path)
    values = [value for value in values if not is_missing(value)]
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
            "with --label, or the kind with --kind"
        )
    return "pair_classification" if two_texts else "classification", reason


def _beginning(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _kind_of_lists(values: list, label: str, two_texts: bool, path: str | Path) -> tuple[str, str]:
    distinct = list(dict.fromkeys(str(item) for value in values for item in value))
    if two_texts:
        raise DataError(
            f"{path}: expected one label for each pair in the column {label!r}, got lists; several "
            "labels are for single texts: name the text with --text"
        )
    shown = _beginning(distinct)
    return "multilabel_classification", f"{label!r} has lists of {len(distinct)} labels: {shown}"


def _unknown(what: str, names: list[str], path: str | Path) -> DataError:
    more = " (twice for pairs)" if what == "text" else ""
    return DataError(
        f"{path}: expected one column that looks like the {what}s, got {', '.join(names)}; name it "
        f"with --{what} COLUMN{more}"
    )
