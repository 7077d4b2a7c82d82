"""The temperature of a run's probabilities, chosen on its dev split."""

from dataclasses import replace

import numpy as np

from tf_adapt.data.packing.prepare import prepare
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.serving.prediction.predict import batch_predictions, to_predictions
from tf_adapt.statistics.temperature import best_temperature
from tf_adapt.tasks.task import Task
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving.reading import Reading
from tf_adapt.training.results.quality import quality


def calibrate(model: AdaptedModel, reading: Reading) -> str:
    """Gives a run's model the temperature that is best on dev; what the card says of it.

    Raises:
        ConfigError: the model does not choose among labels for a whole text.
        ConfigError, DataError: the data of the run cannot be read.
    """
    outcomes = KINDS[model.task.kind].outcomes
    if outcomes is None:
        raise ConfigError(
            f"calibrate: expected a run of a classifier of texts or pairs, got {model.task.kind}; "
            "leave it out"
        )
    dev = load_splits(reading.data, reading.weak).examples["dev"]
    prepared = prepare(dev, model.task, model.encoder, *reading.limits)
    answer = batch_predictions(model, prepared, reading.batch_size)
    probabilities, targets = outcomes(model.task, dev, answer)
    before = model.task
    model.task = at_temperature(before, best_temperature(probabilities, targets))
    after = batch_predictions(model, prepared, reading.batch_size)
    errors = [
        100 * quality(task, dev, to_predictions(task, dev, given))["calibration"]["ece"]
        for task, given in ((before, answer), (model.task, after))
    ]
    return (
        f"Temperature {model.task.temperature:.3f}, chosen on dev: it divides the logits, and "
        "changes no predicted label. Expected calibration error × 100 there: "
        f"{errors[0]:.1f} before, {errors[1]:.1f} with it."
    )


def at_temperature(task: Task, temperature: float) -> Task:
    """The task with a temperature; thresholds are moved with it, so that no prediction changes."""
    thresholds = task.thresholds
    if thresholds is not None:
        values = np.clip(np.array(thresholds), 1e-9, 1 - 1e-9)
        moved = 1 / (1 + ((1 - values) / values) ** (1 / temperature))
        thresholds = tuple(moved.tolist())
    return replace(task, temperature=temperature, thresholds=thresholds)
