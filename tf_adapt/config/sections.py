"""The keys of a config: the whole list with types, ranges, defaults and descriptions.

Values are not converted: text is never a number, `no` is never text. `tf_adapt.config.reading`
reads configs, `tf_adapt.config.checks` has the checks of several keys; the section `data` is in
`tf_adapt.config.data_sections`. Imports no TensorFlow.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from hub_modules.pooling_names import POOLING_NAMES
from tf_adapt.config.data_sections import DatasetConfig, FilesConfig, TextConfig, TfdsConfig
from tf_adapt.config.fields import WIDEST, Section, whole
from tf_adapt.config.signal_sections import (
    AuxiliaryConfig,
    ForgettingConfig,
    SliceConfig,
    StartConfig,
    TeacherConfig,
    WeakConfig,
)
from tf_adapt.config.training_sections import (
    AdaptationConfig,
    FeaturesConfig,
    OptimizerConfig,
    PenaltiesConfig,
    ScheduleConfig,
    TrainingConfig,
)
from tf_adapt.data.limits import MOST_TOKENS
from tf_adapt.data.task_sampling import SAMPLINGS
from tf_adapt.heads.names import HEAD_NAMES

HeadDropout = Field(
    None, ge=0, lt=1, description="a number from 0 to below 1, or null for the published one"
)
"""Dropout rate of the head."""
_POOLINGS = f"{', '.join(POOLING_NAMES)}, or null for the published one"
HeadPooling = Field(None, description=_POOLINGS)
"""Pooling of the head's hidden states to a vector (not for tagging); null where the head is scaled,
and with cosine and euclidean: mean."""
_OF_WORDS = _POOLINGS.replace("the published one", "first (AWD-LSTM: last)")
HeadWordPieces = Field(None, description=_OF_WORDS)
"""Vector of a word from its word pieces: that of one, or the mean or maximum of all (tagging)."""
HeadMixed = Field(None, description="true, false, or null for true on a frozen encoder")
"""Read a learned mix of all layers instead of the top layer."""
HeadScaled = Field(None, description="true, false, or null for true where it is possible")
"""Standardise each layer's vectors over the training texts (of a frozen encoder with a state for
each word: cosine, euclidean, and on transformers linear, whose false without head_pooling is the
pooled vector)."""


class About(Section):
    """A description of an experiment, for people."""

    summary: str = Field(description="text: what this experiment is")
    """A description in a sentence or two."""
    expected: str = Field(description="text: the score to expect, with its deviation over seeds")
    """The score to compare with."""
    minutes: float = Field(ge=0, description="a number of minutes, at least 0")
    """Duration of the experiment."""


Prompt = Annotated[str, Field(min_length=1, max_length=1000)]
Prompts = Annotated[
    Annotated[list[Prompt], Field(max_length=2)] | None,
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given, Prompt | list),
]


class LongConfig(Section):
    """Texts of any length, read in windows (transformers)."""

    window: int = whole(4, MOST_TOKENS, default=128)
    """Positions of a window, its two special tokens included."""
    stride: int = whole(1, MOST_TOKENS, ", at most window − 2", default=64)
    """Tokens from the begin of a window to that of the next."""
    pool: Literal["max", "mean"] = Field("max", description="max or mean")
    """How the windows' pooled vectors become the text's."""


class EncoderConfig(Section):
    """The pretrained module and how it is executed."""

    HANDLES: ClassVar = ("handle", "preprocessor", "decoder")
    handle: str = Field(
        description="the name of a shipped module, a folder, a .txt file of word vectors, an "
        "http(s) URL, or keras: with a preset of keras-hub or a folder"
    )
    """The pretrained module."""
    execution: Literal["native", "saved_model"] | None = Field(
        None, description="native, saved_model, or null for native where the module is recognised"
    )
    """Native Keras layers, or the module's own SavedModel, which has no adapters."""
    trust: bool = Field(False, description="true or false")
    """Allow a SavedModel that neither ships with the package nor was trusted before; it runs with
    your rights."""
    preprocessor: str | None = Field(None, description="a folder or an http(s) URL, or null")
    """Preprocessing module, for an encoder without one."""
    pairs: Literal["joint", "separate"] | None = Field(
        None, description="joint (transformers), separate, or null: as the family was pretrained"
    )
    """Encode both texts of a pair as one sequence, or each separately."""
    pretrained: bool = Field(True, description="true, or false for random weights (a baseline)")
    """Use the pretrained weights."""
    classification_token: bool = Field(False, description="true (causal modules only) or false")
    """Add a token with a new embedding at the end of each input of a causal module, whose state
    stands for the text."""
    keep_layers: list[Annotated[int, Field(ge=0, le=WIDEST)]] | None = Field(
        None, min_length=1, description="a list of layer numbers, as [0, 2, 5], or null for all"
    )
    """The transformer layers that the encoder has, from 0, the lowest (BERT, causal, keras-hub);
    null: all."""
    long: LongConfig | None = Field(
        None, description="a section with window, stride and pool, or null"
    )
    """Read texts of any length in windows (transformers)."""
    prompts: Prompts = Field(
        None,
        description='a text, as "query: ", a list of two for the texts of a pair, [] or null',
    )
    """What is put before each text that the encoder reads; null: the default of a
    sentence-transformers folder; []: nothing."""
    decoder: str | None = Field(
        None, description="the name of a shipped module, a folder or a URL, or null"
    )
    """The causal module that writes the text (kind: text_generation)."""


class GenerationConfig(Section):
    """How texts are learnt to be written (kind: text_generation).

    The residual connection of Ramachandran et al. 2017 (section 2.3) is no setting: it leads the
    first layer of a decoder around random ones, and all layers of a decoder here are pretrained.
    """

    label_smoothing: float = Field(0.0, ge=0, lt=1, description="a number from 0 to below 1")
    """The share of the loss that all words have alike, in place of the target's."""
    language_model_weight: float = Field(0.0, ge=0, description="a number of at least 0")
    """Weight of the decoder's loss as a language model, which does not see the source."""
    multi_layer_attention: bool = Field(False, description="true or false")
    """Read the states of the encoder's first layer beside those of its top."""
    beams: int = whole(1, 100, default=1)
    """Beams of the search for the written text; 1: greedy, without a search."""
    length_penalty: float = Field(1.0, ge=-10, le=10, description="a number from -10 to 10")
    """Power of its length by which a text's log probability is divided in the search."""


# Keys of a config with several tasks alone.
OF_TASKS = ("tasks", "target", "sampling", "task_attention")


class TaskConfig(Section):
    """One of several tasks that share an encoder: its data and its head."""

    data: DatasetConfig | FilesConfig | TfdsConfig | TextConfig = Field(description="a section")
    head: Literal[HEAD_NAMES] = Field("default", description=", ".join(HEAD_NAMES))
    """Task-specific model; default: that of the paper for the task, the encoder and the
    adaptation."""
    head_dropout: float | None = HeadDropout
    head_units: int | None = whole(1, WIDEST, ", or null for the published width", default=None)
    """Hidden size of the head's LSTMs, per direction."""
    head_pooling: Literal[POOLING_NAMES] | None = HeadPooling
    head_word_pieces: Literal[POOLING_NAMES] | None = HeadWordPieces
    head_mixed: bool | None = HeadMixed
    head_scaled: bool | None = HeadScaled
    weight: float = Field(1.0, gt=0, description="a number above 0")
    """Factor of the task's loss."""


class Config(Section):
    """Everything that one run depends on."""

    about: About | None = Field(None, description="a section with summary, expected and minutes")
    objective: Literal["task", "language_model"] = Field(
        "task", description="task or language_model"
    )
    """Training objective: the task, or language modelling."""
    # None with several tasks only: see `of_task`.
    data: DatasetConfig | FilesConfig | TfdsConfig | TextConfig | None = Field(
        None, description="a section"
    )
    tasks: dict[str, TaskConfig] | None = Field(
        None, description="a section with one for each task, in place of data and head, or null"
    )
    """Several tasks that are trained together on one encoder, by name."""
    target: str | None = Field(None, description="the name of one of the tasks, or null")
    """The task whose score on dev selects the epoch."""
    sampling: Literal[SAMPLINGS] | None = Field(
        None, description=f"{', '.join(SAMPLINGS)} (with tasks only), or null for proportional"
    )
    """How often a step trains each task: in proportion to its number of examples n, to its square
    root, equally often, or annealed from n to n^0.2 over the epochs."""
    task_attention: int | None = whole(1, WIDEST, " (with tasks only), or null", default=None)
    """Width of the projected attention layers that each task has for itself in the encoder (BERT);
    204 is the published one for BERT-base."""
    encoder: EncoderConfig = Field(description="a section")
    head: Literal[HEAD_NAMES] = Field("default", description=", ".join(HEAD_NAMES))
    """Task-specific model; default: that of the paper for the task, the encoder and the
    adaptation."""
    head_dropout: float | None = HeadDropout
    head_units: int | None = whole(1, WIDEST, ", or null for the published width", default=None)
    """Hidden size of the head's LSTMs, per direction."""
    head_pooling: Literal[POOLING_NAMES] | None = HeadPooling
    head_word_pieces: Literal[POOLING_NAMES] | None = HeadWordPieces
    head_mixed: bool | None = HeadMixed
    head_scaled: bool | None = HeadScaled
    generation: GenerationConfig | None = Field(None, description="a section, or null")
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
    training: TrainingConfig = Field(TrainingConfig(), description="a section")
    features: FeaturesConfig = Field(FeaturesConfig(), description="a section")
    slices: dict[str, SliceConfig] = Field({}, description="a section that maps names to slices")
    """Parts of the data that are scored by themselves; of several tasks those of the target."""
    slice_heads: bool = Field(False, description="true or false")
    """Train a head for each slice on its members, beside the one that predicts."""

    def of_task(self, name: str) -> "Config":
        """The config of one of several tasks alone, with its data and its head; slices are those of
        the target."""
        section = self.tasks[name]
        values = {key: value for key, value in section if key != "weight"}
        values |= {} if name == self.target else {"slices": {}}
        return self.model_copy(update=values | dict.fromkeys(OF_TASKS))

    @property
    def reading_of_head(self) -> dict[str, Any]:
        """What is given of `tf_adapt.heads.reading.reading`."""
        return {
            "name": self.head,
            "pooling": self.head_pooling,
            "mixed": self.head_mixed,
            "scaled": self.head_scaled,
        }
