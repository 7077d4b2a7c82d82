"""Records from data in Python: lists, columns, a pandas frame or a `tf.data.Dataset`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.in_memory.columns import rows_of
from tf_adapt.data.in_memory.kinds import KINDS
from tf_adapt.data.stored.sequences import OnDisk
from tf_adapt.errors import DataError

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task


def in_memory_records(data: Any, task: "Task") -> Sequence[Record | TaggedSentence]:
    """One record for each example, after a check of its form; texts and labels are checked later.

    Args:
        data: rows, or columns.

            Rows are a *list* (or another iterable) of records, of dicts with the keys below, or of
            - one text: `text` or `(text, label)`;
            - a pair: `(text_a, text_b)` or `(text_a, text_b, label)`;
            - tagging: `[word, …]` or `([word, …], [tag, …])`; each is its own document, only
              records can mark which sentences form one.

            Columns are lists, tuples, arrays, Series or tensors, texts in them `str` or UTF-8:
            - a dict or a pandas frame with `text`, or `text_a` and `text_b`, and optionally `label`
              and `group`; for tagging `words` and `tags`;
            - `(x, y)`: texts (or such a dict) and labels; for pairs `((texts_a, texts_b), y)`, for
              tagging sentences and their tags. A tuple of two columns always means this, hence rows
              must not come in a tuple; for pairs `(texts_a, texts_b)` is `x` without labels;
            - a `tf.data.Dataset` (not for tagging) of texts, `(x, y)` or dicts, batched if its
              texts have an axis; it is read once, in its order, and must be finite.

            A label is a name or an id among the task's labels (whole numbers: `label_ids` in
            `tf_adapt.data.labels`), for a regression a number; for a
            multilabel task a list, tuple or set of names, empty if none applies, or for all
            examples a matrix (array or tensor) of 0 and 1 with a column for each label; for span
            extraction, whose pairs are a question and its context, SQuAD's dict of `text` and
            `answer_start`, empty lists if there is no answer.
        task: its kind selects the form of an example.

    Raises:
        DataError: there are no examples, an example has another form, columns differ in length or
            are not UTF-8, a dataset is infinite, or tags are not legal in the task's scheme.
    """
    if isinstance(data, OnDisk):  # of a reader, which has checked them
        return data
    rows = rows_of(data, task)
    example = KINDS[task.kind].example
    records = [example(row, task, number) for number, row in enumerate(rows, 1)]
    if not records:
        raise DataError("data: expected at least one example, got none")
    return records
