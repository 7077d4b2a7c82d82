"""What a model or an export predicts for one example. Imports no TensorFlow."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FoundAnswer:
    """An answer, or that there is none.

    Attributes:
        text: as it is in the context; "" for no answer.
        score: its probability: see `tf_adapt.tasks.best_spans.best_answers`.
        start, end: its offsets in the context, in characters, so that `context[start:end]` is the
            text; −1 for no answer.
    """

    text: str
    score: float
    start: int
    end: int


@dataclass(frozen=True)
class Prediction:
    """The prediction for one example.

    Attributes:
        label: the label; for regression a number; multilabel: a tuple of the chosen labels, in the
            order of the task's labels; for tagging a tuple with one tag per word; for span
            extraction the answer, "" for none.
        scores: probability of each label, in the order of the task's labels; empty for regression;
            for tagging the probability of each word's predicted tag; for span extraction that of
            the answer; for a written text, where it is known, `log p` of the right one, and of a
            reply whether the right one of four was chosen.
        answers: for span extraction the best answers, the predicted one first.
    """

    label: str | float | tuple[str, ...]
    scores: tuple[float, ...]
    answers: tuple[FoundAnswer, ...] = ()
