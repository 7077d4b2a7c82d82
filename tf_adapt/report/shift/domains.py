"""What a comparison found in another domain, as values. Imports no TensorFlow."""

from dataclasses import dataclass, field

from tf_adapt.statistics.relation import PairTest


@dataclass(frozen=True)
class DomainScores:
    """The scores of a cell's trainings that trained, and their mean; the deviation of one is
    None."""

    scores: list[float]
    mean: float
    deviation: float | None


@dataclass(frozen=True, kw_only=True)
class ShiftedDomain:
    """A further test set, which chose nothing.

    Attributes:
        name: in the config.
        description: with its file.
        examples: their number.
        items: the items of the tests.
        overlap_with_train: the number of examples that share a text with train.
        baseline: the score of the baseline's answer.
        cells: by id, those that trained; with folds each fold of each repeat is a training.
        pairs: the tests of all pairs, as at home, corrected over the pairs of all domains.
        gaps: the difference of differences of each pair, `(a − b here) − (a − b at home)`,
            likewise.
        references: by simple model; of folds, or of parts of train, each is a training.
    """

    name: str
    description: str
    examples: int
    items: int
    overlap_with_train: int
    baseline: float
    cells: dict[str, DomainScores]
    pairs: list[PairTest]
    gaps: list[PairTest]
    references: dict[str, DomainScores] = field(default_factory=dict)
