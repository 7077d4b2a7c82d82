"""What training does with each kind of task."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.heads.table import head_name, head_reads
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.build import build_model
from tf_adapt.tasks.task import Task
from tf_adapt.training.by_kind import (
    classification,
    dialog,
    language_model,
    multilabel_classification,
    regression,
    span_extraction,
    tagging,
    text_generation,
)
from tf_adapt.training.by_kind.classification import Answer, Scores


@dataclass(frozen=True)
class Row:
    """What training does with a kind of task; the defaults are those of most kinds.

    Attributes:
        build: a model, as `tf_adapt.models.adapted_model.build_model`.
        evaluated: the scores of a model on prepared examples, after each epoch.
        evaluated_last: the same of its best epoch, beside `predicted_scores`.
        predicted_scores: task, examples, arrays and predictions → scores that are computed from
            predictions at the end of a run.
        file_scores: the same of a file; None: those of `evaluated_last` are all.
        predicted_splits: splits, whether this process writes → those that are predicted.
        with_thresholds: a task with what is chosen on dev.
        head_encoder: see `classification.head_encoder`.
        head_name, head_reads: as in `tf_adapt.heads.table`.
        teacher_logits: an ensemble's answer as logits.
        teacher_rows: see `classification.teacher_of_examples`.
        placeholder: an example without a label with one that is not used.
        label_place: where a file has labels, for messages.
        outcomes: task, examples, arrays → the probabilities of what may come true of each choice,
            and the number of what did; None: its probabilities are not calibrated.
        encoder_options: arguments of `HubEncoder` that the kind needs.
        facts: examples by split → what a run keeps of them in `metrics.json`.
    """

    build: Callable[..., AdaptedModel] = build_model
    evaluated: Callable[..., Scores] = classification.evaluated
    evaluated_last: Callable[..., Scores] = classification.evaluated
    predicted_scores: Callable[[Task, list, Answer, list], Scores] = classification.no_scores
    file_scores: Callable[[Task, list, Answer, list], Scores] | None = None
    predicted_splits: Callable[[list[str], bool], list[str]] = classification.written_splits
    with_thresholds: Callable[[Task, list, Answer], Task] = classification.unchanged
    head_encoder: Callable[[AdaptedModel], HubEncoder | None] = classification.head_encoder
    head_name: Callable[..., str | None] = head_name
    head_reads: Callable[..., str | None] = head_reads
    teacher_logits: Callable[[Answer], np.ndarray] = classification.log_probabilities
    teacher_rows: Callable[..., tuple] = classification.teacher_of_examples
    placeholder: Callable[[Any, Task], Any] = classification.with_first_label
    label_place: str = "the label column"
    outcomes: Callable[[Task, list, Answer], tuple[np.ndarray, np.ndarray]] | None = None
    encoder_options: Mapping[str, int] = field(default_factory=dict)
    facts: Callable[[dict[str, list]], dict[str, Any]] = classification.no_facts


_CLASSIFICATION = Row(outcomes=classification.outcomes)
_REGRESSION = Row(teacher_logits=regression.scores, placeholder=regression.with_lowest_score)
KINDS: dict[str, Row] = {
    "classification": _CLASSIFICATION,
    "multilabel_classification": Row(
        predicted_scores=multilabel_classification.scores_with_thresholds,
        with_thresholds=multilabel_classification.with_thresholds,
        teacher_logits=multilabel_classification.log_odds,
        placeholder=multilabel_classification.with_no_label,
        outcomes=multilabel_classification.choices,
    ),
    "regression": _REGRESSION,
    "pair_classification": _CLASSIFICATION,
    "pair_regression": _REGRESSION,
    "tagging": Row(
        predicted_scores=tagging.scores_of_sentences,
        file_scores=tagging.scores_of_sentences,
        teacher_rows=tagging.teacher_of_words,
        placeholder=tagging.with_first_tag,
        label_place="the tags",
    ),
    "span_extraction": Row(
        evaluated=span_extraction.question_scores,
        evaluated_last=span_extraction.not_evaluated,
        predicted_scores=span_extraction.scores_of_windows,
        file_scores=span_extraction.scores_of_windows,
        predicted_splits=span_extraction.all_splits,
        with_thresholds=span_extraction.with_no_answer_threshold,
    ),
    "dialog": Row(
        build=dialog.build,
        predicted_scores=dialog.scores,
        file_scores=dialog.scores,
        head_encoder=language_model.no_head_encoder,
        head_name=language_model.no_head_name,
        head_reads=language_model.no_head_name,
        encoder_options=dialog.ENCODER,
        facts=dialog.first_persona,
    ),
    "text_generation": Row(
        build=text_generation.build,
        evaluated=text_generation.evaluated,
        predicted_scores=text_generation.scores,
        file_scores=text_generation.scores,
        head_encoder=language_model.no_head_encoder,
        head_name=language_model.no_head_name,
        head_reads=language_model.no_head_name,
        facts=text_generation.facts,
    ),
    "language_model": Row(
        build=language_model.build,
        predicted_splits=language_model.no_splits,
        head_encoder=language_model.no_head_encoder,
        head_name=language_model.no_head_name,
        head_reads=language_model.no_head_name,
    ),
}
