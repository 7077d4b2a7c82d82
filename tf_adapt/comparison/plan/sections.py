"""The keys of the section `compare`, with types, ranges, defaults and descriptions.

`tf_adapt.comparison.plan.settings` builds cells from them. Imports no TensorFlow.
"""

from typing import Any, Literal

from pydantic import Field

from hub_modules.pooling_names import POOLING_NAMES
from tf_adapt.comparison.plan.sizes import SIZES
from tf_adapt.comparison.search.section import SearchSection
from tf_adapt.config.fields import MOST_EXAMPLES, MOST_FOLDS, WIDEST, Section, whole
from tf_adapt.config.sections import (
    EncoderConfig,
    HeadDropout,
    HeadMixed,
    HeadPooling,
    HeadScaled,
    HeadWordPieces,
    TaskConfig,
)
from tf_adapt.config.signal_sections import AuxiliaryConfig, StartConfig, TeacherConfig, WeakConfig
from tf_adapt.config.training_sections import (
    AdaptationConfig,
    AdaptationName,
    OptimizerConfig,
    PenaltiesConfig,
    ScheduleConfig,
    TrainingConfig,
)
from tf_adapt.data.task_sampling import SAMPLINGS
from tf_adapt.heads.names import HEAD_NAMES

# Keys of a run's config → the keys of the section `compare` that set them for every cell.
VARIED = {
    ("encoder",): "encoders",
    ("adaptation",): "adaptations",
    ("head",): "heads",
    ("head_units",): "head_units",
    ("training", "learning_rate"): "learning_rates",
    ("training", "seed"): "seeds",
}
# `training.epochs` is the default of `compare.epochs`; it is not allowed in `settings`.
VARIED_IN_SIGNALS = {key: home for key, home in VARIED.items() if key != ("encoder",)}
VARIED_IN_MEMBERS = {("training", "seed"): "seeds"}
VARIED_IN_SETTINGS = VARIED | {("training", "epochs"): "epochs"}
Rates = dict[str, list[float]]
_RATES = "a list of numbers, or a section of such lists by adaptation and `default`"


class EncoderEntry(EncoderConfig):
    """An encoder, and the learning rates to try with it."""

    learning_rates: Rates | None = Field(None, description=_RATES)
    """Learning rates to try with this encoder."""


class TrainingSettings(TrainingConfig):
    """Keys of `training`, but those that `compare` says for every cell; all may be missing."""

    epochs: int = 1
    batch_size: int = whole(1, MOST_EXAMPLES, default=1)
    learning_rate: float = 1.0


class CellSettings(Section):
    """Keys of a run's config that are laid over the shared ones in the cells of an adaptation."""

    head_dropout: float | None = HeadDropout
    head_pooling: Literal[POOLING_NAMES] | None = HeadPooling
    head_word_pieces: Literal[POOLING_NAMES] | None = HeadWordPieces
    head_mixed: bool | None = HeadMixed
    head_scaled: bool | None = HeadScaled
    optimizer: OptimizerConfig = Field(OptimizerConfig(), description="a section")
    schedule: ScheduleConfig = Field(ScheduleConfig(), description="a section")
    auxiliary: AuxiliaryConfig = Field(AuxiliaryConfig(), description="a section")
    penalties: PenaltiesConfig = Field(PenaltiesConfig(), description="a section")
    training: TrainingSettings = Field(TrainingSettings(), description="a section")


class EncoderSettings(EncoderConfig):
    """Keys of an encoder; all may be missing."""

    handle: str = ""


class MemberTraining(TrainingConfig):
    """Keys of `training`, but the seed; all may be missing."""


class MemberSettings(CellSettings):
    """What a member of an ensemble has of its own: keys of a run's config; none: its seed alone."""

    encoder: EncoderSettings = Field(EncoderSettings(), description="a section")
    start: StartConfig | None = Field(None, description="a section with run, or null")
    training: MemberTraining = Field(MemberTraining(), description="a section")


class SignalTraining(TrainingSettings):
    """As `TrainingSettings`; its epochs are those of the cells with a signal."""


class SignalTeacher(TeacherConfig):
    """A teacher, which may be the runs of another signal: for each seed the one with that seed."""

    run: str | None = Field(
        None, description="the folder of a finished run or an ensemble, or null with signal"
    )
    """The run that answers."""
    signal: str | None = Field(
        None, description="the name of another signal, whose runs answer, or null with run"
    )
    """The signal whose runs answer, for each seed the one with that seed."""


class SignalSettings(CellSettings):
    """Keys of a run's config that are laid over all others in the cells with a signal.

    `tasks` are the further ones; the comparison's own data and head become the task `target`.
    """

    adaptations: list[AdaptationName] | None = Field(
        None, min_length=1, description="a list of names of adaptations, or null for all of them"
    )
    """The adaptations whose cells have the signal; null: all."""
    encoders: list[str] | None = Field(
        None, min_length=1, description="a list of handles of encoders, or null for all of them"
    )
    """The encoders, by handle, whose cells have the signal; null: all."""
    encoder: EncoderSettings = Field(EncoderSettings(), description="a section")
    start: StartConfig | None = Field(None, description="a section, or null")
    teacher: SignalTeacher | None = Field(None, description="a section, or null")
    weak: WeakConfig | None = Field(None, description="a section, or null")
    slice_heads: bool = Field(False, description="true or false")
    """Train a head for each slice on its members, beside the one that predicts."""
    tasks: dict[str, TaskConfig] | None = Field(
        None, min_length=1, description="a section with one for each further task, or null"
    )
    """Further tasks that are trained together with the comparison's own, by name."""
    target: str | None = Field(
        None, description="a name for the comparison's own task (with tasks only), or null"
    )
    """The name of the comparison's own task among them."""
    sampling: Literal[SAMPLINGS] | None = Field(
        None, description=f"{', '.join(SAMPLINGS)} (with tasks only), or null for proportional"
    )
    """How often a step trains each task: in proportion to its number of examples n, to its square
    root, equally often, or annealed from n to n^0.2 over the epochs."""
    task_attention: int | None = whole(1, WIDEST, " (with tasks only), or null", default=None)
    """Width of the projected attention layers that each task has for itself in the encoder (BERT);
    204 is the published one for BERT-base."""
    ensemble: int | None = whole(2, 100, ", or null for one training", default=None)
    """How many trainings, with seeds of their own, answer together for each seed."""
    leave_out_parts: int | None = whole(2, MOST_FOLDS, ", or null for all of train", default=None)
    """As ensemble, but each of them leaves out another of so many parts of train."""
    members: list[MemberSettings] | None = Field(
        None, min_length=2, max_length=100, description="a list of sections, or null"
    )
    """As ensemble, but each of its trainings has keys of its own (encoder, training, start, …)."""
    combine: Literal["probabilities", "votes", "weights"] | None = Field(
        None, description="probabilities, votes or weights (with an ensemble only), or null"
    )
    """What is averaged of them (default probabilities); weights: members have one seed where they
    differ in other keys."""
    training: SignalTraining = Field(SignalTraining(), description="a section")

    @property
    def together(self) -> int:
        """The size of the ensemble that is trained for each seed; 0: a single model."""
        return self.ensemble or self.leave_out_parts or len(self.members or ())

    def of_a_run(self) -> dict[str, Any]:
        """The given keys that are those of a run's config, as plain values; a signal that teaches
        is in the place of `run`."""
        not_of_a_run = {
            "adaptations",
            "encoders",
            "combine",
            "ensemble",
            "leave_out_parts",
            "members",
        }
        keys = self.model_dump(exclude_unset=True, exclude=not_of_a_run)
        if self.teacher is not None:
            signal = keys["teacher"].pop("signal", None)
            keys["teacher"] |= {} if signal is None else {"run": signal}
        return keys


class Compare(Section):
    """What a comparison varies, and how it runs."""

    encoders: list[EncoderEntry] = Field(
        min_length=1, description="a list of handles, or of sections with a handle"
    )
    """The encoders to compare."""
    adaptations: list[AdaptationConfig] = Field(
        min_length=1, description="a list of names, or of sections with a name"
    )
    """The adaptations to compare."""
    heads: list[str] | None = Field(
        None,
        min_length=1,
        description=f"a list of some of {', '.join(HEAD_NAMES)}; or null for default, and beside "
        "it a linear head on an encoder that stays frozen",
    )
    """The heads to compare."""
    learning_rates: Rates | None = Field(None, description=_RATES)
    """Learning rates to try, as many in every cell; null: the built-in ones."""
    search: SearchSection | None = Field(None, description="a section, or null")
    """A search for the setting of each cell, in place of learning_rates and extend ([search])."""
    epochs: dict[str, int] | None = Field(
        None,
        description="a section of whole numbers by adaptation and `default`, or null for "
        "training.epochs in every cell",
    )
    """Epochs by adaptation."""
    head_units: dict[str, int] | None = Field(
        None,
        description="a section of widths by head or adaptation, or null for the published ones",
    )
    """Hidden size of the heads' LSTMs, per direction."""
    settings: dict[str, CellSettings] = Field(
        {}, description="a section by adaptation and `default` of sections of a run's config"
    )
    """Keys of a run that differ between cells."""
    signals: dict[str, SignalSettings] = Field(
        {}, description="a section by name of sections of a run's config, {} for the labels alone"
    )
    """What the cells learn from beside the labels, by name: keys of a run that are laid over the
    others; {} is the labels alone."""
    train_examples: list[Any] | None = Field(
        None, min_length=1, description=f"{SIZES}, or null for all of train"
    )
    """Training-set sizes, for learning curves."""
    score_on: Literal["test", "dev"] = Field("test", description="test or dev")
    """The split that is scored; dev: a part of train is used for selection, and test is not
    read."""
    extend: bool = Field(True, description="true or false")
    """Train further by itself, once, where a cell is not trained to the end: twice the epochs, or
    the next learning rate beyond the best, for all cells of its adaptation."""
    folds: int | None = whole(0, MOST_FOLDS, "; 0 and 1 for one split; or null", default=None)
    """Folds of a cross-validation: each example is scored once a repeat, by a model that did not
    see it. Null: 5 where there is neither a dev nor a test file and fewer than 2,000 examples."""
    seeds: int | None = whole(1, 1000, ", or null: 5, with folds 2", default=None)
    """Random seeds per cell; with folds, repeats with other folds and other seeds."""
    threads: int = whole(1, 1024, default=1)
    """Threads per run; results depend on them in the last bits."""
