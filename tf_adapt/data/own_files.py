"""Defaults for a user's own files: their columns, their tag scheme, a dev split."""

import logging
from typing import Any

from tf_adapt.data.cut import FEWEST, cut_off
from tf_adapt.data.datasets import DEV_PERCENT, DEV_SEED
from tf_adapt.data.formats import TaggedSentence, read_conll
from tf_adapt.data.formats.conll import last_column
from tf_adapt.data.labels import recognised_scheme
from tf_adapt.errors import DataError

_log = logging.getLogger(__name__)


def recognised(data: Any) -> Any:
    """A config's `data` section with columns and tag scheme inferred from its train file.

    CoNLL files without `columns` have the words in their first column and the tags in the last.
    Other sections, and given values, are not changed.

    Raises:
        DataError: the file cannot be read, or its tags fit no scheme.
    """
    if getattr(data, "kind", None) != "tagging" or not hasattr(data, "format"):
        return data
    given = data
    if data.columns.words is None:
        columns = data.columns.model_copy(update={"words": 0, "tags": last_column(data.train)})
        data = data.model_copy(update={"columns": columns})
    if data.scheme is None:
        sentences = read_conll(data.train, data.columns.words, data.columns.tags)
        data = data.model_copy(update={"scheme": recognised_scheme(sentences, str(data.train))})
    if data != given:
        _log.info("%s%s", data.train, in_words(given, data))
    return data


def in_words(given: Any, data: Any) -> str:
    """The inferred values, for the description of a split; empty if there are none.

    Args:
        given: the section as written.
        data: `recognised(given)`.
    """
    inferred = []
    if given.columns != data.columns:
        inferred.append(f"words in column {data.columns.words}, tags in column {data.columns.tags}")
    if given.scheme != data.scheme:
        inferred.append(f"tags in the scheme {data.scheme}")
    return f": {', '.join(inferred)}, as the file shows" if inferred else ""


def with_dev(
    examples: dict[str, list],
    descriptions: dict[str, str],
    where: str,
    reason: str = "there is no dev file",
) -> None:
    """Cuts a part off train to serve as dev; the description of dev ends with the reason.

    Raises:
        DataError: train has too few examples or too few groups of them.
    """
    train = examples["train"]
    if len(train) < FEWEST:
        raise DataError(
            f"{where}: expected at least {FEWEST} examples, of which a part plays dev, got "
            f"{len(train)}; add examples, or give others as data.dev"
        )
    count = round(len(train) * DEV_PERCENT / 100)
    examples["dev"], examples["train"] = cut_off(train, count, DEV_SEED, where)
    together = "equal texts and groups"
    if isinstance(train[0], TaggedSentence):
        together = "documents, or where none are marked equal sentences,"
    part = f"{len(examples['dev'])} of its {len(train)} examples"
    descriptions["dev"] = (
        f"dev, a part of {descriptions['train']}: {part}, picked by a hash of the text (seed "
        f"{DEV_SEED}), {together} together; {reason}"
    )
    descriptions["train"] += f": without {part}, which play dev"
