"""A cell of a comparison with its scores and costs, for verdict, tables and figures.

Scores are fractions, not points: 0 to 1, correlations −1 to 1. Unknown values are None. Imports no
TensorFlow.
"""

from dataclasses import dataclass, field
from typing import Any

from tf_adapt.printing.words import mean_and_deviation

TRAINED, ONE_ANSWER, DIVERGED = "trained", "one_answer", "diverged"
# Metadata of a field whose own fields are merged into its parent's in `report.json`.
INLINE = {"inline": True}


@dataclass(frozen=True)
class FailedSeeds:
    """The number of seeds that diverged, and of seeds that give one answer to everything."""

    diverged: int
    one_answer: int

    @property
    def total(self) -> int:
        """The number of failed seeds of both kinds."""
        return self.diverged + self.one_answer


@dataclass(frozen=True, kw_only=True)
class SeedResults:
    """The scores and outcomes of a cell's seeds, with their summary.

    Attributes:
        scores: on the scored split, `[seeds]`; None: not finished, or undefined.
        outcomes: TRAINED, ONE_ANSWER or DIVERGED, `[seeds]`; None: not finished.
        trained: the number of seeds that trained.
        mean, deviation, min, max: over the seeds that trained; if none did, over all with a score.
            Sample deviation (n − 1), None with one score.
        mean_of_all: over all seeds; a seed without a score counts with the baseline's.
    """

    scores: list[float | None]
    outcomes: list[str | None]
    trained: int
    failed: FailedSeeds
    mean: float | None
    deviation: float | None
    min: float | None
    max: float | None
    mean_of_all: float | None

    @property
    def shown(self) -> str:
        """Mean and deviation as text: `81.0 ± 1.0`."""
        return mean_and_deviation(self.mean, self.deviation)


@dataclass(frozen=True)
class Trial:
    """A tried learning rate, and its score on the split for model selection."""

    learning_rate: float
    score: float | None


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The costs of a cell: means over its seeds; for memory the minimum over its runs.

    Attributes:
        task_megabytes: disk space for each task, without the module, which all tasks share.
        choosing_seconds: of training, of the trials among which the learning rate was chosen and
            that are not scored; without those before `compare.extend`, or that diverged; None:
            there are none.
    """

    trainable_parameters: int | None
    total_parameters: int | None
    training_seconds: float | None
    peak_memory_mb: float | None
    serving_seconds_per_1000: float | None
    task_megabytes: float | None
    choosing_seconds: float | None = None


@dataclass(frozen=True)
class Spread:
    """Mean and sample deviation over seeds; the deviation of one seed is None."""

    mean: float
    deviation: float | None


@dataclass(frozen=True, kw_only=True)
class Forgetting:
    """The loss of a module's source task on held-out text, over the seeds that ended.

    Attributes:
        task: as in `tf_adapt.runs.run_schemas.Forgetting`.
        texts, targets: lines of the text, and predictions in them.
        before: with the pretrained weights, the same for all seeds.
        distances: relative L2 distance from them by layer group, and of `all` weights.
    """

    task: str
    texts: int
    targets: int
    before: float
    after: Spread
    distances: dict[str, Spread]


@dataclass(frozen=True, kw_only=True)
class LabelQuality:
    """The scores of the predictions of one label, means over seeds, and how often it is true."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """How well probabilities fit.

    Attributes:
        ece: the expected calibration error, over seeds.
        counts, probabilities, shares: of the predictions of all seeds in each bin of probabilities:
            their number, their mean probability, and the share that came true.
    """

    ece: Spread
    counts: list[int]
    probabilities: list[float]
    shares: list[float]


@dataclass(frozen=True, kw_only=True)
class ScoredCell:
    """One encoder with one adaptation and one head, and the results of its runs.

    Attributes:
        id: the name of its folders, and its key everywhere.
        encoder: short name of the module.
        module: its SHA-256; None while no run has finished.
        execution: "native" or "saved_model"; None: default.
        family: "bert", "elmo", …; None while no run with the module has finished.
        pretrained: False for random weights.
        pairs: "joint" or "separate": how the texts of a pair are encoded.
        classification_token: whether each row ends in a new token.
        long: the windows in which texts are read, as "128 by 64, max"; None: as one row.
        prompts: what is put before the texts of an example.
        settings: the adaptation's keys with values other than the default.
        learning_rate: the selected one; None before its selection, or if every rate diverged.
        tried: the trials it was selected from; empty with a single rate.
        curves: score after each epoch on the split for model selection, a list for each finished
            seed.
        layer_weights: the learned mix, bottom to top, mean over seeds, `[layers]`.
        confusion: counts over seeds, `[true labels][predicted labels]`.
        labels: the scores of each label, or type of entity, by name; None: unknown, or the kind of
            task has none.
        reliability: None: unknown, or no probabilities of labels.
        commands: the command of each seed's run.
        forgetting: None where it was not measured.
        reads: what the head reads of the encoder, as a phrase; None while no run has finished.
    """

    id: str
    encoder: str
    module: str | None
    execution: str | None
    family: str | None
    pretrained: bool
    pairs: str
    classification_token: bool = False
    long: str | None = None
    prompts: list[str] = field(default_factory=list)
    adaptation: str
    settings: dict[str, Any]
    head: str
    learning_rate: float | None
    tried: list[Trial]
    results: SeedResults = field(metadata=INLINE)
    costs: Costs
    curves: list[list[float | None]]
    layer_weights: list[float] | None
    confusion: list[list[int]] | None
    commands: list[str]
    labels: dict[str, LabelQuality] | None = None
    reliability: Reliability | None = None
    forgetting: Forgetting | None = None
    reads: str | None = None


@dataclass(frozen=True)
class SizedCell:
    """A cell with one number of training examples, and the learning rate selected for it."""

    learning_rate: float | None
    results: SeedResults = field(metadata=INLINE)


@dataclass(frozen=True)
class LackingLabels:
    """The number of seeds whose part of train lacks labels of train, and these labels."""

    seeds: int
    labels: list[str]


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """The cells with one number of training examples, and the test of tuning against freezing.

    Attributes:
        examples: the number.
        cells: by id.
        frozen, tuned: the best cell with a frozen encoder, and the best other one; None: none
            trained.
        difference: tuned − frozen.
        p: p-value of the better one being ahead of every cell of the other group; None: untested.
        p_in_order: the largest p of this and all larger numbers of examples, which are tested
            from the largest down.
        interval: of the difference, `[low, high]`, at the level of the interim analysis.
        ahead: "tuning", "frozen", or None: not decided.
    """

    examples: int
    cells: dict[str, SizedCell]
    lacking: LackingLabels
    frozen: str | None
    tuned: str | None
    difference: float | None = None
    p: float | None = None
    p_in_order: float | None = None
    interval: list[float] | None = None
    ahead: str | None = None


@dataclass(frozen=True)
class LearningCurves:
    """Score against the number of training examples.

    Attributes:
        level: of the tests.
        sentence: the number of examples from which on tuning is ahead; empty if a group is empty.
        points: ascending in the number of examples.
    """

    level: float
    sentence: str
    points: list[CurvePoint]
