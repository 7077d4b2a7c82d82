"""The keys of a config that say how a model is trained: adaptation, optimizer, penalties, features.

Imports no TensorFlow.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from hub_modules.engines.names import ENGINES, TENSORFLOW
from hub_modules.native.added.settings import TARGETS
from tf_adapt.adaptation.adaptations import ADAPTATIONS, SHORT_NAMES
from tf_adapt.config.fields import MOST_EPOCHS, MOST_EXAMPLES, VERY_MANY, WIDEST, Section, whole
from tf_adapt.data.limits import MOST_TOKENS
from tf_adapt.encoder.feature_budget import DISK_LIMIT_MB, LIMIT_MB

OptionalSteps = whole(1, VERY_MANY, ", or null", default=None)


class TrainingConfig(Section):
    """One training: its length, optimizer, limits and devices."""

    epochs: int | None = whole(1, MOST_EPOCHS, ", or null for the default", default=None)
    """Maximum number of epochs; the weights of the best epoch on dev are kept. Default: 30 with a
    frozen encoder, else 6 (span_extraction: 6 and 2; language_model: 2)."""
    batch_size: int | None = whole(1, MOST_EXAMPLES, ", or null for the default", default=None)
    """Examples per batch (default 16)."""
    accumulate_steps: int | None = whole(2, 1000, ", or null for an update a batch", default=None)
    """Batches per update, with the mean of their gradients; the last ones of an epoch may be
    fewer."""
    learning_rate: float | None = Field(
        None, gt=0, description="a number above 0, or null for the default"
    )
    """Peak learning rate of the schedule; default: the middle one of those that a comparison tries
    for encoder, adaptation and head."""
    warmup: float = Field(0.1, ge=0, le=1, description="a fraction of all steps, from 0 to 1")
    """Fraction of the steps in which the learning rate rises."""
    weight_decay: float = Field(0.01, ge=0, description="a number of at least 0")
    """Decoupled weight decay."""
    target_epochs: int = whole(0, MOST_EPOCHS, ", less than training.epochs", default=0)
    """With several tasks: how many of the epochs, at the end, are passes over the target's data
    alone."""
    steps_per_epoch: int | None = whole(
        1, VERY_MANY, ", or null for as many as all tasks have batches", default=None
    )
    """With several tasks: the length of an epoch; else it is one pass."""
    clip_norm: float | None = Field(1.0, gt=0, description="a number above 0, or null")
    """Maximum global norm of the gradients (clipping)."""
    patience: int | None = whole(1, MOST_EPOCHS, ", or null to run all epochs", default=None)
    """Early stopping: epochs without improvement on dev."""
    stop_below: list[float | None] | None = Field(
        None, description="a list with a number or null for each epoch, or null"
    )
    """The run ends after an epoch where its best dev score so far is worse than the number of that
    epoch; trials of compare.search have it."""
    max_length: int | None = whole(
        4, MOST_TOKENS, ", or null for the encoder's limit", default=None
    )
    """Maximum input length: word pieces of transformers, words of others."""
    truncate: bool = Field(False, description="true or false")
    """Truncate over-long inputs instead of raising an error; tagging splits them."""
    document_context: bool = Field(False, description="true or false")
    """Encode each sentence with its neighbours in the document (BERT, tagging)."""
    choose_thresholds: bool = Field(False, description="true or false")
    """Tune the threshold of each label, or that of no answer, on dev, at the best epoch
    (multilabel_classification); false: 0.5."""
    class_weight: Literal["balanced"] | dict[str, float] | None = Field(
        None, description="balanced, a section that maps labels to factors of at least 0, or null"
    )
    """Factors of the losses of examples (tagging: words; multilabel_classification: choices) by
    label; balanced: inversely to how often it occurs in train. Labels that are not named have 1."""
    mixed_precision: Literal["bfloat16", "float16"] | None = Field(
        None, description="bfloat16, float16, or null"
    )
    """Half-precision computation with float32 weights."""
    gradient_checkpointing: bool = Field(False, description="true or false")
    """Recompute the layers in the backward pass (BERT): less memory, more time."""
    jit_compile: bool = Field(False, description="true or false")
    """Compile training steps with XLA."""
    devices: str | None = Field(
        None,
        pattern=r"^(all|(cpu|gpu):[1-9][0-9]{0,2})$",
        description="all, cpu:N, gpu:N, or null for one device",
    )
    """Data parallelism over the devices of one machine."""
    strategy: Literal["multi_worker"] | None = Field(None, description="multi_worker, or null")
    """Data parallelism over several machines, as described by TF_CONFIG."""
    seed: int = Field(0, ge=0, lt=2**32, description="a whole number from 0 to 2^32 - 1")
    """Random seed."""

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
    """Which layer groups are trainable when."""
    layers: int | None = whole(1, WIDEST, ", or null", default=None)
    """Number of trainable layers, from the top (top_layers; default 1)."""
    reinitialise: int | None = whole(1, WIDEST, ", or null", default=None)
    """Number of layers, from the top, that start from random weights (fine_tuning)."""
    every: int | None = OptionalSteps
    """Length of a phase (gradual_unfreezing, chain_thaw; default 1)."""
    unit: Literal["epochs", "steps"] | None = Field(None, description="epochs or steps")
    """Unit of `every` (default epochs)."""
    head_epochs: int | None = OptionalSteps
    """Epochs of the head alone (two_stage, sequential_unfreezing; default 1)."""
    upper_epochs: int | None = OptionalSteps
    """Epochs without the lowest group (sequential_unfreezing; default 1)."""
    patience: int | None = whole(1, MOST_EPOCHS, ", or null", default=None)
    """Epochs without improvement on dev that end a phase; the lengths of phases are maximum lengths
    then."""
    kind: Literal["bottleneck", "projected_attention"] | None = Field(
        None, description="bottleneck or projected_attention"
    )
    """Type of the adapters (adapters; default bottleneck)."""
    size: int | None = whole(1, WIDEST, ", or null", default=None)
    """Hidden size of the adapters (adapters; default 64)."""
    activation: Literal["gelu", "relu"] | None = Field(None, description="gelu or relu")
    """Activation of bottleneck adapters (adapters; default gelu, the encoder's own formula)."""
    operation: Literal["dense", "convolution"] | None = Field(
        None, description="dense or convolution"
    )
    """First operation of bottleneck adapters; convolution: each position with its two neighbours
    (adapters; default dense)."""
    train_embeddings: bool | None = Field(None, description="true or false")
    """Whether the embeddings are trained too (adapters; default false)."""
    parallel: bool | None = Field(None, description="true or false")
    """Bottleneck adapters beside each part of a layer, not behind it (adapters; transformers;
    default false)."""
    rank: int | None = whole(1, WIDEST, ", or null", default=None)
    """Rank of the added matrices (lora; default 8)."""
    alpha: float | None = Field(None, gt=0, description="a number above 0, or null")
    """Scale of the added matrices, which are multiplied by alpha / rank (lora; default 16)."""
    target: list[Literal[TARGETS]] | None = Field(
        None, min_length=1, description=f"a list of some of {', '.join(TARGETS)}"
    )
    """The kernels of a transformer layer that are adapted (lora; default query and value)."""
    in_layers: list[Annotated[int, Field(ge=0, le=WIDEST)]] | None = Field(
        None, min_length=1, description="a list of numbers of layers from 0, or null for all"
    )
    """The layers that are adapted, from 0, the lowest (adapters, lora); null: all."""
    iterations: int | None = whole(1, 1000, ", or null", default=None)
    """Pairs of texts with equal labels, and as many with others, that are drawn for each text in an
    epoch (contrastive; default 20)."""

    @property
    def trains_encoder(self) -> bool:
        """Whether anything of the encoder is ever trained."""
        return ADAPTATIONS[self.name]().trains_encoder

    @property
    def adds_weights(self) -> bool:
        """Whether the encoder gets a group of its own for it."""
        return ADAPTATIONS[self.name]().added is not None


class OptimizerConfig(Section):
    """The optimizer, and the factor of training.learning_rate for each layer group."""

    name: Literal["adamw", "sgd", "lamb", "lion"] = Field(
        "adamw", description="adamw, sgd, lamb or lion"
    )
    """The optimizer."""
    momentum: float | None = Field(
        None, ge=0, lt=1, description="a number from 0 to below 1 (sgd only), or null"
    )
    """Momentum of sgd."""
    decay: float | None = Field(
        None, gt=0, le=1, description="a number above 0, up to 1, or null for one rate"
    )
    """Layer-wise decay of the learning rate: this factor for the encoder's highest group, its
    square for the next, and so on down."""
    factors: dict[str, float] | None = Field(
        None, description="a section that maps layer groups to factors of at least 0, or null"
    )
    """Learning rate of each group, relative to training.learning_rate."""


class ScheduleConfig(Section):
    """The learning-rate schedule, with a warm-up over training.warmup of the steps."""

    name: Literal["linear_decay", "slanted_triangular", "cosine_decay", "constant"] = Field(
        "linear_decay", description="linear_decay, slanted_triangular, cosine_decay or constant"
    )
    """Shape of the schedule."""
    per_phase: bool = Field(False, description="true or false")
    """Restart the schedule in each phase of the adaptation."""
    first_phase: float = Field(1.0, gt=0, description="a number above 0 (with per_phase)")
    """Learning rate of the first phase, that of the head, relative to training.learning_rate."""
    ratio: float = Field(32.0, ge=1, description="a number of at least 1 (slanted_triangular)")
    """Peak learning rate divided by the lowest."""
    denominator: Literal["allennlp", "ulmfit"] = Field(
        "allennlp", description="allennlp or ulmfit (slanted_triangular)"
    )
    """Formula of the decrease: AllenNLP's, or that of the ULMFiT paper."""


class L2SpConfig(Section):
    """L2-SP: a penalty on the distance to the pretrained weights, and L2 of new weights."""

    alpha: float = Field(0.1, gt=0, description="a number above 0")
    """Strength of the penalty on the distance from the pretrained weights."""
    beta: float = Field(0.01, ge=0, description="a number of at least 0")
    """Strength of the penalty on the norm of new weights."""


class EwcConfig(Section):
    """EWC: a penalty on the distance to the pretrained weights, scaled by Fisher information."""

    PATHS: ClassVar = ("fisher",)
    fisher: str = Field(description="the path of a file that `tf-adapt fisher` wrote")
    """Diagonal Fisher information of an earlier task."""
    weight: float = Field(15.0, gt=0, description="a number above 0")
    """Strength of the penalty, λ; of a chain of tasks the published one times γ."""


class PenaltiesConfig(Section):
    """Penalties that keep the encoder close to its pretrained weights."""

    l2_sp: L2SpConfig | None = Field(None, description="a section, or null")
    ewc: EwcConfig | None = Field(None, description="a section, or null")


class FeaturesConfig(Section):
    """Storage of the outputs of frozen layers; in float32, results are equal up to rounding.

    They are kept in memory, or on disk where they are too large; those of an encoder that is frozen
    for the whole run may be cached for other runs.
    """

    PATHS: ClassVar = ("cache",)
    cache: str | None = Field(None, description="a folder, or null to keep them in memory")
    """Folder of cached features, shared between runs."""
    require: bool = Field(False, description="true or false")
    """Raise an error for features that are missing from the cache."""
    limit_mb: int = whole(
        0, VERY_MANY, ", megabytes for each split and text column", default=LIMIT_MB
    )
    """Memory limit for features."""
    disk_limit_mb: int = whole(
        0, VERY_MANY, ", megabytes for each split and text column", default=DISK_LIMIT_MB
    )
    """Disk limit for features, in the cache or beyond memory."""
    dtype: Literal["float32", "float16", "bfloat16"] = Field(
        "float32", description="float32, float16 or bfloat16"
    )
    """Precision of features; 16 bits halve their size and change scores slightly."""
    engine: Literal[ENGINES] = Field(
        TENSORFLOW,
        description="tensorflow, openvino or openvino_int8 (of transformers that run natively)",
    )
    """What computes features; openvino changes their last bits, openvino_int8 more."""
