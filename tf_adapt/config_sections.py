"""The keys of a config: the whole list with types, ranges, defaults and descriptions.

Nothing is converted: text is never a number, `no` is never text. How configs are read and checked
beyond single keys is in `tf_adapt.config`. Imports no TensorFlow.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tf_adapt.adaptation import ADAPTATIONS

Kind = Literal["classification", "pair_classification", "pair_regression", "tagging"]
# The keys of `tasks.HEADS`, which cannot be imported without TensorFlow.
HEAD_NAMES = (
    "default",
    "linear",
    "max_pooling",
    "bi_attention",
    "bcn",
    "esim",
    "linear_tagger",
    "crf",
    "bilstm",
    "bilstm_crf",
)
Count = Field(ge=1, description="a whole number of at least 1")
OptionalCount = Field(None, ge=1, description="a whole number of at least 1, or null")
# This share of train is cut off and plays dev, and dev plays test; a test split is not read.
HeldOut = Field(None, gt=0, lt=1, description="a share of train between 0 and 1, or null")
HeadDropout = Field(
    None, ge=0, lt=1, description="a number from 0 to below 1, or null for the published one"
)


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class About(_Section):
    """What an experiment is, for its reader."""

    summary: str = Field(description="text: what this experiment is")
    expected: str = Field(description="text: the score to expect, with its deviation over seeds")
    minutes: float = Field(ge=0, description="a number of minutes, at least 0")


class DatasetConfig(_Section):
    """A dataset the project knows by name."""

    dataset: str = Field(description="the name of a dataset")
    source: Literal["files", "tfds", "sample"] = Field("files", description="files, tfds or sample")
    data_dir: str | None = Field(None, description="the folder of the dataset's files, or null")
    train_examples: int | None = Field(
        None, ge=1, description="a whole number of at least 1, or null for all"
    )
    held_out: float | None = HeldOut
    genre: str | None = Field(None, description="a genre of the dataset (mnli), or null for all")


class Columns(_Section):
    """Which column holds what: names for tables and JSON lines, numbers from 0 for CoNLL.

    `group`: examples with the same value belong together (in CoNLL files, those of a document).
    """

    text_a: str | None = Field(None, description="the name of a column, or null")
    text_b: str | None = Field(None, description="the name of a column, or null")
    label: str | None = Field(None, description="the name of a column, or null")
    group: str | None = Field(None, description="the name of a column, or null")
    words: int | None = Field(None, ge=0, description="a column number from 0, or null")
    tags: int | None = Field(None, ge=0, description="a column number from 0, or null")


class FilesConfig(_Section):
    """The user's own files."""

    format: Literal["tsv", "csv", "jsonl", "conll"] = Field(
        description="tsv, csv, jsonl, conll, or text for a language model"
    )
    kind: Kind = Field(
        description="classification, pair_classification, pair_regression or tagging"
    )
    train: str = Field(description="the path of a file")
    dev: str = Field(description="the path of a file")
    test: str | None = Field(None, description="the path of a file, or null")
    columns: Columns = Field(description="a section that maps text_a, label … to columns")
    scheme: Literal["IOB1", "IOB2", "BIOES"] = Field("IOB2", description="IOB1, IOB2 or BIOES")
    labels: list[str] | None = Field(None, description="a list of label names, or null")
    label_range: list[float] | None = Field(
        None, min_length=2, max_length=2, description="two numbers [lowest, highest], or null"
    )
    held_out: float | None = HeldOut


class TextConfig(_Section):
    """Unlabelled text of the user's own, one text a line, for a language model."""

    format: Literal["text"] = Field(description="text")
    kind: Literal["language_model"] = Field(description="language_model")
    train: str = Field(description="the path of a file")
    dev: str = Field(description="the path of a file")
    test: str | None = Field(None, description="the path of a file, or null")
    skip_empty: bool = Field(False, description="true or false")


class EncoderConfig(_Section):
    """The pretrained module and how it is executed."""

    handle: str = Field(description="the name of a shipped module, a folder, or an http(s) URL")
    execution: Literal["native", "saved_model"] | None = Field(
        None, description="native, saved_model, or null for native where the module is recognised"
    )
    trust: bool = Field(False, description="true or false")
    preprocessor: str | None = Field(None, description="a folder or an http(s) URL, or null")
    pairs: Literal["joint", "separate"] | None = Field(
        None, description="joint (BERT only), separate, or null: as the family was pretrained"
    )
    pretrained: bool = Field(True, description="true, or false for random weights (a baseline)")


class TrainingConfig(_Section):
    """One training: its length, optimizer, limits and devices."""

    epochs: int = Count
    batch_size: int = Count
    learning_rate: float = Field(gt=0, description="a number above 0")
    warmup: float = Field(0.1, ge=0, le=1, description="a fraction of all steps, from 0 to 1")
    weight_decay: float = Field(0.01, ge=0, description="a number of at least 0")
    clip_norm: float | None = Field(1.0, gt=0, description="a number above 0, or null")
    patience: int | None = Field(
        None, ge=1, description="a whole number of epochs of at least 1, or null to run them all"
    )
    max_length: int | None = Field(
        None, ge=4, description="a whole number of at least 4, or null for the encoder's limit"
    )
    truncate: bool = Field(False, description="true or false")
    document_context: bool = Field(False, description="true or false")
    mixed_precision: Literal["bfloat16", "float16"] | None = Field(
        None, description="bfloat16, float16, or null"
    )
    gradient_checkpointing: bool = Field(False, description="true or false")
    jit_compile: bool = Field(False, description="true or false")
    devices: str | None = Field(
        None,
        pattern=r"^(all|(cpu|gpu):[1-9][0-9]{0,2})$",
        description="all, cpu:N, gpu:N, or null for one device",
    )
    strategy: Literal["multi_worker"] | None = Field(None, description="multi_worker, or null")
    seed: int = Field(0, ge=0, lt=2**32, description="a whole number from 0 to 2^32 - 1")

    @property
    def limits(self) -> tuple[int | None, bool, bool]:
        """`max_length, truncate, document_context` of `tf_adapt.data.prepare`."""
        return self.max_length, self.truncate, self.document_context


class AdaptationConfig(_Section):
    """Which layer groups train when; which keys a name takes is checked in `tf_adapt.config`."""

    name: Literal[tuple(ADAPTATIONS)] = Field(description=f"one of {', '.join(ADAPTATIONS)}")
    layers: int | None = OptionalCount
    every: int | None = OptionalCount
    unit: Literal["epochs", "steps"] | None = Field(None, description="epochs or steps")
    head_epochs: int | None = OptionalCount
    upper_epochs: int | None = OptionalCount
    patience: int | None = OptionalCount
    kind: Literal["bottleneck", "projected_attention"] | None = Field(
        None, description="bottleneck or projected_attention"
    )
    size: int | None = OptionalCount


class OptimizerConfig(_Section):
    """The optimizer and its rate for each layer group, as a factor of training.learning_rate."""

    name: Literal["adamw", "sgd", "lamb", "lion"] = Field(
        "adamw", description="adamw, sgd, lamb or lion"
    )
    momentum: float | None = Field(
        None, ge=0, lt=1, description="a number from 0 to below 1 (sgd only), or null"
    )
    decay: float | None = Field(
        None, gt=0, le=1, description="a number above 0, up to 1, or null for one rate"
    )
    factors: dict[str, float] | None = Field(
        None, description="a section that maps layer groups to factors of at least 0, or null"
    )


class ScheduleConfig(_Section):
    """How the learning rate changes; it rises for training.warmup of the steps."""

    name: Literal["linear_decay", "slanted_triangular", "cosine_decay", "constant"] = Field(
        "linear_decay", description="linear_decay, slanted_triangular, cosine_decay or constant"
    )
    per_phase: bool = Field(False, description="true or false")
    ratio: float = Field(32.0, ge=1, description="a number of at least 1 (slanted_triangular)")
    denominator: Literal["allennlp", "ulmfit"] = Field(
        "allennlp", description="allennlp or ulmfit (slanted_triangular)"
    )


class L2SpConfig(_Section):
    """A pull of the encoder's weights to the pretrained ones, and of new weights to 0."""

    alpha: float = Field(0.1, gt=0, description="a number above 0")
    beta: float = Field(0.01, ge=0, description="a number of at least 0")


class EwcConfig(_Section):
    """A pull to the pretrained weights, each as strong as its Fisher information."""

    fisher: str = Field(description="the path of a file that `tf-adapt fisher` wrote")
    weight: float = Field(15.0, gt=0, description="a number above 0")


class PenaltiesConfig(_Section):
    """What is added to the loss to keep the encoder close to where it started."""

    l2_sp: L2SpConfig | None = Field(None, description="a section, or null")
    ewc: EwcConfig | None = Field(None, description="a section, or null")


class AuxiliaryLossConfig(_Section):
    """A loss beside the task's, constant or annealed exponentially from one weight to another."""

    weight: float = Field(gt=0, description="a number above 0")
    final_weight: float | None = Field(None, gt=0, description="a number above 0, or null")
    anneal_steps: int | None = OptionalCount


class AuxiliaryConfig(_Section):
    """What an encoder learns beside the task."""

    language_model: AuxiliaryLossConfig | None = Field(None, description="a section, or null")
    distillation: AuxiliaryLossConfig | None = Field(None, description="a section, or null")


class FeaturesConfig(_Section):
    """How the states of layers that stay frozen are kept; results agree but for rounding.

    An encoder that is frozen for the whole run may have them in a cache; of one that is frozen in
    part, or for a time, they are kept in memory.
    """

    cache: str | None = Field(None, description="a folder, or null to keep them in memory")
    require: bool = Field(False, description="true or false")
    limit_mb: int = Field(
        2000, ge=0, description="a whole number of megabytes a split and text column, at least 0"
    )


class Config(_Section):
    """Everything that one run depends on."""

    about: About | None = Field(None, description="a section with summary, expected and minutes")
    objective: Literal["task", "language_model"] = Field(
        "task", description="task or language_model"
    )
    data: DatasetConfig | FilesConfig | TextConfig = Field(description="a section")
    encoder: EncoderConfig = Field(description="a section")
    head: Literal[HEAD_NAMES] = Field("default", description=", ".join(HEAD_NAMES))
    head_dropout: float | None = HeadDropout
    head_units: int | None = Field(
        None, ge=1, description="a whole number of at least 1, or null for the published width"
    )
    adaptation: AdaptationConfig = Field(description="a name, or a section with one and its keys")
    optimizer: OptimizerConfig = Field(OptimizerConfig(), description="a section")
    schedule: ScheduleConfig = Field(ScheduleConfig(), description="a section")
    auxiliary: AuxiliaryConfig = Field(AuxiliaryConfig(), description="a section")
    penalties: PenaltiesConfig = Field(PenaltiesConfig(), description="a section")
    training: TrainingConfig = Field(description="a section")
    features: FeaturesConfig = Field(FeaturesConfig(), description="a section")
