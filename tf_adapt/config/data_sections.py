"""The keys of the section `data` of a config: named datasets, own files, TensorFlow Datasets, text.

Imports no TensorFlow.
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from tf_adapt.config.fields import MOST_FOLDS, VERY_MANY, WIDEST, Section, whole
from tf_adapt.data.kinds import KINDS
from tf_adapt.data.limits import MEMORY_MB, MOST_TOKENS
from tf_adapt.printing.words import alternatives
from tf_adapt.tasks.kinds import labelled_kinds
from tf_adapt.tasks.tag_schemes import FILE_SCHEMES


def feature_kinds() -> tuple[str, ...]:
    """The kinds whose examples features of TensorFlow Datasets can hold."""
    return tuple(kind for kind in labelled_kinds() if KINDS[kind].features)


def _one_of(names: Callable[[], tuple[str, ...]]) -> Any:
    """A text among names that are looked up when a config is read."""

    def check(value: str) -> str:
        if value not in names():
            raise ValueError(value)
        return value

    def listed(schema: dict[str, Any]) -> None:
        schema["enum"] = list(names())

    return Annotated[str, AfterValidator(check), Field(json_schema_extra=listed)]


def _column(value: Any) -> Any:
    if value is None or isinstance(value, str) or (type(value) is int and 0 <= value <= WIDEST):
        return value
    raise ValueError(value)


Column = Annotated[
    Any,
    AfterValidator(_column),
    Field(
        description=f"a column number from 0 to {WIDEST} (jsonl: the name of a field), or null",
        json_schema_extra={
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": WIDEST},
                {"type": "string"},
                {"type": "null"},
            ]
        },
    ),
]
TrainExamples = whole(1, VERY_MANY, ", or null for all", default=None)
"""Size of a random sample of train; dev and test are not sampled."""
# The seed of the sample; with one seed, larger samples contain smaller ones.
TrainExamplesSeed = whole(0, 2**32 - 1, default=29)
"""Seed of the sample; with one seed, larger samples contain smaller ones."""
# This share of train serves as dev, and dev serves as test; a test split is not read.
HeldOut = Field(None, gt=0, lt=1, description="a share of train between 0 and 1, or null")
"""Fraction of train that serves as dev, while dev serves as test; a test split is not read."""
Stratified = Field(True, description="true or false")
"""Whether a part that is cut off train (dev, held_out) has about its share of each label, tag, or
fifth of the scores; false: as runs of versions before 0.3 have it, to go on with one."""
LabelRange = Field(
    None, min_length=2, max_length=2, description="two numbers [lowest, highest], or null"
)
"""Lowest and highest label of a regression, for display."""
Metric = Field(
    None, description="a score of the kind of task, as macro_f1, or null for its first one"
)
"""The score that selects the epoch and that counts in a comparison; null: the dataset's own, else
the first of the kind of task."""
HOME = "home"  # what reports call the scored split


def _not_home(name: str) -> str:
    if name == HOME:
        raise ValueError(name)
    return name


ShiftedName = Annotated[str, Field(pattern=r"^[\w-]{1,40}$"), AfterValidator(_not_home)]
Shifted = Field(
    None,
    min_length=1,
    description="a mapping from names (letters, digits, _ and -, at most 40; not home, which "
    "reports call the scored split) to paths of files, or null",
)
"""Further test sets, of another domain: a file each, in the form of the others. They never choose
anything; a comparison tests its cells on each of them too."""
DevFile = Field(None, description="the path of a file, or null: a part of train plays dev")
"""Data for the selection of the epoch."""


MemoryMb = whole(
    0,
    VERY_MANY,
    ", megabytes for the examples, and for the tokens, of each split",
    default=MEMORY_MB,
)
"""Memory limit for data; beyond it they are on disk, in TMPDIR or ~/.cache/tf_adapt, as long as the
command runs, with the same results. Texts and pairs; tokens of other kinds stay in memory."""


class SpansConfig(Section):
    """For span extraction: how answers are looked for; see `tf_adapt.tasks.span_search`."""

    stride: int = whole(1, MOST_TOKENS, ", less than a row of tokens", default=128)
    """Tokens from the beginning of one window of a context to the next."""
    longest_answer: int = whole(1, 1000, default=30)
    """Most words of an answer; words are split at white space and punctuation."""
    n_best: int = whole(1, 1000, default=5)
    """Answers of each question in .jsonl files of predictions."""
    # Null: 0 where train has questions without an answer, else every question is answered.
    no_answer_threshold: float | None = Field(None, description="a number, or null")
    """A question has no answer if the logit of none exceeds that of the best span by more than
    this; null: 0 where train has questions without an answer, else every question is answered."""


Spans = Field(None, description="a section, or null")
"""How the answers to questions are looked for."""


class FoldConfig(Section):
    """One fold of a cross-validation: one of several parts of train, with as many examples of each
    label, plays test; examples that share a text or a group are in one part."""

    of: int = whole(2, MOST_FOLDS)
    """How many parts."""
    leave_out: int | None = whole(
        0, MOST_FOLDS - 1, ", less than of; or null for a model of all examples", default=None
    )
    """Which of them plays test, from 0; null: none, there is no test."""
    seed: int = whole(0, 2**32 - 1, default=0)
    """Seed of the parts, and of the examples that play dev."""


Fold = Field(None, description="a section (without dev and test), or null")
"""A fold of a cross-validation, of train after train_examples; of the rest, held_out plays dev."""


class LeaveOutConfig(Section):
    """A part of train that is left out: one of several equal ones, which together are train."""

    of: int = whole(2, MOST_FOLDS)
    """How many parts, of sizes that differ by one at most (tagging with documents: by one
    document)."""
    part: int = whole(0, MOST_FOLDS - 1, ", less than of")
    """Which of them is left out, from 0."""
    seed: int = whole(0, 2**32 - 1, default=0)
    """Seed of the parts."""


LeaveOut = Field(None, description="a section, or null for all of train")
"""A part of train, after train_examples, that is left out."""


class DatasetConfig(Section):
    """One of the project's named datasets."""

    PATHS: ClassVar = ("data_dir",)
    NAMED_PATHS: ClassVar = ("shifted",)
    dataset: str = Field(description="the name of a dataset")
    """One of the project's named datasets."""
    source: Literal["files", "tfds", "sample"] = Field("files", description="files, tfds or sample")
    """Its original files in data_dir, TensorFlow Datasets, or the sample data that ships with the
    package."""
    data_dir: str | None = Field(None, description="the folder of the dataset's files, or null")
    """The folder of the dataset."""
    train_examples: int | None = TrainExamples
    train_examples_seed: int = TrainExamplesSeed
    fold: FoldConfig | None = Fold
    leave_out: LeaveOutConfig | None = LeaveOut
    held_out: float | None = HeldOut
    genre: str | None = Field(
        None, description="a genre of the dataset (mnli, stsb), or null for all"
    )
    """Restricts all splits to one genre."""
    shifted: dict[ShiftedName, str] | None = Shifted
    metric: str | None = Metric
    spans: SpansConfig | None = Spans
    memory_mb: int = MemoryMb


class Columns(Section):
    """The columns of the data: names for tables and JSON lines, numbers from 0 for CoNLL.

    `group`: examples with the same value are dependent (in CoNLL files, those of a document).
    """

    text_a: str | None = Field(None, description="the name of a column, or null")
    """The text, or the first of a pair."""
    text_b: str | None = Field(None, description="the name of a column, or null")
    """The second text of a pair."""
    label: str | None = Field(None, description="the name of a column, or null")
    """The label; several labels of a multilabel example are separated by |."""
    group: str | None = Field(None, description="the name of a column, or null")
    """Examples with the same value are dependent and count as one item in the tests."""
    words: Column = None
    """The column of the words (conll), or the field with a list of them (jsonl)."""
    tags: Column = None
    """The column of the tags (conll), or the field with a list of them, or with the spans of a text
    (jsonl)."""


class FilesConfig(Section):
    """The user's own files."""

    PATHS: ClassVar = ("train", "dev", "test")
    NAMED_PATHS: ClassVar = ("shifted",)
    format: Literal["tsv", "csv", "jsonl", "conll", "squad", "convai2"] = Field(
        description="tsv, csv, jsonl, conll, squad, convai2, or text for a language model"
    )
    """File format."""
    kind: _one_of(labelled_kinds) = Field(description=alternatives(labelled_kinds()))
    """Task kind."""
    train: str = Field(description="the path of a file")
    """Training data."""
    dev: str | None = DevFile
    test: str | None = Field(None, description="the path of a file, or null")
    """Test data."""
    shifted: dict[ShiftedName, str] | None = Shifted
    columns: Columns = Field(
        Columns(),
        description="a section that maps text_a, label … to columns, or for tagging nothing: words "
        "in the first column, tags in the last; in jsonl the fields that the file shows",
    )
    """The columns of the data."""
    delimiter: Literal[",", ";", "\t", "|"] | None = Field(
        None, description='";", "\\t" or "|" in quotes (csv), or null for a comma'
    )
    """Field separator of csv files."""
    skip_unlabelled: bool = Field(False, description="true or false")
    """Leave examples without a label out, and count them, instead of raising an error."""
    scheme: Literal[FILE_SCHEMES] | None = Field(
        None,
        description=f"{', '.join(FILE_SCHEMES)}, or null for the one that each file's tags show",
    )
    """Tag scheme."""
    labels: list[str] | None = Field(None, description="a list of label names, or null")
    """The labels, in the order of their ids; null: those of train, sorted."""
    label_range: list[float] | None = LabelRange
    metric: str | None = Metric
    train_examples: int | None = TrainExamples
    train_examples_seed: int = TrainExamplesSeed
    fold: FoldConfig | None = Fold
    leave_out: LeaveOutConfig | None = LeaveOut
    held_out: float | None = HeldOut
    stratified: bool = Stratified
    spans: SpansConfig | None = Spans
    memory_mb: int = MemoryMb


class FeatureColumns(Section):
    """The features of a dataset of TensorFlow Datasets; see `Columns`."""

    text_a: str | None = Field(None, description="the name of a feature, or null")
    """The text, or the first of a pair."""
    text_b: str | None = Field(None, description="the name of a feature, or null")
    """The second text of a pair."""
    label: str | None = Field(None, description="the name of a feature, or null")
    """The label; several labels of a multilabel example are separated by |."""
    group: str | None = Field(None, description="the name of a feature, or null")
    """Examples with the same value are dependent and count as one item in the tests."""


class TfdsConfig(Section):
    """Any dataset of TensorFlow Datasets; `train`, `dev` and `test` are its splits, or parts."""

    PATHS: ClassVar = ("data_dir",)
    source: Literal["tfds"] = Field("tfds", description="tfds")
    """TensorFlow Datasets."""
    # No namespace: a prefix before a colon may load a foreign program.
    name: str = Field(
        pattern=r"^\w+(/[\w.+-]+)?(:[0-9.*]+)?$",
        description="a name of TensorFlow Datasets: NAME or NAME/CONFIG, with :VERSION or without",
    )
    """Name of the dataset."""
    kind: _one_of(feature_kinds) = Field(description=alternatives(feature_kinds()))
    """Task kind."""
    columns: FeatureColumns = Field(
        description="a section that maps text, or text_a and text_b, and label to features"
    )
    """The features of the dataset."""
    train: str = Field("train", description="the name of a split, or a part: train[:90%]")
    """Training data."""
    dev: str | None = Field(None, description="a split, or null: a part of train plays dev")
    """Data for the selection of the epoch."""
    test: str | None = Field(None, description="a split, or null")
    """Test data."""
    data_dir: str | None = Field(None, description="a folder, or null for TensorFlow Datasets' own")
    """The folder of TensorFlow Datasets."""
    labels: list[str] | None = Field(None, description="a list of label names, or null")
    """The labels, in the order of their ids; null: those of train, sorted."""
    label_range: list[float] | None = LabelRange
    metric: str | None = Metric
    train_examples: int | None = TrainExamples
    train_examples_seed: int = TrainExamplesSeed
    fold: FoldConfig | None = Fold
    leave_out: LeaveOutConfig | None = LeaveOut
    held_out: float | None = HeldOut
    stratified: bool = Stratified
    memory_mb: int = MemoryMb


class TextConfig(Section):
    """Unlabelled text of the user's own, one text a line, for a language model."""

    PATHS: ClassVar = ("train", "dev", "test")
    format: Literal["text"] = Field(description="text")
    """One text a line."""
    kind: Literal["language_model"] = Field(description="language_model")
    """Unlabelled text, with objective: language_model."""
    train: str = Field(description="the path of a file")
    """Training data."""
    dev: str | None = DevFile
    test: str | None = Field(None, description="the path of a file, or null")
    """Test data."""
    skip_empty: bool = Field(False, description="true or false")
    """Skip empty lines instead of raising an error."""
    memory_mb: int = MemoryMb
