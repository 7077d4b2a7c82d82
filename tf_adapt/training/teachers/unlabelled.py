"""The unlabelled texts of a run: for a teacher, or for consistency."""

from typing import Any

from tf_adapt.config.signal_sections import ConsistencyConfig
from tf_adapt.data.consistency_batches import Unlabelled, prepared_unlabelled
from tf_adapt.data.datasets import read_file
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.formats.text import KnownLines, read_lines
from tf_adapt.data.kinds import KINDS as DATA
from tf_adapt.data.perturbed_words import CHANGED_SHARE
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import DataError
from tf_adapt.tasks.task import Task
from tf_adapt.training.finished.data_files import of_file
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving.input_hashes import CONSISTENCY


def read_unlabelled(
    path: str | None, key: str, data: Any, task: Task
) -> list[Record | TaggedSentence]:
    """The examples of a file without labels; none without a path.

    Args:
        key: of the config, for messages.
        data: the config's section.

    Raises:
        DataError: the file is missing, has another form than the data, or an example has a label.
    """
    if path is None:
        return []
    section = of_file(path, data)
    examples = read_file(path, section, labelled=False)
    where = _first_with_label(path, section, examples, task)
    if where is not None:
        raise DataError(
            f"{where}: expected texts without labels ({key}), got some with labels; train on these "
            f"as data, or leave out {KINDS[task.kind].label_place}"
        )
    return examples


def unlabelled_of(
    section: ConsistencyConfig | None,
    data: Any,
    limits: tuple[int | None, bool, bool],
    task: Task,
    encoder: HubEncoder,
) -> Unlabelled | None:
    """The tokenized texts of `auxiliary.consistency`, or None without the section or its weight.

    Args:
        data: the config's section.
        limits: as of the labelled texts.

    Raises:
        DataError: as `read_unlabelled` and `prepared_unlabelled`.
    """
    if section is None or section.weight == 0:
        return None
    perturbation = section.perturbation
    rate = None
    if perturbation.name == "words":
        rate = CHANGED_SHARE if perturbation.rate is None else perturbation.rate
    return prepared_unlabelled(
        read_unlabelled(section.unlabelled, CONSISTENCY, data, task),
        task,
        encoder,
        limits,
        rate,
        perturbation.file,
    )


def with_placeholders(train: list, unlabelled: list, task: Task) -> list:
    """The examples of train, then the unlabelled ones with unused placeholders as labels."""
    placeholder = KINDS[task.kind].placeholder
    return [*train, *(placeholder(example, task) for example in unlabelled)]


def _first_with_label(path: str, section: Any, examples: list, task: Task) -> str | None:
    """The place of the first example that can be read with a label.

    Each is read alone: in a whole file one wrong label would hide all others.
    """
    lines = read_lines(path)
    numbers = [example.where.rpartition(":")[2].removeprefix(" line ") for example in examples]
    if not all(map(str.isdecimal, numbers)):
        raise DataError(f"{path}: expected an example a line, got a JSON array; write JSON lines")
    starts = [int(number) - 1 for number in numbers]
    header = lines[: starts[0]]
    for example, start, end in zip(examples, starts, [*starts[1:], len(lines)], strict=True):
        try:
            known = read_file(KnownLines([*header, *lines[start:end]]), section)
            DATA[task.kind].known_labels(known, section, task, path)
        except DataError:  # as it should be: the label is missing
            continue
        return example.where
    return None
