"""What a comparison does with each kind of task. Imports no TensorFlow."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from tf_adapt.comparison.baselines import bag_of_words, word_frequencies, word_tagger
from tf_adapt.comparison.baselines.similarity import no_similarities, similarities
from tf_adapt.comparison.by_kind import (
    classification,
    multilabel_classification,
    regression,
    span_extraction,
    tagging,
    written_texts,
)
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.plan.sections import EncoderEntry
from tf_adapt.data.gold_answers import right_answers
from tf_adapt.data.splits.read_splits import Splits

LOGISTIC = "TF-IDF + logistic regression"


@dataclass(frozen=True)
class Row:
    """What a comparison does with a kind of task.

    Attributes:
        baseline: the data → the constant prediction to be above.
        baseline_phrase: that prediction, as in a report's JSON → a phrase.
        frozen_heads: an encoder, its family → heads that are compared with the default one.
        shown: a label or a prediction as text.
        answers: predictions → all single answers in them: a run with one has failed.
        right_answers: predictions by cell, gold, kind → which are right; empty where none is
            right or wrong.
        samples: how many examples are shown where no answer is right or wrong, at equal distances.
        confusion: predictions of several runs, gold, labels → their confusion matrix, or None.
        questions: gold, probabilities, labels → what is asked of each example, one by one; None:
            labels are not searched for errors.
        constant: the gold label of an example, the answer to everything → its prediction.
        simple_models: name of each model that is tried first → train, dev, and the score of answers
            on dev → what answers other examples.
        untrained_models: outcomes, a split → name of each encoder that answers without training →
            its answers.
        example: name of the data that ship, for `tf-adapt init --example`; by default the kind's;
            empty: none.
        no_parts: why its cells are not compared on parts of train; empty: they are.
        column_lines, width_lines, over_long: of a first config: on the columns of its file, on the
            width of heads, and what happens to long texts.
    """

    baseline: Callable[[Splits], Any]
    baseline_phrase: Callable[[Any], str]
    frozen_heads: Callable[[EncoderEntry, str | None], list[str]]
    shown: Callable[[Any], str]
    answers: Callable[[list], Iterable]
    right_answers: Callable[[Mapping[str, list], list, str], dict[str, list[bool]]]
    confusion: Callable[[Sequence[list], list, Sequence[str]], list[list[int]] | None]
    questions: Callable[[list, np.ndarray, Sequence[str]], list[classification.Question]] | None = (
        None
    )
    samples: int = 0
    constant: Callable[[Any, Any], Any] = lambda gold, answer: answer
    simple_models: Mapping[str, Callable[..., bag_of_words.Answers]] = field(default_factory=dict)
    untrained_models: Callable[[Outcomes, str], dict[str, list]] = no_similarities
    example: str | None = None
    no_parts: str = ""
    column_lines: Callable[[list[str], list[str]], list[str]] = classification.column_lines
    width_lines: tuple[str, ...] = (
        "  # Width of the LSTMs that a frozen encoder gets on top; wider is slower.",
        "  head_units: {freeze: 100}",
    )
    over_long: str = "are cut, and counted in the report"


def _right_answers(of_cells: Mapping[str, list], gold: list, kind: str) -> dict[str, list[bool]]:
    return {name: right_answers(labels, gold, kind) for name, labels in of_cells.items()}


def _neither_right_nor_wrong(of_cells: Mapping[str, list], gold: list, kind: str) -> dict:
    return {}


def _no_confusion(predictions: Sequence[list], gold: list, labels: Sequence[str] | None) -> None:
    return None


_CLASSIFICATION = Row(
    baseline=classification.most_frequent_label,
    baseline_phrase=classification.label_phrase,
    frozen_heads=classification.linear_head,
    shown=str,
    answers=list,
    right_answers=_right_answers,
    confusion=classification.confusion_matrix,
    questions=classification.one_question,
    simple_models={LOGISTIC: bag_of_words.classifier},
)
_REGRESSION = Row(
    baseline=regression.mean_of_train,
    baseline_phrase=regression.mean_phrase,
    frozen_heads=classification.linear_head,
    shown=str,
    answers=regression.rounded,
    right_answers=_neither_right_nor_wrong,
    confusion=_no_confusion,
    simple_models={"TF-IDF + ridge regression": bag_of_words.regression},
)
_WRITTEN = Row(
    baseline=written_texts.byte_counts,
    baseline_phrase=written_texts.byte_phrase,
    frozen_heads=span_extraction.no_other_head,
    shown=written_texts.text_of,
    answers=written_texts.texts_of,
    right_answers=_neither_right_nor_wrong,
    confusion=_no_confusion,
    samples=10,
    constant=written_texts.by_bytes,
    simple_models={"word frequencies, TF-IDF's nearest source": word_frequencies.texts},
    example="",
    width_lines=(),
)
KINDS: dict[str, Row] = {
    "tagging": Row(
        baseline=tagging.constant_tag,
        baseline_phrase=tagging.tag_phrase,
        frozen_heads=tagging.linear_tagger,
        shown=" ".join,
        answers=chain.from_iterable,
        right_answers=_right_answers,
        confusion=_no_confusion,
        constant=tagging.for_each_word,
        simple_models={"word features + logistic regression": word_tagger.tagger},
        example="names",
        column_lines=tagging.column_lines,
        over_long="are split in two",
    ),
    "classification": _CLASSIFICATION,
    "multilabel_classification": Row(
        baseline=multilabel_classification.best_set,
        baseline_phrase=multilabel_classification.set_phrase,
        frozen_heads=classification.linear_head,
        shown=multilabel_classification.shown_set,
        answers=multilabel_classification.sets,
        right_answers=_right_answers,
        confusion=_no_confusion,
        questions=multilabel_classification.question_of_each_label,
        simple_models={LOGISTIC: bag_of_words.label_sets},
    ),
    "regression": _REGRESSION,
    "pair_classification": replace(
        _CLASSIFICATION,
        frozen_heads=classification.linear_head_of_pairs,
    ),
    "pair_regression": replace(
        _REGRESSION,
        untrained_models=similarities,
        frozen_heads=classification.linear_head_of_pairs,
    ),
    "span_extraction": Row(
        baseline=span_extraction.empty_answer,
        baseline_phrase=span_extraction.empty_phrase,
        frozen_heads=span_extraction.no_other_head,
        shown=span_extraction.shown_answers,
        answers=list,
        right_answers=_right_answers,
        confusion=_no_confusion,
        column_lines=span_extraction.no_columns,
        width_lines=(),
    ),
    "dialog": replace(
        _WRITTEN,
        simple_models={"word frequencies, TF-IDF's nearest reply": word_frequencies.replies},
        no_parts="parts of train, which have whole dialogues where examples are exchanges",
    ),
    "text_generation": _WRITTEN,
}
