"""The keys of a config: the whole list with types, ranges, defaults and descriptions.

Values are not converted: text is never a number, `no` is never text. `tf_adapt.config.reading`
reads configs, `tf_adapt.config.checks` has the checks of several keys; the section `data` is in
`tf_adapt.config.data_sections`. Imports no TensorFlow.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from hub_modules.engines.names import ENGINES, TENSORFLOW
from hub_modules.native.added.lora_targets import TARGETS
from tf_adapt.adaptation.phases import ADAPTATIONS, SHORT_NAMES
from tf_adapt.config.data_sections import DatasetConfig, FilesConfig, TextConfig, TfdsConfig
from tf_adapt.config.fields import MOST_EPOCHS, MOST_EXAMPLES, VERY_MANY, WIDEST, Section, whole
from tf_adapt.data.limits import MOST_TOKENS
from tf_adapt.data.task_sampling import SAMPLINGS
from tf_adapt.data.votes import AGGREGATES
from tf_adapt.encoder.feature_budget import DISK_LIMIT_MB, LIMIT_MB
from tf_adapt.heads.names import HEAD_NAMES
from tf_adapt.layers.pooling_names import POOLING_NAMES

PERTURBATION_NAMES = ("dropout", "mask", "words", "adversarial")

OptionalSteps = whole(1, VERY_MANY, ", or null", default=None)
HeadDropout = Field(
    None, ge=0, lt=1, description="a number from 0 to below 1, or null for the published one"
)
_POOLINGS = f"{', '.join(POOLING_NAMES)}, or null for the published one"
HeadPooling = Field(None, description=_POOLINGS)
_OF_WORDS = _POOLINGS.replace("the published one", "first (AWD-LSTM: last)")
HeadWordPieces = Field(None, description=_OF_WORDS)


class About(Section):
    """A description of an experiment, for people."""

    summary: str = Field(description="text: what this experiment is")
    expected: str = Field(description="text: the score to expect, with its deviation over seeds")
    minutes: float = Field(ge=0, description="a number of minutes, at least 0")


class LongConfig(Section):
    """Texts of any length, read in windows (transformers)."""

    window: int = whole(4, MOST_TOKENS, default=128)
    stride: int = whole(1, MOST_TOKENS, ", at most window − 2", default=64)
    pool: Literal["max", "mean"] = Field("max", description="max or mean")


class EncoderConfig(Section):
    """The pretrained module and how it is executed."""

    handle: str = Field(
        description="the name of a shipped module, a folder, a .txt file of word vectors, an "
        "http(s) URL, or keras: with a preset of keras-hub or a folder"
    )
    execution: Literal["native", "saved_model"] | None = Field(
        None, description="native, saved_model, or null for native where the module is recognised"
    )
    trust: bool = Field(False, description="true or false")
    preprocessor: str | None = Field(None, description="a folder or an http(s) URL, or null")
    pairs: Literal["joint", "separate"] | None = Field(
        None, description="joint (transformers), separate, or null: as the family was pretrained"
    )
    pretrained: bool = Field(True, description="true, or false for random weights (a baseline)")
    classification_token: bool = Field(False, description="true (causal modules only) or false")
    keep_layers: list[Annotated[int, Field(ge=0, le=WIDEST)]] | None = Field(
        None, min_length=1, description="a list of layer numbers, as [0, 2, 5], or null for all"
    )
    long: LongConfig | None = Field(
        None, description="a section with window, stride and pool, or null"
    )


class TrainingConfig(Section):
    """One training: its length, optimizer, limits and devices."""

    epochs: int = whole(1, MOST_EPOCHS)
    batch_size: int = whole(1, MOST_EXAMPLES)
    # Batches per update, with the mean of their gradients; an epoch's last ones may be fewer.
    accumulate_steps: int | None = whole(2, 1000, ", or null for an update a batch", default=None)
    learning_rate: float = Field(gt=0, description="a number above 0")
    warmup: float = Field(0.1, ge=0, le=1, description="a fraction of all steps, from 0 to 1")
    weight_decay: float = Field(0.01, ge=0, description="a number of at least 0")
    # With several tasks: the last epochs, which are passes over the target's data alone.
    target_epochs: int = whole(0, MOST_EPOCHS, ", less than training.epochs", default=0)
    # With several tasks; else an epoch is one pass.
    steps_per_epoch: int | None = whole(
        1, VERY_MANY, ", or null for as many as all tasks have batches", default=None
    )
    clip_norm: float | None = Field(1.0, gt=0, description="a number above 0, or null")
    patience: int | None = whole(1, MOST_EPOCHS, ", or null to run all epochs", default=None)
    max_length: int | None = whole(
        4, MOST_TOKENS, ", or null for the encoder's limit", default=None
    )
    truncate: bool = Field(False, description="true or false")
    document_context: bool = Field(False, description="true or false")
    # For multilabel classification: tune the thresholds on dev, at the best epoch; else 0.5.
    choose_thresholds: bool = Field(False, description="true or false")
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
        """`max_length, truncate, document_context` of `tf_adapt.data.packing.prepare`."""
        return self.max_length, self.truncate, self.document_context


def _canonical(name: Any) -> Any:
    return SHORT_NAMES.get(name, name) if isinstance(name, str) else name


AdaptationName = Annotated[Literal[tuple(ADAPTATIONS)], BeforeValidator(_canonical)]


class AdaptationConfig(Section):
    """Which layer groups train when; each name takes the keys that it needs."""

    name: AdaptationName = Field(description=f"one of {', '.join((*ADAPTATIONS, *SHORT_NAMES))}")
    layers: int | None = whole(1, WIDEST, ", or null", default=None)
    every: int | None = OptionalSteps
    unit: Literal["epochs", "steps"] | None = Field(None, description="epochs or steps")
    head_epochs: int | None = OptionalSteps
    upper_epochs: int | None = OptionalSteps
    patience: int | None = whole(1, MOST_EPOCHS, ", or null", default=None)
    kind: Literal["bottleneck", "projected_attention"] | None = Field(
        None, description="bottleneck or projected_attention"
    )
    size: int | None = whole(1, WIDEST, ", or null", default=None)
    activation: Literal["gelu", "relu"] | None = Field(None, description="gelu or relu")
    operation: Literal["dense", "convolution"] | None = Field(
        None, description="dense or convolution"
    )
    rank: int | None = whole(1, WIDEST, ", or null", default=None)
    alpha: float | None = Field(None, gt=0, description="a number above 0, or null")
    target: list[Literal[TARGETS]] | None = Field(
        None, min_length=1, description=f"a list of some of {', '.join(TARGETS)}"
    )
    in_layers: list[Annotated[int, Field(ge=0, le=WIDEST)]] | None = Field(
        None, min_length=1, description="a list of numbers of layers from 0, or null for all"
    )


class OptimizerConfig(Section):
    """The optimizer, and the factor of training.learning_rate for each layer group."""

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


class ScheduleConfig(Section):
    """The learning-rate schedule, with a warm-up over training.warmup of the steps."""

    name: Literal["linear_decay", "slanted_triangular", "cosine_decay", "constant"] = Field(
        "linear_decay", description="linear_decay, slanted_triangular, cosine_decay or constant"
    )
    per_phase: bool = Field(False, description="true or false")
    ratio: float = Field(32.0, ge=1, description="a number of at least 1 (slanted_triangular)")
    denominator: Literal["allennlp", "ulmfit"] = Field(
        "allennlp", description="allennlp or ulmfit (slanted_triangular)"
    )


class L2SpConfig(Section):
    """L2-SP: a penalty on the distance to the pretrained weights, and L2 of new weights."""

    alpha: float = Field(0.1, gt=0, description="a number above 0")
    beta: float = Field(0.01, ge=0, description="a number of at least 0")


class EwcConfig(Section):
    """EWC: a penalty on the distance to the pretrained weights, scaled by Fisher information."""

    fisher: str = Field(description="the path of a file that `tf-adapt fisher` wrote")
    weight: float = Field(15.0, gt=0, description="a number above 0")


class PenaltiesConfig(Section):
    """Penalties that keep the encoder close to its pretrained weights."""

    l2_sp: L2SpConfig | None = Field(None, description="a section, or null")
    ewc: EwcConfig | None = Field(None, description="a section, or null")


class AuxiliaryLossConfig(Section):
    """An auxiliary loss, its weight constant or annealed exponentially to another."""

    weight: float = Field(gt=0, description="a number above 0")
    final_weight: float | None = Field(None, gt=0, description="a number above 0, or null")
    anneal_steps: int | None = OptionalSteps


def _as_perturbation(given: Any) -> Any:
    return {"name": given} if isinstance(given, str) else given


class PerturbationConfig(Section):
    """What takes the place of an unlabelled text in the second pass: a name, or a file."""

    name: Literal[PERTURBATION_NAMES] | None = Field(
        None, description=f"{', '.join(PERTURBATION_NAMES)}, or null with a file"
    )
    file: str | None = Field(None, description="the path of a file of paraphrases, or null")
    rate: float | None = Field(
        None, gt=0, lt=1, description="a number between 0 and 1, or null (mask, words)"
    )
    epsilon: float | None = Field(None, gt=0, description="a number above 0, or null (adversarial)")


class ConsistencyConfig(AuxiliaryLossConfig):
    """Consistency of the predictions on unlabelled texts and on their perturbations."""

    weight: float = Field(1.0, ge=0, description="a number of at least 0")
    unlabelled: str = Field(description="the path of a file")
    perturbation: Annotated[PerturbationConfig, BeforeValidator(_as_perturbation)] = Field(
        description=f"one of {', '.join(PERTURBATION_NAMES)}, or a section with one and its keys, "
        "or with a file"
    )
    confidence: float | None = Field(
        None, gt=0, lt=1, description="a number between 0 and 1, or null"
    )
    temperature: float | None = Field(None, gt=0, description="a number above 0, or null")
    signal_annealing: Literal["linear", "exp", "log"] | None = Field(
        None, description="linear, exp, log, or null"
    )


class AuxiliaryConfig(Section):
    """Auxiliary losses beside the task's."""

    language_model: AuxiliaryLossConfig | None = Field(None, description="a section, or null")
    distillation: AuxiliaryLossConfig | None = Field(None, description="a section, or null")
    consistency: ConsistencyConfig | None = Field(None, description="a section, or null")


class FeaturesConfig(Section):
    """Storage of the outputs of frozen layers; in float32, results are equal up to rounding.

    They are kept in memory, or on disk where they are too large; those of an encoder that is frozen
    for the whole run may be cached for other runs.
    """

    cache: str | None = Field(None, description="a folder, or null to keep them in memory")
    require: bool = Field(False, description="true or false")
    limit_mb: int = whole(
        0, VERY_MANY, ", megabytes for each split and text column", default=LIMIT_MB
    )
    disk_limit_mb: int = whole(
        0, VERY_MANY, ", megabytes for each split and text column", default=DISK_LIMIT_MB
    )
    dtype: Literal["float32", "float16", "bfloat16"] = Field(
        "float32", description="float32, float16 or bfloat16"
    )
    engine: Literal[ENGINES] = Field(
        TENSORFLOW,
        description="tensorflow, openvino or openvino_int8 (of transformers that run natively)",
    )


class SliceConfig(Section):
    """A slice of the data: the examples that fulfil all of its rules.

    Words and places are those of `tf_adapt.data.slices`.
    """

    words: list[str] | None = Field(None, min_length=1, description="a list of words, or null")
    longer_than: int | None = whole(1, MOST_TOKENS, ", or null", default=None)
    word_overlap_above: float | None = Field(
        None, ge=0, lt=1, description="a number from 0 to below 1, or null"
    )
    wrong_in: str | None = Field(None, description="the folder of a finished run, or null")
    file: str | None = Field(None, description="the path of a file, or null")


class StartConfig(Section):
    """A run whose best weights this run begins from, an intermediate task (STILTs): a finished
    one, or one that is trained first."""

    run: str | None = Field(
        None, description="the folder of a finished run on the same module, or null with config"
    )
    config: str | None = Field(
        None, description="the config of a run that is trained first, or null with run"
    )
    head: bool = Field(True, description="true or false")

    @property
    def key(self) -> str:
        """The path of the key that names the run."""
        return "start.run" if self.config is None else "start.config"

    @property
    def place(self) -> str:
        """The folder, or the config."""
        return self.run if self.config is None else self.config


class TeacherConfig(Section):
    """A finished run or an ensemble whose answers are learned beside the labels (distillation)."""

    run: str = Field(description="the folder of a finished run or an ensemble with the same labels")
    temperature: float = Field(2.0, gt=0, description="a number above 0")
    weight: float = Field(0.5, gt=0, le=1, description="a number above 0, up to 1")
    unlabelled: str | None = Field(None, description="the path of a file, or null")


class ForgettingConfig(Section):
    """The loss of the module's own task, a language model, measured again after adaptation."""

    text: str = Field(description="the path of a file of held-out text")


class WeakConfig(Section):
    """Training labels from several noisy sources, in place of those of train.

    The file is that of `tf_adapt.data.votes`.
    """

    votes: str = Field(description="the path of a file")
    aggregate: Literal[AGGREGATES] = Field("dawid_skene", description=" or ".join(AGGREGATES))


# Keys of a config with several tasks alone.
OF_TASKS = ("tasks", "target", "sampling", "task_attention")


class TaskConfig(Section):
    """One of several tasks that share an encoder: its data and its head."""

    data: DatasetConfig | FilesConfig | TfdsConfig | TextConfig = Field(description="a section")
    head: Literal[HEAD_NAMES] = Field("default", description=", ".join(HEAD_NAMES))
    head_dropout: float | None = HeadDropout
    head_units: int | None = whole(1, WIDEST, ", or null for the published width", default=None)
    head_pooling: Literal[POOLING_NAMES] | None = HeadPooling
    head_word_pieces: Literal[POOLING_NAMES] | None = HeadWordPieces
    weight: float = Field(1.0, gt=0, description="a number above 0")


class Config(Section):
    """Everything that one run depends on."""

    about: About | None = Field(None, description="a section with summary, expected and minutes")
    objective: Literal["task", "language_model"] = Field(
        "task", description="task or language_model"
    )
    # None with several tasks only: see `of_task`.
    data: DatasetConfig | FilesConfig | TfdsConfig | TextConfig | None = Field(
        None, description="a section"
    )
    tasks: dict[str, TaskConfig] | None = Field(
        None, description="a section with one for each task, in place of data and head, or null"
    )
    target: str | None = Field(None, description="the name of one of the tasks, or null")
    sampling: Literal[SAMPLINGS] | None = Field(
        None, description=f"{', '.join(SAMPLINGS)} (with tasks only), or null for proportional"
    )
    task_attention: int | None = whole(1, WIDEST, " (with tasks only), or null", default=None)
    encoder: EncoderConfig = Field(description="a section")
    head: Literal[HEAD_NAMES] = Field("default", description=", ".join(HEAD_NAMES))
    head_dropout: float | None = HeadDropout
    head_units: int | None = whole(1, WIDEST, ", or null for the published width", default=None)
    head_pooling: Literal[POOLING_NAMES] | None = HeadPooling
    head_word_pieces: Literal[POOLING_NAMES] | None = HeadWordPieces
    adaptation: AdaptationConfig = Field(description="a name, or a section with one and its keys")
    optimizer: OptimizerConfig = Field(OptimizerConfig(), description="a section")
    schedule: ScheduleConfig = Field(ScheduleConfig(), description="a section")
    auxiliary: AuxiliaryConfig = Field(AuxiliaryConfig(), description="a section")
    penalties: PenaltiesConfig = Field(PenaltiesConfig(), description="a section")
    start: StartConfig | None = Field(None, description="a section, or null")
    teacher: TeacherConfig | None = Field(None, description="a section, or null")
    forgetting: ForgettingConfig | None = Field(
        None, description="a section with text, the path of a file of held-out text, or null"
    )
    weak: WeakConfig | None = Field(None, description="a section, or null")
    training: TrainingConfig = Field(description="a section")
    features: FeaturesConfig = Field(FeaturesConfig(), description="a section")
    slices: dict[str, SliceConfig] = Field({}, description="a section that maps names to slices")
    slice_heads: bool = Field(False, description="true or false")

    def of_task(self, name: str) -> "Config":
        """The config of one of several tasks alone, with its data and its head; slices are those of
        the target."""
        section = self.tasks[name]
        own = {key: value for key, value in section if key != "weight"}
        own |= {} if name == self.target else {"slices": {}}
        return self.model_copy(update=own | dict.fromkeys(OF_TASKS))
