"""The measured costs of a training step and a forward pass. Imports no TensorFlow."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MeasuredCosts:
    """CPU seconds (with a GPU: seconds) and memory of one process.

    Attributes:
        tracing: what the first step and the first pass take more than later ones.
        step: a training step.
        evaluation: an example in evaluation, from kept features where there are any.
        features: an example through a frozen encoder whose outputs are kept, once for all runs; 0
            where they are not.
        serving: an example from prepared text to prediction.
        memory_mb: the peak.
    """

    tracing: float
    step: float
    evaluation: float
    features: float
    serving: float
    memory_mb: float
