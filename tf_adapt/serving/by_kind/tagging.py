"""The answers of taggers: a tag and its probabilities for each word. No TensorFlow."""

import numpy as np

from tf_adapt.data.formats import TaggedSentence
from tf_adapt.serving.by_kind.classification import Answer, Columns, Outputs, ids_of_names
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.statistics.scores import item_statistics, score_of
from tf_adapt.tasks.spans import span_scores
from tf_adapt.tasks.tag_schemes import WORDS
from tf_adapt.tasks.task import Task


def of_words(values: np.ndarray, inputs: dict) -> list[np.ndarray]:
    """The rows of a batch, each without what belongs to padding."""
    return [row[words] for row, words in zip(values, _word_mask(inputs["a"]), strict=True)]


def _word_mask(inputs: dict) -> np.ndarray:
    """Which positions of a batch of sentences are words, not padding: `[batch, words] bool`."""
    if "first_piece" in inputs:
        return inputs["first_piece"].numpy() >= 0
    if "sequence_len" in inputs:
        return np.arange(inputs["tokens"].shape[1]) < inputs["sequence_len"].numpy()[:, None]
    if "word_ids" in inputs:
        return inputs["word_ids"].numpy() > 0
    return inputs["character_ids"].numpy().any(axis=-1)


def number_of_words(sentences: list[TaggedSentence]) -> int:
    """The words of all sentences."""
    return sum(len(sentence.words) for sentence in sentences)


def predictions(task: Task, sentences: list[TaggedSentence], answer: Answer) -> list[Prediction]:
    """The tags of each sentence, with the probability of each."""
    best = answer["label"]
    ends = np.cumsum([len(record.words) for record in sentences])
    certainty = answer["probabilities"][np.arange(len(best)), best]
    return [
        Prediction(
            tuple(task.labels[label] for label in best[end - len(record.words) : end]),
            tuple(map(float, certainty[end - len(record.words) : end])),
        )
        for record, end in zip(sentences, ends, strict=True)
    ]


def columns(sentences: list[TaggedSentence]) -> Columns:
    """The input of a signature: words, padded to the longest sentence."""
    width = max(len(sentence.words) for sentence in sentences)
    return {
        "tokens": [
            [*sentence.words, *[""] * (width - len(sentence.words))] for sentence in sentences
        ]
    }


def served(task: Task, sentences: list[TaggedSentence], outputs: Outputs) -> Answer:
    """The answer of an export."""
    flat = {
        name: np.concatenate(
            [row[: len(one.words)] for row, one in zip(values, sentences, strict=True)]
        )
        for name, values in outputs.items()
    }
    return {"label": ids_of_names(task, flat["tags"]), "probabilities": flat["scores"]}


def sentence_scores(
    task: Task, sentences: list[TaggedSentence], predictions: list[Prediction]
) -> dict[str, float]:
    """Span F1, precision and recall, and strict span F1, of whole sentences; or the accuracy.

    The Keras metrics of the same names see the parts of a split sentence separately, and would
    count an entity across a split as two.
    """
    predicted = [prediction.label for prediction in predictions]
    true = [sentence.tags for sentence in sentences]
    if task.scheme == WORDS:
        sums = item_statistics("accuracy", predicted, true, scheme=WORDS).sum(0)
        return {"accuracy": float(score_of("accuracy", sums))}
    return span_scores(true, predicted, task.scheme)
