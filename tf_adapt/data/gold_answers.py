"""The gold labels of examples, and which predictions are right."""

from collections.abc import Sequence

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.kinds import KINDS


def gold_answers(examples: Sequence[Record | TaggedSentence], kind: str) -> list:
    """The label of each example, in the form of `tf_adapt.runs.prediction_files`."""
    return [KINDS[kind].gold(example) for example in examples]


def right_answers(predicted: Sequence, gold: Sequence, kind: str) -> list[bool]:
    """Which answers are right; for questions by `exact_match`.

    Args:
        predicted: the predictions, in the form of `tf_adapt.runs.prediction_files`.
        gold: of `gold_answers`.
    """
    is_right = KINDS[kind].is_right
    return [bool(is_right(*pair)) for pair in zip(predicted, gold, strict=True)]
