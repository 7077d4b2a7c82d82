"""How answers are searched for in a context: its windows, and the spans in them. Plain values."""

from dataclasses import dataclass

from hub_modules.families import FAMILIES
from tf_adapt.errors import ConfigError


@dataclass(frozen=True)
class SpanSearch:
    """How the answer to a question is searched for in its context.

    Args:
        stride: tokens from the beginning of one window of the context to the next, at least 1.
        longest_answer: most words of an answer, at least 1. Words are split at white space and
            punctuation.
        n_best: number of answers in the predictions, at least 1.
        no_answer_threshold: a question has no answer if the logit of none exceeds that of the best
            span by more than this; None: every question has one.

    Raises:
        ConfigError: a number is too small.

    Source: Devlin et al. 2019, sections 4.2 and 4.3; stride 128 as in google-research/bert.
    """

    stride: int = 128
    longest_answer: int = 30
    n_best: int = 5
    no_answer_threshold: float | None = None

    def __post_init__(self):
        for name in ("stride", "longest_answer", "n_best"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: expected at least 1, got {getattr(self, name)}")


def check_reader(family: str) -> None:
    """Checks that encoders of a family read a question and its context together, both ways.

    Raises:
        ConfigError: they do not.
    """
    readers = [name for name, about in FAMILIES.items() if about.reads_both_ways]
    if family not in readers:
        raise ConfigError(
            "encoder: expected one that reads a question and its context as one row and in both "
            f"directions for span_extraction (of the family {', '.join(readers)}), got one of the "
            f"family {family}"
        )
