"""Span extraction: the baseline, and how the answers to a question are shown."""

from tf_adapt.comparison.plan.sections import EncoderEntry
from tf_adapt.data.splits.read_splits import Splits

NO_ANSWER = "no answer"


def empty_answer(splits: Splits) -> str:
    """The text that stands for no answer."""
    return ""


def empty_phrase(answer: str) -> str:
    """The phrase for no answer."""
    return "saying that no question has an answer"


def shown_answers(answer: str | tuple[str, ...]) -> str:
    """A predicted answer, or the gold ones, as text."""
    texts = (answer,) if isinstance(answer, str) else answer
    return " | ".join(dict.fromkeys(texts)) or NO_ANSWER


def no_other_head(encoder: EncoderEntry, family: str | None) -> list[str]:
    """The default head is the only one."""
    return []


def no_columns(columns: list[str], unused: list[str]) -> list[str]:
    """Lines of a first config on columns: SQuAD's keys are fixed."""
    return []
