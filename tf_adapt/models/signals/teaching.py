"""Distillation from a teacher: the loss of a student's outputs against a teacher's answers."""

from dataclasses import dataclass

from keras import ops

from tf_adapt.data.packing.prepared import LABELLED, TEACHER
from tf_adapt.errors import ConfigError
from tf_adapt.models.kinds import KINDS
from tf_adapt.tasks.losses import global_mean
from tf_adapt.tasks.task import Task


@dataclass(frozen=True)
class Teaching:
    """A student's loss where each example has a teacher's answer.

    An example with a label: `w · S + (1 − w) · L`, with L its task's loss; one without: `w · S`.
    The loss is the mean over all examples of the global batch (tagging: over all words), whether
    they have a label or not. With z_t the teacher's and z_s the student's logits and T the
    temperature, S is

    - of one label of several, for tagging for each word: `T² · KL(softmax(z_t / T) ‖
      softmax(z_s / T))`;
    - of sets of labels: the same of each label's `[z, 0]`, averaged over the labels;
    - of numbers: `(score_t − score_s)²`; T is not used.

    T² makes up for the soft gradients' 1 / T².

    Args:
        temperature: T, above 0.
        weight: w, above 0 and at most 1; 1: the labels are not used.

    Raises:
        ConfigError: a value is out of its range.

    Source: Hinton, Vinyals, Dean 2015, "Distilling the Knowledge in a Neural Network", section 2.
    """

    task: Task
    temperature: float = 2.0
    weight: float = 0.5

    def __post_init__(self):
        if not self.temperature > 0:
            raise ConfigError(
                f"teacher.temperature: expected a number above 0, got {self.temperature!r}"
            )
        if not 0 < self.weight <= 1:
            raise ConfigError(
                f"teacher.weight: expected a number above 0, up to 1, got {self.weight!r}"
            )

    def soft_loss(self, inputs: dict, targets, outputs):
        """`w` times the mean of S over the global batch: this replica's share.

        Shapes: inputs with the teacher's answers (`TEACHER`), targets, outputs → scalar.
        """
        losses = soft_losses(self.task, inputs[TEACHER], outputs, self.temperature)
        real = KINDS[self.task.kind].real(losses, targets)
        return self.weight * global_mean(losses, real)

    def label_weights(self, inputs: dict, targets):
        """The weight of each example's own loss: 1 − w, 0 without a label. Shape: `[batch]`."""
        labelled = inputs.get(LABELLED)
        if labelled is None:
            labelled = ops.ones((ops.shape(targets)[0],), "float32")
        return (1.0 - self.weight) * labelled


def soft_losses(task: Task, answers, outputs, temperature: float):
    """S of each example or word, see `Teaching`; any number at a tagging's padding.

    Shapes: logits `[…, labels]`, of numbers scores `[batch]` → `[…]`, float32.
    """
    answers, outputs = ops.cast(answers, "float32"), ops.cast(outputs, "float32")
    return KINDS[task.kind].soft_losses(task, answers, outputs, temperature)
