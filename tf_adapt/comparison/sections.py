"""The keys of the section `compare`, with types, ranges, defaults and descriptions.

How they become cells is in `tf_adapt.comparison.settings`. Imports no TensorFlow.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tf_adapt.config_sections import (
    HEAD_NAMES,
    AdaptationConfig,
    AuxiliaryConfig,
    EncoderConfig,
    HeadDropout,
    OptimizerConfig,
    PenaltiesConfig,
    ScheduleConfig,
    TrainingConfig,
)

# Keys of a run's config, and those of the section `compare` that say them for every cell.
VARIED = {
    ("encoder",): "encoders",
    ("adaptation",): "adaptations",
    ("head",): "heads",
    ("head_units",): "head_units",
    ("training", "learning_rate"): "learning_rates",
    ("training", "seed"): "seeds",
}
# `training.epochs` of a comparison is what `compare.epochs` does not say; settings have none.
VARIED_IN_SETTINGS = VARIED | {("training", "epochs"): "epochs"}
Rates = dict[str, list[float]]
_RATES = "a list of numbers, or a section of such lists by adaptation and `default`"


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class EncoderEntry(EncoderConfig):
    """An encoder, and the learning rates to try with it."""

    learning_rates: Rates | None = Field(None, description=_RATES)


class _TrainingSettings(TrainingConfig):
    """What a run's config has to say need not be said again; `VARIED_IN_SETTINGS` is refused."""

    epochs: int = 1
    batch_size: int = Field(1, ge=1, description="a whole number of at least 1")
    learning_rate: float = 1.0


class CellSettings(_Section):
    """Keys of a run's config that are laid over the shared ones in the cells of an adaptation."""

    head_dropout: float | None = HeadDropout
    optimizer: OptimizerConfig = Field(OptimizerConfig(), description="a section")
    schedule: ScheduleConfig = Field(ScheduleConfig(), description="a section")
    auxiliary: AuxiliaryConfig = Field(AuxiliaryConfig(), description="a section")
    penalties: PenaltiesConfig = Field(PenaltiesConfig(), description="a section")
    training: _TrainingSettings = Field(_TrainingSettings(), description="a section")


class Compare(_Section):
    """What a comparison varies, and how it runs."""

    encoders: list[EncoderEntry] = Field(
        min_length=1, description="a list of handles, or of sections with a handle"
    )
    adaptations: list[AdaptationConfig] = Field(
        min_length=1, description="a list of names, or of sections with a name"
    )
    heads: list[str] = Field(
        ["default"], min_length=1, description=f"a list of some of {', '.join(HEAD_NAMES)}"
    )
    learning_rates: Rates | None = Field(None, description=_RATES)
    epochs: dict[str, int] | None = Field(
        None,
        description="a section of whole numbers by adaptation and `default`, or null for "
        "training.epochs in every cell",
    )
    head_units: dict[str, int] | None = Field(
        None,
        description="a section of widths by head or adaptation, or null for the published ones",
    )
    settings: dict[str, CellSettings] = Field(
        {}, description="a section by adaptation and `default` of sections of a run's config"
    )
    score_on: Literal["test", "dev"] = Field("test", description="test or dev")
    seeds: int = Field(3, ge=1, le=1000, description="a whole number of at least 1")
    threads: int = Field(1, ge=1, le=1024, description="a whole number of at least 1")
