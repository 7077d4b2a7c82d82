"""The gold labels of examples, which predictions are right, and the scores of each label."""

from collections import Counter
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


def label_scores(
    predicted: Sequence, gold: Sequence, kind: str, scheme: str | None = None
) -> dict[str, dict[str, float]]:
    """`precision`, `recall`, `f1` and `support` (how often it is true) of each label that occurs.

    In tagging of each type of entity, in the scheme `words` of each tag. A ratio without a whole is
    0. Empty for a kind of task without labels.

    Args:
        predicted, gold: in the form of `tf_adapt.runs.prediction_files`.
        scheme: of tags.

    Source: scikit-learn's `precision_recall_fscore_support`; seqeval's for entities.
    """
    parts = KINDS[kind].labelled_parts
    right: Counter = Counter()
    true: Counter = Counter()
    said: Counter = Counter()
    for answer, label in zip(predicted, gold, strict=True):
        found, real = set(parts(answer, scheme)), set(parts(label, scheme))
        for counts, some in ((right, found & real), (true, real), (said, found)):
            counts.update(name for name, _ in some)
    return {
        name: {
            "precision": _ratio(right[name], said[name]),
            "recall": _ratio(right[name], true[name]),
            "f1": _ratio(2 * right[name], said[name] + true[name]),
            "support": true[name],
        }
        for name in sorted(true | said)
    }


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
