"""Data in Python as a file that other processes read: JSON lines, for tagging CoNLL columns.

What a reader would refuse is refused here, by the number of the example.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tf_adapt.data import kinds as files
from tf_adapt.data.in_memory.kinds import KINDS
from tf_adapt.data.in_memory.named_columns import canonical, column_names, refuse_columns, renamed
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.errors import ConfigError, DataError


@dataclass(frozen=True)
class Form:
    """What an example is, as a task says it, without TensorFlow.

    Attributes:
        labels: where a matrix says which apply.
        scheme: of tags.
    """

    kind: str
    labels: tuple[str, ...] = ()
    scheme: str = "IOB2"

    @property
    def file_format(self) -> str:
        """As `data.format` of a config."""
        return KINDS[self.kind].file_format

    @property
    def section(self) -> dict[str, str]:
        """How a file is read: keys of a config's section `data`, without paths and columns."""
        further = {key: getattr(self, key) for key in KINDS[self.kind].keys_of_form}
        return {"format": self.file_format, "kind": self.kind} | further


def file_text(data: Any, form: Form, columns: Mapping[str, str] | None, name: str) -> str:
    """The file's text: a JSON object a line, or a word and its tag a line.

    Args:
        data: as for `in_memory_records`, with labels.
        columns: of a frame, a dict of columns or rows that are dicts: which hold `text`, or
            `text_a` and `text_b`, `label` and `group` (tagging: `words` and `tags`); others are
            left out. None: those of these names, and there are no others.
        name: of the data, in messages.

    Raises:
        ConfigError: `columns` names other things, or data without names.
        DataError: a column is missing; an example has no label, or what no file of its kind holds;
            as `in_memory_records`.
    """
    chosen = _chosen(data, form, columns, name)
    try:
        records = in_memory_records(chosen, form)
        called = {} if columns is None else canonical(columns)
        return KINDS[form.kind].lines(records, form.kind, called)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def file_columns(text: str, form: Form) -> dict[str, str | int]:
    """The columns of a text of `file_text`, as `data.columns` of a config."""
    return KINDS[form.kind].file_columns(text)


def _chosen(data: Any, form: Form, columns: Mapping[str, str] | None, name: str) -> Any:
    """Data with named columns as a dict of those in use, or such rows; others as they are."""
    names = column_names(data)
    if names is None:
        if columns is not None:
            raise refuse_columns(name)
        return data
    roles = canonical({column: column for column in names} if columns is None else columns)
    _check_roles(roles, form, columns is not None, name)
    return renamed(data, roles, name)


def _check_roles(roles: Mapping, form: Form, were_given: bool, name: str) -> None:
    row = files.KINDS[form.kind]
    if set(row.columns) <= set(roles) <= {*row.columns, *row.more_columns}:
        return
    words = ", ".join(row.columns).replace("text_a, label", "text, label")
    more = f" (and {', '.join(row.more_columns)}, where there is one)" if row.more_columns else ""
    got = ", ".join(map(repr, roles)) or "none"
    if were_given:
        raise ConfigError(f"columns: expected {words}{more} for kind {form.kind}, got {got}")
    example = ", ".join(f'"{role}": "…"' for role in words.split(", "))
    raise DataError(
        f"{name}: expected the columns {words}{more} for kind {form.kind}, got {got}; say which "
        f"hold them: columns={{{example}}}"
    )
