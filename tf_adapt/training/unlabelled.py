"""The unlabelled texts of a run: for a teacher, or for consistency."""

from typing import Any

from tf_adapt.config.sections import Config
from tf_adapt.data.consistency_batches import Unlabelled, prepared_unlabelled
from tf_adapt.data.datasets import read_file
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.perturbed_words import CHANGED_SHARE
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import DataError
from tf_adapt.tasks.task import Task
from tf_adapt.training.input_hashes import CONSISTENCY
from tf_adapt.training.trained_run import of_file


def read_unlabelled(
    path: str | None, key: str, data: Any, task: Task
) -> list[Record | TaggedSentence]:
    """The texts of a file without labels; none without a path.

    Args:
        key: of the config, for messages.
        data: the config's section.

    Raises:
        DataError: the file is missing, has another form than the data, or has labels.
    """
    if path is None:
        return []
    section = of_file(path, data)
    try:
        read_file(path, section)
    except DataError:  # as it should be: labels are missing
        return read_file(path, section, labelled=False)
    raise DataError(
        f"{path}: expected texts without labels ({key}), got some with labels; train on these as "
        f"data, or leave out {'the tags' if task.is_tagging else 'the label column'}"
    )


def unlabelled_of(config: Config, task: Task, encoder: HubEncoder) -> Unlabelled | None:
    """The tokenized texts of `auxiliary.consistency`, or None without the section or its weight.

    Raises:
        DataError: as `read_unlabelled` and `prepared_unlabelled`.
    """
    section = config.auxiliary.consistency
    if section is None or section.weight == 0:
        return None
    perturbation = section.perturbation
    rate = None
    if perturbation.name == "words":
        rate = CHANGED_SHARE if perturbation.rate is None else perturbation.rate
    return prepared_unlabelled(
        read_unlabelled(section.unlabelled, CONSISTENCY, config.data, task),
        task,
        encoder,
        config.training.limits,
        rate,
        perturbation.file,
    )
