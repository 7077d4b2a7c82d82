"""Texts → the rows of a client's requests, and what of an answer belongs to each."""

import json
from collections.abc import Iterator
from typing import Any

from tf_adapt.errors import ConfigError, DataError

Row = dict[str, Any]

# Of the rows in a request: half of what a server takes by default.
MOST_BYTES = 512 * 1024
# A text of padding.
_PAD_BYTES = len('"", ')


def row_of(text: Any, inputs: set[str], where: str) -> Row:
    """A text, a pair or a sentence as the inputs of a model.

    Raises:
        ConfigError: no model of ours has these inputs.
        DataError: the text has another form; `where` names it in the message.
    """
    if inputs == {"text"}:
        if isinstance(text, str):
            return {"text": text}
        raise DataError(f"{where}: expected a text, got {type(text).__name__}")
    is_list = isinstance(text, list | tuple) and all(isinstance(part, str) for part in text)
    if inputs == {"text_a", "text_b"}:
        if is_list and len(text) == 2:
            return {"text_a": text[0], "text_b": text[1]}
        raise DataError(f"{where}: expected a pair of texts, got something else")
    if inputs == {"question", "context"}:
        if is_list and len(text) == 2:
            return {"question": text[0], "context": text[1]}
        raise DataError(f"{where}: expected (question, context), got something else")
    if inputs == {"persona", "history"}:
        if isinstance(text, list | tuple) and len(text) == 2 and all(map(_is_texts, text)):
            return {"persona": list(text[0]), "history": list(text[1])}
        raise DataError(
            f"{where}: expected (persona, history), each a list of texts, got something else"
        )
    if inputs == {"tokens"}:
        if is_list and text and all(text):
            return {"tokens": list(text)}
        raise DataError(f"{where}: expected a list of words, none of them empty, got another value")
    got = ", ".join(sorted(inputs))
    raise ConfigError(f"model: expected an export of tf_adapt, got one with the inputs {got}")


def _is_texts(value: Any) -> bool:
    is_list = isinstance(value, list | tuple) and bool(value)
    return is_list and all(isinstance(text, str) and text for text in value)


def batches(rows: list[Row], most_rows: int) -> Iterator[list[Row]]:
    """The rows in order, in batches of at most `most_rows` and, with padding, some `MOST_BYTES`.

    A row that has more by itself is alone in its list.
    """
    batch: list[Row] = []
    size = width = 0
    for row in rows:
        words = max(len(value) if isinstance(value, list) else 0 for value in row.values())
        # Bytes beyond those of padding texts, which are counted for all rows below.
        row_bytes = max(len(json_bytes(row)) - _PAD_BYTES * words, 0)
        padded = _PAD_BYTES * max(width, words) * (len(batch) + 1)
        if batch and (len(batch) == most_rows or size + row_bytes + padded > MOST_BYTES):
            yield _padded(batch)
            batch, size, width = [], 0, 0
        batch.append(row)
        size, width = size + row_bytes, max(width, words)
    if batch:
        yield _padded(batch)


def json_bytes(content: Any) -> bytes:
    """JSON in UTF-8. Half of a surrogate pair is escaped, and a server says what is wrong."""
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")


def fits(prediction: Any, row: Row) -> bool:
    """Whether a prediction has an entry for each word, where a row has words."""
    if "tokens" not in row:
        return True
    return isinstance(prediction, dict) and all(
        isinstance(values, list) and len(values) >= len(row["tokens"])
        for values in prediction.values()
    )


def cut(prediction: Any, row: Row) -> Any:
    """A prediction without the entries of padding words."""
    if "tokens" not in row:
        return prediction
    return {name: values[: len(row["tokens"])] for name, values in prediction.items()}


def _padded(rows: list[Row]) -> list[Row]:
    """Lists of one length: `""` is no text."""
    padded = [dict(row) for row in rows]
    for name, value in rows[0].items():
        if isinstance(value, list):
            width = max(len(row[name]) for row in rows)
            for row in padded:
                row[name] = row[name] + [""] * (width - len(row[name]))
    return padded
