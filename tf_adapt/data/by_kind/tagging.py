"""Files of tagged sentences: their columns, and the tag scheme of each."""

from pathlib import Path
from typing import Any

from tf_adapt.data import formats
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.formats.conll import last_column
from tf_adapt.data.formats.json_fields import tagged_fields
from tf_adapt.data.formats.tagged_json import read_tagged_json
from tf_adapt.data.labels import check_labels, check_scheme
from tf_adapt.data.stored.sequences import stored
from tf_adapt.data.tag_files import (
    in_scheme,
    recognised_scheme,
    task_scheme,
    task_tags,
    with_types,
)
from tf_adapt.tasks.task import Task


def read_sentences(path: str | Path, data: Any, labelled: bool) -> list[TaggedSentence]:
    """The sentences of a user's own file, tags as they are."""
    columns = {key: value for key, value in dict(data.columns).items() if value is not None}
    if data.format == "jsonl":
        given = data.labels, labelled, data.skip_unlabelled, data.memory_mb
        sentences = read_tagged_json(path, columns, *given)
    else:
        memory = {"memory_mb": data.memory_mb}
        sentences = formats.read_conll(path, **columns, labelled=labelled, **memory)
    if labelled and data.scheme is not None:
        tagged = [sentence for sentence in sentences if sentence.tags is not None]
        check_scheme(with_types(tagged, data.scheme), data.scheme)
    return sentences


def column_problems(data: Any) -> list[tuple[str, str]]:
    """The columns that do not fit the format: numbers for CoNLL, names for JSON lines."""
    given = {name: column for name, column in data.columns if column is not None}
    if data.format == "jsonl":
        both = ["text_a"] if {"text_a", "words"} <= given.keys() else []
        problems = dict.fromkeys(both, "expected text or words, got both; remove one")
        numbers = [name for name, column in given.items() if isinstance(column, int)]
        expected = "expected the name of a field with format: jsonl, got a number"
        return [*problems.items(), *((name, expected) for name in numbers)]
    names = [name for name, column in given.items() if isinstance(column, str)]
    expected = "expected a column number from 0 with format: conll, got a name"
    return [(name, expected) for name in names]


def with_shown_columns(data: Any) -> Any:
    """The section with the columns that its train file shows: words in the first, tags in the last;
    in JSON the fields of words and tags, or of texts and spans.

    Raises:
        DataError: the file cannot be read, or shows none.
    """
    if data.columns.tags is not None:
        return data
    if data.format == "jsonl":
        shown = tagged_fields(data.train)
    else:
        shown = {"words": 0, "tags": last_column(data.train)}
    return data.model_copy(update={"columns": data.columns.model_copy(update=shown)})


def in_the_tasks_scheme(
    sentences: list[TaggedSentence], section: Any, task: Task, path: str
) -> list[TaggedSentence]:
    """The sentences of a user's own file in the scheme of the task; a dataset's are already."""
    if not hasattr(section, "scheme"):
        return sentences
    return in_scheme(sentences, section.scheme, task.scheme, path)


def with_known_tags(
    sentences: list[TaggedSentence], section: Any, task: Task, path: str
) -> list[TaggedSentence]:
    """As `in_the_tasks_scheme`, after a check that a user's own file has the task's tags.

    Raises:
        DataError: it has others, or none.
    """
    in_scheme = in_the_tasks_scheme(sentences, section, task, path)
    if hasattr(section, "scheme"):
        check_labels(in_scheme, task.labels, path)
    return in_scheme


def in_task_scheme(
    given: Any, data: Any, examples: dict[str, list[TaggedSentence]], descriptions: dict[str, str]
) -> tuple[list[str] | None, str]:
    """Brings the tags of all splits into the scheme of the task, and says what was inferred.

    Args:
        given: the `data` section as written.
        data: the section with its columns.

    Returns:
        The task's tags, if the section has them, and its scheme.

    Raises:
        DataError: the tags of a file fit no scheme.
    """
    schemes = _file_schemes(examples, data)
    scheme = task_scheme(schemes["train"])
    labels = None if data.labels is None else task_tags(data.labels, schemes["train"])
    for split in examples:
        path = getattr(data, split)
        in_task = in_scheme(examples[split], schemes[split], scheme, path)
        examples[split] = stored(in_task, data.memory_mb)
        descriptions[split] += _inferred(given, data, schemes[split])
    return labels, scheme


def _file_schemes(examples: dict[str, list[TaggedSentence]], data: Any) -> dict[str, str]:
    """The tag scheme of the file of each split, train first: the section's, or what it shows."""
    schemes, target = {}, None
    for split, sentences in examples.items():
        path = str(getattr(data, split))
        schemes[split] = data.scheme or recognised_scheme(sentences, path, target)
        target = task_scheme(schemes["train"])
    return schemes


def _inferred(given: Any, data: Any, scheme: str) -> str:
    """The inferred values, for the description of a split; empty if there are none."""
    inferred = []
    if given.columns != data.columns:
        words = "text_a" if data.columns.words is None else "words"
        where = f"{getattr(data.columns, words)}, tags in column {data.columns.tags}"
        inferred.append(f"{'texts' if words == 'text_a' else words} in column {where}")
    if given.scheme is None:
        inferred.append(f"tags in the scheme {scheme}")
    return f": {', '.join(inferred)}, as the file shows" if inferred else ""
