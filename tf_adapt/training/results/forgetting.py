"""What a run has forgotten: the loss of its module's source task before and after adaptation."""

import math
from dataclasses import dataclass
from typing import Any

from hub_modules.native.added.settings import Lora
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.config.sections import EncoderConfig
from tf_adapt.config.signal_sections import ForgettingConfig
from tf_adapt.data.batches import PreparedData, prepare
from tf_adapt.data.running_text import read_running_text
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.starting_point import relative_distances
from tf_adapt.errors import TrainingError
from tf_adapt.models.language_objectives import OBJECTIVES
from tf_adapt.models.source_task import check_source_task, source_loss
from tf_adapt.tasks.task import Task
from tf_adapt.training.resolving.compiled_model import configured_encoder


@dataclass(frozen=True)
class SourceTask:
    """The held-out text on which a run's source task is measured.

    Attributes:
        text: cut at the encoder's own limit, whatever the run's, so that runs are comparable.
    """

    section: EncoderConfig
    adaptation: Adaptation
    text: PreparedData

    def measured(self, encoder: HubEncoder) -> dict[str, Any]:
        """`run_schemas.Forgetting` of an adapted encoder, as plain values.

        Both losses are computed in float32 and on one device, in encoders of their own. Where no
        weight has moved, the loss is computed once.

        Raises:
            TrainingError: a loss is not finite.
        """
        pretrained = configured_encoder(self.section, trainable=False)
        adapted = configured_encoder(self.section, self.adaptation.trains_encoder)
        if self.adaptation.added is not None:
            adapted.add(self.adaptation.added)
        for weight, trained in zip(adapted.weights, encoder.weights, strict=True):
            weight.assign(trained.numpy())
        distances = relative_distances(adapted, pretrained)
        before, targets = source_loss(pretrained, self.text)
        del pretrained
        same = isinstance(adapted.added_weights, Lora | None) and not any(distances.values())
        after = before if same else source_loss(adapted, self.text)[0]
        _check_finite(before, after)
        return {
            "task": OBJECTIVES[adapted.family].name,
            "before": before,
            "after": after,
            "distances": distances,
            "texts": len(self.text.lengths),
            "targets": targets,
            "truncated": self.text.truncated,
        }


def source_task_of(
    forgetting: ForgettingConfig | None,
    section: EncoderConfig,
    adaptation: Adaptation,
    encoder: HubEncoder,
) -> SourceTask | None:
    """What the source task of a run is measured on; None without `forgetting`.

    Args:
        section, adaptation: of the run, whose encoder this is.

    Raises:
        ConfigError: as `check_source_task`.
        DataError: the text cannot be read, or has none.
    """
    if forgetting is None:
        return None
    check_source_task(encoder, "forgetting")
    texts = read_running_text([forgetting.text]).paragraphs
    text = prepare(texts, Task("language_model"), encoder, truncate=True)
    return SourceTask(section, adaptation, text)


def _check_finite(*losses: float) -> None:
    if not all(map(math.isfinite, losses)):
        raise TrainingError(
            "forgetting: expected a finite loss of the source task, got one that is not; lower "
            "training.learning_rate"
        )
