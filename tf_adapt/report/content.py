"""The content of a comparison: cells, tests and verdict as values; `report.json` is its plain form.

`tf_adapt.comparison` fills it, the report is written from it. Scores and differences are fractions,
not points (0.021 is 2.1 points); cells are referred to by their ids. Imports no TensorFlow.
"""

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from tf_adapt.printing.words import counted
from tf_adapt.report.budget.screened import Screened
from tf_adapt.report.diagnosis.causes import Diagnosis
from tf_adapt.report.estimate.measures import Estimate
from tf_adapt.report.scored_cells import LearningCurves, ScoredCell
from tf_adapt.report.search.trials import SearchResults
from tf_adapt.report.shift.domains import ShiftedDomain
from tf_adapt.statistics.relation import BaselineTest, PairTest
from tf_adapt.statistics.slice_score import SliceScore

FORMAT = 4
# Metadata of a field that is not in `report.json` while it is None.
OMITTED = {"omitted": True}


@dataclass(frozen=True)
class ScoredItems:
    """The items of the tests: examples that share a text are one item.

    Attributes:
        text: their number as a phrase.
        overlap_with_train, overlap_with_dev: the number of scored examples that share a text with
            train, and with dev.
    """

    count: int
    text: str
    overlap_with_train: int
    overlap_with_dev: int = 0


@dataclass(frozen=True, kw_only=True)
class BaselineScores:
    """The constant prediction and its scores.

    Attributes:
        answer: the prediction: a label, a list of labels, "O", or a number; of written texts how
            often each byte occurs.
        score, chosen_on: its scores on the scored split and on the split for model selection.
        cells: the test of each cell that trained against it, by id.
    """

    answer: str | float | list[str] | list[int]
    score: float
    chosen_on: float
    cells: dict[str, BaselineTest]


@dataclass(frozen=True, kw_only=True)
class ReferenceScores:
    """A model that a practitioner would try first, without training an encoder.

    Attributes:
        score: on the scored split, mean over the parts of train where the seeds have others.
        cells: the test of each cell that trained against it, by id.
    """

    name: str
    score: float
    cells: dict[str, BaselineTest]


@dataclass(frozen=True, kw_only=True)
class DataSlice:
    """A slice of the scored examples.

    Attributes:
        rule: the rules of the config as a phrase.
        examples: their number.
        errors_of: the run whose errors it holds; None: it was not chosen by errors.
        cells: the scores of each cell that trained, by id.
    """

    name: str
    rule: str
    examples: int
    errors_of: str | None
    cells: dict[str, SliceScore]


@dataclass(frozen=True)
class Disagreement:
    """An example on which the cells' predictions differ.

    Attributes:
        where: file and line.
        label: the gold label; of questions the different answers.
        answers: the predicted label by cell, of the first seed.
        right: the cells whose prediction is right.
    """

    where: str
    text_a: str
    text_b: str | None
    label: str
    answers: dict[str, str]
    right: list[str]


@dataclass(frozen=True)
class FamilyAgreement:
    """The paper's guideline for a family of encoders, and this comparison's result.

    Attributes:
        better: "feature_extraction", "fine_tuning" or "alike", according to the paper.
        sentence: the guideline.
        here: the same by encoder, according to this comparison; None: not decided.
    """

    better: str
    sentence: str
    here: dict[str, str | None]


@dataclass(frozen=True)
class Agreement:
    """Whether a comparison agrees with the paper's guideline; None: not decided, or not compared.

    Attributes:
        families: by name; empty if the paper has no guideline for the kind of task.
    """

    sentence: str
    agrees: bool | None
    families: dict[str, FamilyAgreement]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The cell to use, and how certain that is.

    Attributes:
        decided: whether the tests decide which of the cells to use; a simple model may be as good.
        above_baseline: whether any cell is shown to be above the baseline.
        best: the pretrained cell with the highest mean.
        alternatives: pretrained cells that are undecided against the best.
        recommended: the cell to use; None if no pretrained cell has finished.
        next_step: "use", "label", "seeds", "train" or "cheaper": what to do next.
        first: at most six sentences to read first; the first of them says what to do next.
        evidence: sentences by subject.
        exported: path of the exported model in the comparison's folder; None: none is.
    """

    sentence: str
    decided: bool
    above_baseline: bool
    best: str | None
    alternatives: list[str]
    recommended: str | None
    next_step: str
    first: list[str]
    evidence: dict[str, list[str]]
    guideline: Agreement
    exported: str | None = None


@dataclass(frozen=True)
class AnswerFiles:
    """The files on the answers of one cell, beside the report.

    Attributes:
        cell: its id.
        names: of the files.
        label_errors: the number of likely label errors, with folds and a cell that is shown to be
            above the baseline; None: not looked for.
    """

    cell: str
    names: list[str]
    label_errors: int | None = None


@dataclass(frozen=True, kw_only=True)
class Teacher:
    """The run that all runs learn from, with its score on the scored split and its costs.

    Attributes:
        run: its folder.
        weight: of its answers in the loss.
        unlabelled: the number of texts that train with its answers alone.
    """

    run: str
    temperature: float
    weight: float
    unlabelled: int
    score: float | None
    parameters: int
    megabytes: float
    serving_seconds_per_1000: float


@dataclass(frozen=True, kw_only=True)
class Content:
    """A comparison: its data, cells and results, and how to repeat it.

    Attributes:
        genre: of the data set, to which all splits are restricted; None: they have all genres.
        kind: of the task.
        labels: None for regression.
        splits: a description of each split.
        scored_on, chosen_on: the scored split, and the split that selects epochs and learning
            rates.
        examples: the number of examples by split.
        folds: their number; then seeds are repeats, and each example is scored once a repeat, by a
            model that did not see it. None: train, dev and test are the same for all seeds.
        trials: the number of learning rates, or of settings of a search, tried in each cell.
        search: what a search found; None: learning rates were tried.
        budget: what was screened within minutes; None: all cells are scored.
        extended: sentences on epochs and rates that the comparison added by itself; None: it added
            none.
        different: config keys whose values differ between cells: by key, the value in each cell.
        look: the number of this interim analysis, from 1; 0: the only one (`--final`).
        learning_curves: None with one number of training examples.
        pairs: the tests of all pairs of cells that trained, of the seeds that did.
        pairs_with_failed: the same with the baseline's answers for failed seeds; empty where no
            seed failed.
        references: simple models, scored and tested as the baseline is.
        shifted: the cells on test sets of other domains; None: there are none.
        versions: of the libraries.
        modules: SHA-256 by handle, with the layers that are kept of it.
        truncated: the number of truncated examples, by cell and split.
        data: SHA-256 by split.
        start: the run that all runs start from, as text; None: the modules' own weights.
        teacher: the run that all runs learn from; None: there is none.
        weak: the `weak` of a run's `metrics.json` on all training examples, if their labels come
            from several sources.
        signals: by name, sentences on what its runs learned from beside the labels; then `start`
            and `teacher` are None. None: the comparison has no signals.
        diagnosis: of the runs of cells that were diagnosed; None: none was.
        estimate: what frozen states told before training; None: `tf-adapt estimate` was not asked.
        verdict: None before it is computed.
        answer_files: None: no pretrained cell has finished, or a report of an earlier version.
    """

    summary: str | None
    dataset: str
    genre: str | None = field(default=None, metadata=OMITTED)
    kind: str
    metric: str
    labels: list[str] | None
    splits: dict[str, str]
    scored_on: str
    chosen_on: str
    examples: dict[str, int]
    items: ScoredItems
    seeds: list[int]
    folds: int | None = field(default=None, metadata=OMITTED)
    trials: int
    search: SearchResults | None = field(default=None, metadata=OMITTED)
    budget: Screened | None = field(default=None, metadata=OMITTED)
    extended: list[str] | None = field(default=None, metadata=OMITTED)
    different: dict[str, dict[str, Any]]
    look: int
    cells: list[ScoredCell]
    learning_curves: LearningCurves | None
    pairs: list[PairTest]
    pairs_with_failed: list[PairTest] = field(default_factory=list)
    baseline: BaselineScores
    references: list[ReferenceScores] = field(default_factory=list)
    slices: list[DataSlice] = field(default_factory=list)
    shifted: list[ShiftedDomain] | None = field(default=None, metadata=OMITTED)
    disagreements: list[Disagreement]
    versions: dict[str, str]
    modules: dict[str, str]
    truncated: dict[str, dict[str, int]]
    data: dict[str, str]
    machine: str
    command: str
    start: str | None = None
    teacher: Teacher | None = None
    weak: dict[str, Any] | None = None
    signals: dict[str, list[str]] | None = field(default=None, metadata=OMITTED)
    diagnosis: list[Diagnosis] | None = field(default=None, metadata=OMITTED)
    estimate: Estimate | None = field(default=None, metadata=OMITTED)
    verdict: Verdict | None = None
    answer_files: AnswerFiles | None = field(default=None, metadata=OMITTED)

    @property
    def seed(self) -> str:
        """What stands in a column of scores: `seed`, with folds `repeat`."""
        return "repeat" if self.folds else "seed"

    @property
    def runs(self) -> str:
        """`5 seeds`, `2 repeats of 5 folds`."""
        runs = counted(len(self.seeds), self.seed)
        return f"{runs} of {self.folds} folds" if self.folds else runs


def to_json(content: Content) -> dict[str, Any]:
    """The plain values of `report.json`, in the order of the fields."""
    return {"format": FORMAT} | _plain(content)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        plain = {}
        for field in fields(value):
            if field.metadata.get("omitted") and getattr(value, field.name) is None:
                continue
            part = _plain(getattr(value, field.name))
            plain |= part if field.metadata.get("inline") else {field.name: part}
        return plain
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value
