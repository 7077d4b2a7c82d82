"""An ensemble in memory: several models of one task with one answer."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.errors import DataError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.combination import Combination, transitions_of
from tf_adapt.serving.exports.served_ensemble import export_ensemble
from tf_adapt.serving.prediction.kinds import KINDS
from tf_adapt.serving.prediction.predict import batch_predictions, to_predictions
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.task import Task

# Words that are decoded at once.
_WORDS = 20_000
Answer = dict[str, np.ndarray]


@dataclass(frozen=True)
class Member:
    """A model with how it reads texts: the settings of its own run.

    Attributes:
        name: for messages.
        limits: `max_length, truncate, document_context` of `tf_adapt.data.packing.prepare`.
    """

    name: str
    model: AdaptedModel
    batch_size: int = 32
    limits: tuple[int | None, bool, bool] = (None, False, False)

    def answer(self, records: list, progress: bool = False) -> Answer:
        """Its `batch_predictions` of the examples.

        Raises:
            DataError: an example is wrong, or too long for this member.
        """
        model = self.model
        try:
            prepared = prepare(records, model.task, model.encoder, *self.limits)
        except DataError as error:
            raise DataError(f"{error} (read by the member {self.name})") from None
        return batch_predictions(model, prepared, self.batch_size, progress)


@dataclass(frozen=True)
class Ensemble:
    """Models of one task whose answers become one, as `tf_adapt.models.combination` says.

    Each member reads a text with its own word pieces and its own limit; what is averaged belongs to
    an example or, in tagging, to a word. A text that is too long for one member is cut or refused
    as in that member's run; a sentence that it reads in parts is put together before it is decoded,
    and a word that it cuts keeps its tag.

    Attributes:
        task: labels, and the thresholds of the ensemble.
        weights: of the members, above 0, with the sum 1.
        votes: see `Combination`.
    """

    task: Task
    members: Sequence[Member]
    weights: Sequence[float]
    votes: bool = False
    combination: Combination = field(init=False)

    def __post_init__(self):
        transitions = [transitions_of(member.model) for member in self.members]
        made = Combination(self.task, transitions, self.votes, self.weights)
        object.__setattr__(self, "combination", made)

    def predict(self, data: Any, progress: bool = False) -> list[Prediction]:
        """One `Prediction` for each example, as from `tf_adapt.predict`.

        Args:
            data: as for `tf_adapt.predict`.

        Raises:
            DataError: the data have another form, or an example is empty, or too long for a member.
        """
        records = [record.without_label() for record in in_memory_records(data, self.task)]
        return to_predictions(self.task, records, self.answer(records, progress))

    def answer(self, records: list, progress: bool = False) -> Answer:
        """Its answers to examples, in the form of `batch_predictions`; labels are checked.

        Raises:
            DataError: as `Member.answer`.
        """
        answers = [member.answer(records, progress) for member in self.members]
        return combined(self.combination, answers, records)

    def export(
        self, folder: str | os.PathLike, data: dict | None = None, card: str | None = None
    ) -> Path:
        """Writes all members and their combination as one SavedModel, as `tf_adapt.export` does.

        Args:
            folder: where no folder is yet.
            data, card: as for `tf_adapt.export`.

        Raises:
            ArtifactError: the folder exists or cannot be written.
            ConfigError: as `tf_adapt.export`.
        """
        models = [(member.model, *member.limits) for member in self.members]
        return export_ensemble(models, self.combination, Path(folder), data, card)


def combined(
    combination: Combination, answers: Sequence[Answer], records: Sequence[Record | TaggedSentence]
) -> Answer:
    """One answer from those of the members, in the form of `batch_predictions`."""
    if not combination.decodes:
        return {name: values.numpy() for name, values in combination(answers).items()}
    splits = np.cumsum([0, *(len(record.words) for record in records)])
    parts, start = [], 0
    while start < len(records):
        # A few sentences at a time: they are padded to the longest.
        end = max(start + 1, int(np.searchsorted(splits, splits[start] + _WORDS, "right")) - 1)
        words = slice(splits[start], splits[end])
        part = [{name: values[words] for name, values in answer.items()} for answer in answers]
        parts.append(combination(part, splits[start : end + 1] - splits[start]))
        start = end
    return {name: np.concatenate([part[name].numpy() for part in parts]) for name in parts[0]}


def scores(task: Task, records: list, predictions: list[Prediction]) -> dict[str, float]:
    """The metrics of the task, by name, of labelled examples; those of a run without its loss."""
    return KINDS[task.kind].scores(task, records, predictions)
