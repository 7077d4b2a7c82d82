"""The keys of the section `data` of a config: named datasets, own files, TensorFlow Datasets, text.

Imports no TensorFlow.
"""

from typing import ClassVar, Literal

from pydantic import Field

from tf_adapt.config.fields import MOST_FOLDS, VERY_MANY, WIDEST, Section, whole
from tf_adapt.data.limits import MOST_TOKENS
from tf_adapt.tasks.kinds import SPAN_EXTRACTION, labelled_kinds
from tf_adapt.tasks.tag_schemes import FILE_SCHEMES

KINDS = labelled_kinds()
TEXT_KINDS = tuple(kind for kind in KINDS if kind not in ("tagging", SPAN_EXTRACTION))
Column = Field(None, ge=0, le=WIDEST, description=f"a column number from 0 to {WIDEST}, or null")
TrainExamples = whole(1, VERY_MANY, ", or null for all", default=None)
# The seed of the sample; with one seed, larger samples contain smaller ones.
TrainExamplesSeed = whole(0, 2**32 - 1, default=29)
# This share of train serves as dev, and dev serves as test; a test split is not read.
HeldOut = Field(None, gt=0, lt=1, description="a share of train between 0 and 1, or null")
LabelRange = Field(
    None, min_length=2, max_length=2, description="two numbers [lowest, highest], or null"
)
DevFile = Field(None, description="the path of a file, or null: a part of train plays dev")


class SpansConfig(Section):
    """For span extraction: how answers are looked for; see `tf_adapt.tasks.span_search`."""

    stride: int = whole(1, MOST_TOKENS, ", less than a row of tokens", default=128)
    longest_answer: int = whole(1, 1000, default=30)
    n_best: int = whole(1, 1000, default=5)
    # Null: 0 where train has questions without an answer, else every question is answered.
    no_answer_threshold: float | None = Field(None, description="a number, or null")


Spans = Field(None, description="a section, or null")


class FoldConfig(Section):
    """A part of train that is left out: one of several equal ones, which together are train."""

    of: int = whole(2, MOST_FOLDS)
    leave_out: int = whole(0, MOST_FOLDS - 1, ", less than of")
    seed: int = whole(0, 2**32 - 1, default=0)


Fold = Field(None, description="a section, or null for all of train")


class DatasetConfig(Section):
    """One of the project's named datasets."""

    PATHS: ClassVar = ("data_dir",)
    dataset: str = Field(description="the name of a dataset")
    source: Literal["files", "tfds", "sample"] = Field("files", description="files, tfds or sample")
    data_dir: str | None = Field(None, description="the folder of the dataset's files, or null")
    train_examples: int | None = TrainExamples
    train_examples_seed: int = TrainExamplesSeed
    fold: FoldConfig | None = Fold
    held_out: float | None = HeldOut
    genre: str | None = Field(None, description="a genre of the dataset (mnli), or null for all")
    spans: SpansConfig | None = Spans


class Columns(Section):
    """The columns of the data: names for tables and JSON lines, numbers from 0 for CoNLL.

    `group`: examples with the same value are dependent (in CoNLL files, those of a document).
    """

    text_a: str | None = Field(None, description="the name of a column, or null")
    text_b: str | None = Field(None, description="the name of a column, or null")
    label: str | None = Field(None, description="the name of a column, or null")
    group: str | None = Field(None, description="the name of a column, or null")
    words: int | None = Column
    tags: int | None = Column


class FilesConfig(Section):
    """The user's own files."""

    PATHS: ClassVar = ("train", "dev", "test")
    format: Literal["tsv", "csv", "jsonl", "conll", "squad"] = Field(
        description="tsv, csv, jsonl, conll, squad, or text for a language model"
    )
    kind: Literal[KINDS] = Field(description=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}")
    train: str = Field(description="the path of a file")
    dev: str | None = DevFile
    test: str | None = Field(None, description="the path of a file, or null")
    columns: Columns = Field(
        Columns(),
        description="a section that maps text_a, label … to columns, or for conll nothing: words "
        "in the first column, tags in the last",
    )
    delimiter: Literal[",", ";", "\t", "|"] | None = Field(
        None, description='";", "\\t" or "|" in quotes (csv), or null for a comma'
    )
    scheme: Literal[FILE_SCHEMES] | None = Field(
        None,
        description=f"{', '.join(FILE_SCHEMES)}, or null for the one that each file's tags show",
    )
    labels: list[str] | None = Field(None, description="a list of label names, or null")
    label_range: list[float] | None = LabelRange
    train_examples: int | None = TrainExamples
    train_examples_seed: int = TrainExamplesSeed
    fold: FoldConfig | None = Fold
    held_out: float | None = HeldOut
    spans: SpansConfig | None = Spans


class FeatureColumns(Section):
    """The features of a dataset of TensorFlow Datasets; see `Columns`."""

    text_a: str | None = Field(None, description="the name of a feature, or null")
    text_b: str | None = Field(None, description="the name of a feature, or null")
    label: str | None = Field(None, description="the name of a feature, or null")
    group: str | None = Field(None, description="the name of a feature, or null")


class TfdsConfig(Section):
    """Any dataset of TensorFlow Datasets; `train`, `dev` and `test` are its splits, or parts."""

    PATHS: ClassVar = ("data_dir",)
    source: Literal["tfds"] = Field("tfds", description="tfds")
    # No namespace: a prefix before a colon may load a foreign program.
    name: str = Field(
        pattern=r"^\w+(/[\w.+-]+)?(:[0-9.*]+)?$",
        description="a name of TensorFlow Datasets: NAME or NAME/CONFIG, with :VERSION or without",
    )
    kind: Literal[TEXT_KINDS] = Field(
        description=f"{', '.join(TEXT_KINDS[:-1])} or {TEXT_KINDS[-1]}"
    )
    columns: FeatureColumns = Field(
        description="a section that maps text, or text_a and text_b, and label to features"
    )
    train: str = Field("train", description="the name of a split, or a part: train[:90%]")
    dev: str | None = Field(None, description="a split, or null: a part of train plays dev")
    test: str | None = Field(None, description="a split, or null")
    data_dir: str | None = Field(None, description="a folder, or null for TensorFlow Datasets' own")
    labels: list[str] | None = Field(None, description="a list of label names, or null")
    label_range: list[float] | None = LabelRange
    train_examples: int | None = TrainExamples
    train_examples_seed: int = TrainExamplesSeed
    fold: FoldConfig | None = Fold
    held_out: float | None = HeldOut


class TextConfig(Section):
    """Unlabelled text of the user's own, one text a line, for a language model."""

    PATHS: ClassVar = ("train", "dev", "test")
    format: Literal["text"] = Field(description="text")
    kind: Literal["language_model"] = Field(description="language_model")
    train: str = Field(description="the path of a file")
    dev: str | None = DevFile
    test: str | None = Field(None, description="the path of a file, or null")
    skip_empty: bool = Field(False, description="true or false")
