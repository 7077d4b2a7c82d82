"""Defaults for a user's own files: their columns, a dev split."""

from typing import Any

from tf_adapt.data.datasets import DEV_PERCENT, DEV_SEED
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.formats.conll import last_column
from tf_adapt.data.splits.cut import FEWEST, cut_off
from tf_adapt.data.tag_files import recognised_scheme, task_scheme
from tf_adapt.errors import DataError


def recognised(data: Any) -> Any:
    """A config's `data` section with the columns inferred from its train file.

    CoNLL files without `columns` have the words in their first column and the tags in the last.
    Other sections, and given values, are not changed.

    Raises:
        DataError: the file cannot be read.
    """
    if getattr(data, "kind", None) != "tagging" or not hasattr(data, "format"):
        return data
    if data.columns.words is not None:
        return data
    found = {"words": 0, "tags": last_column(data.train)}
    return data.model_copy(update={"columns": data.columns.model_copy(update=found)})


def file_schemes(examples: dict[str, list[TaggedSentence]], data: Any) -> dict[str, str]:
    """The tag scheme of the file of each split, train first: the section's, or what it shows.

    Raises:
        DataError: the tags of a file fit no scheme.
    """
    schemes, target = {}, None
    for split, sentences in examples.items():
        path = str(getattr(data, split))
        schemes[split] = data.scheme or recognised_scheme(sentences, path, target)
        target = task_scheme(schemes["train"])
    return schemes


def in_words(given: Any, data: Any, scheme: str) -> str:
    """The inferred values, for the description of a split; empty if there are none.

    Args:
        given: the section as written.
        data: `recognised(given)`.
        scheme: of the split's file.
    """
    inferred = []
    if given.columns != data.columns:
        inferred.append(f"words in column {data.columns.words}, tags in column {data.columns.tags}")
    if given.scheme is None:
        inferred.append(f"tags in the scheme {scheme}")
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
