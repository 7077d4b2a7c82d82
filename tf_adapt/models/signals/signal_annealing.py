"""Training signal annealing: the gradual release of labelled examples."""

from dataclasses import dataclass

from keras import ops

from tf_adapt.errors import ConfigError
from tf_adapt.layers.global_mean import global_mean
from tf_adapt.models.kinds import KINDS
from tf_adapt.tasks.task import Task

RELEASES = ("linear", "exp", "log")


@dataclass(frozen=True)
class SignalAnnealing:
    """The loss of the labelled examples that a model is not yet sure of.

    An example (in tagging a word) counts while the probability of its label is not above
    `η = s · (1 − 1/K) + 1/K`, K the number of labels; with `t = step / steps`, s is t (linear),
    `e^{5(t − 1)}` (exp) or `1 − e^{−5t}` (log). The loss is the mean cross-entropy of the examples
    of the global batch that count, 0 if none does. Which count has no gradient.

    Args:
        task: with one label of several for each example or word.
        release: "linear", "exp" or "log".
        steps: of the whole training, above 0.

    Raises:
        ConfigError: the task has other labels, or a value is out of its range.

    Source: Xie et al. 2019, "Unsupervised Data Augmentation for Consistency Training", section
    2.3 and its program, which divides by the number of examples that count.
    """

    task: Task
    release: str
    steps: int

    def __post_init__(self):
        if "signal_annealing" not in KINDS[self.task.kind].options:
            raise ConfigError(
                "signal_annealing: expected a task with one label of several, got "
                f"{self.task.kind}; leave it out"
            )
        if self.release not in RELEASES:
            raise ConfigError(
                f"signal_annealing: expected one of {', '.join(RELEASES)}, got {self.release!r}"
            )
        if not self.steps > 0:
            raise ConfigError(f"signal_annealing steps: expected at least 1, got {self.steps!r}")

    def threshold(self, step):
        """η at a training step from 0; 1 from the last on."""
        done = ops.minimum(ops.cast(step, "float32") / self.steps, 1.0)
        match self.release:
            case "linear":
                share = done
            case "exp":
                share = ops.exp(5.0 * (done - 1.0))
            case _:
                share = 1.0 - ops.exp(-5.0 * done)
        lowest = 1.0 / self.task.num_outputs
        return share * (1.0 - lowest) + lowest

    def loss(self, targets, logits, step):
        """The loss at a training step from 0: this replica's share of the global mean.

        Shapes: targets `[…]`, −1 at padding, logits `[…, labels]` → scalar.
        """
        logits = ops.cast(logits, "float32")
        targets = ops.reshape(ops.cast(targets, "int32"), ops.shape(logits)[:-1])
        real = targets >= 0
        logits = ops.where(real[..., None], logits, 0.0)
        losses = ops.sparse_categorical_crossentropy(
            ops.maximum(targets, 0), logits, from_logits=True
        )
        # The probability of the label is e to the minus of its loss.
        counts = ops.stop_gradient(ops.exp(-losses)) <= self.threshold(step)
        return global_mean(losses, ops.logical_and(real, counts))
