"""The keys of the section `compare.search`. Imports no TensorFlow.

compare:
  search:
    trials: 20
    sampler: tpe
    pruner: median
    space:
      training.learning_rate:
        - {low: 1.0e-3, high: 3.0e-2, log: true, when: {adaptation.name: feature_extraction}}
        - {low: 1.0e-5, high: 1.0e-3, log: true}
      schedule.name: {choices: [linear_decay, slanted_triangular]}
      schedule.ratio: {low: 8.0, high: 64.0, when: {schedule.name: slanted_triangular}}
      training.epochs: {low: 2, high: 4}
"""

from typing import Any, Literal

from pydantic import Field

from tf_adapt.config.fields import Section, whole

MOST_TRIALS = 1000
PAPER = "paper"
GRID = "grid"
NO_PRUNER = "none"


class ValuesSection(Section):
    """The values that a search may give to a key: a range, or choices."""

    low: int | float | None = Field(None, description="a number")
    """The lowest value; whole numbers are searched where both ends are whole."""
    high: int | float | None = Field(None, description="a number above low")
    """The highest value."""
    log: bool = Field(False, description="true or false")
    """Whether values are drawn by their logarithm."""
    choices: list[Any] | None = Field(
        None, min_length=1, description="a list of texts, numbers, true, false or null"
    )
    """The values, in place of a range."""
    when: dict[str, Any] = Field(
        {}, description="a section of values, or lists of values, by key of a run's config"
    )
    """The key has one of these values only where other keys, of the cell or listed before in the
    space, have these; elsewhere the next alternative of the key holds, else the config's value."""


class SearchSection(Section):
    """A search for the setting of each cell, in place of a list of learning rates."""

    trials: int = whole(2, MOST_TRIALS, default=20)
    """Trials in each cell (with folds in each fold), the same in all."""
    minutes: float | None = Field(None, gt=0, description="a number above 0, or null")
    """Most minutes of the trials of a cell: after a trial that reaches them no other begins."""
    sampler: Literal["tpe", "random", "grid"] = Field("tpe", description="tpe, random or grid")
    """How settings are drawn: by a tree-structured Parzen estimator, at random, or all of them."""
    pruner: Literal["median", "hyperband", "none"] = Field(
        "median", description="median, hyperband or none"
    )
    """Which trials end early, by the dev score of an epoch: those below the median of the others,
    those that fall behind in a bracket of successive halving, or none."""
    space: dict[str, list[ValuesSection]] = Field(
        {},
        description="paper, or a section by key of a run's config of sections with low and high, "
        "or choices, or lists of such sections",
    )
    """What is searched. paper, the default: learning rate, dropout, weight decay and epochs, for
    fine-tuning also slanted triangular rates and their decay by layer (appendix A of the paper)."""
