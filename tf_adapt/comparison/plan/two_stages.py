"""How long both stages of `two_stage` are in a comparison. Imports no TensorFlow."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tf_adapt.adaptation.adaptations import two_stage
from tf_adapt.paper import FROZEN, TUNED

TWO_STAGE = two_stage.__name__


def with_whole_stages(
    content: dict[str, Any],
    epochs: Mapping[str, int],
    rates: Sequence[float],
    frozen_rates: Sequence[float],
) -> dict[str, Any]:
    """The config of a cell in which each stage is a whole training, with a schedule of its own.

    The head trains for as many epochs as it does on a frozen encoder, and at as many times the
    rate; then everything for as many as in fine-tuning. A stage that is cut short would lose for
    that alone. Only of `two_stage` without keys, and without epochs of its own; else the config
    says how long it is.

    Args:
        content: plain values, with the epochs that cells of the adaptation have otherwise.
        epochs: `compare.epochs`.
        rates, frozen_rates: the learning rates of the cell, and those on a frozen encoder; the
            ratio of their medians is that of the stages.
    """
    training = content.get("training")
    is_plain = content["adaptation"] == {"name": TWO_STAGE} and TWO_STAGE not in epochs
    if not is_plain or not isinstance(training, dict) or not training.get("epochs"):
        return content
    if not rates or not frozen_rates:
        return content
    schedule = {"per_phase": True} | (content.get("schedule") or {})
    ratio = float(f"{median(frozen_rates) / median(rates):.1e}")
    head, joint = (epochs.get(name, training["epochs"]) for name in (FROZEN, TUNED))
    return content | {
        "adaptation": content["adaptation"] | {"head_epochs": head},
        "training": training | {"epochs": head + joint},
        "schedule": {"first_phase": ratio if schedule["per_phase"] else 1.0} | schedule,
    }
