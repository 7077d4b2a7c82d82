"""What a finished run recorded, as far as symptoms read it. Imports no TensorFlow."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tf_adapt.comparison.baseline import baseline_of, gold_labels
from tf_adapt.comparison.diagnosis.texts import (
    LabelCheck,
    domain_auc,
    label_check,
    suspicious_labels,
)
from tf_adapt.comparison.kinds import KINDS
from tf_adapt.config.default_training import default_rates
from tf_adapt.config.sections import Config
from tf_adapt.data.splits.groups import item_groups
from tf_adapt.data.splits.read_splits import Splits, load_splits
from tf_adapt.errors import ConfigError
from tf_adapt.report.scored_cells import Trial
from tf_adapt.runs import run_folder
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.statistics.metrics import METRICS
from tf_adapt.statistics.scores import item_statistics, of_groups, pseudo_values
from tf_adapt.training.resolving import run_config

CHOSEN_ON = "dev"


@dataclass(frozen=True)
class Evidence:
    """A finished run.

    Attributes:
        tried: the learning rates that a comparison tried in its cell.
    """

    folder: Path
    config: Config
    metrics: dict[str, Any]
    splits: Splits
    tried: tuple[Trial, ...] = ()

    @property
    def score(self) -> float:
        """Its score on dev; 0 where it is undefined."""
        return self.metrics[CHOSEN_ON][self.metrics["metric"]] or 0.0

    @property
    def point(self) -> float:
        """See `tf_adapt.statistics.metrics.Metric`."""
        return METRICS[self.metrics["metric"]].point

    @property
    def rate(self) -> float:
        """Its learning rate."""
        return self.config.training.learning_rate

    @property
    def steps(self) -> int:
        """Its training steps."""
        batches = -(-len(self.splits.examples["train"]) // self.config.training.batch_size)
        return self.metrics["epochs"] * batches

    @property
    def is_frozen(self) -> bool:
        """Whether no weight of the encoder was trained."""
        return not self.config.adaptation.trains_encoder

    @cached_property
    def rates(self) -> list[float]:
        """The default learning rates of its encoder, adaptation and head, ascending."""
        config = self.config
        return sorted(default_rates(config.encoder.handle, config.adaptation.name, config.head))

    @cached_property
    def baseline(self) -> float:
        """The score on dev of a constant answer."""
        return baseline_of(self.splits, self.metrics["metric"], CHOSEN_ON, CHOSEN_ON).scores[
            CHOSEN_ON
        ]

    @cached_property
    def losses(self) -> list[float]:
        """The mean training loss of each epoch."""
        return self._column("loss")

    @cached_property
    def curve(self) -> list[float]:
        """The score on dev after each epoch."""
        return self._column(f"{CHOSEN_ON}_{self.metrics['metric']}")

    @cached_property
    def encoder_gradient(self) -> float:
        """The encoder's share of the gradient at the end, 1 where it is not known."""
        return ([1.0] + self._column(run_folder.ENCODER_GRADIENT))[-1]

    @cached_property
    def one_answer(self) -> bool:
        """Whether it gives one answer to all of dev."""
        return len(set(KINDS[self.splits.kind].answers(predictions(self.folder, self.splits)))) < 2

    @cached_property
    def labels(self) -> LabelCheck:
        """What cross-validated answers say of the labels of train."""
        return label_check(self.splits.examples["train"], self.splits.examples[CHOSEN_ON])

    @cached_property
    def suspicious(self) -> np.ndarray:
        """Which labels of train are likely errors, `[examples] bool`."""
        return suspicious_labels(self.splits.examples["train"])

    @cached_property
    def domain_auc(self) -> tuple[float, float, float]:
        """How well train is told from test, with the interval."""
        return domain_auc(self.splits.examples["train"], self.splits.examples["test"])

    def values(self, folder: Path) -> np.ndarray:
        """The jackknife pseudo-values of the score on dev of a run with this dev, `[items]`."""
        splits = self.splits
        statistics = item_statistics(
            self.metrics["metric"],
            predictions(folder, splits),
            gold_labels(splits, CHOSEN_ON),
            splits.labels,
            splits.scheme,
        )
        groups = item_groups(splits.examples[CHOSEN_ON])
        return pseudo_values(self.metrics["metric"], of_groups(statistics, groups))

    def _column(self, name: str) -> list[float]:
        rows = run_folder.read_history(self.folder)
        return [float(row[name]) for row in rows if row.get(name)]


def evidence_of(folder: Path, tried: tuple[Trial, ...] = ()) -> Evidence:
    """What a finished run recorded.

    Raises:
        ConfigError: it is not finished, or of several tasks, or a language model's.
        ArtifactError: it is damaged.
        DataError: its data cannot be read.
    """
    is_run = (folder / run_folder.CONFIG).is_file()
    config = run_config.saved_config(folder) if is_run else None
    metrics = run_folder.finished_metrics(folder)
    if config is None or metrics is None:
        raise ConfigError(
            f"{folder}: expected the folder of a finished run or of a comparison, got one without "
            f"{run_folder.METRICS}; give the command that started it again, until its end"
        )
    if config.tasks is not None or config.objective != "task":
        raise ConfigError(
            f"{folder}: expected the run of one task, got one of "
            f"{'a language model' if config.tasks is None else 'several'}; train the task alone"
        )
    return Evidence(folder, config, metrics, load_splits(config.data, config.weak), tried)


def predictions(folder: Path, splits: Splits) -> list:
    """The answers of a run on dev."""
    return read_predictions(folder, CHOSEN_ON, splits.kind)
