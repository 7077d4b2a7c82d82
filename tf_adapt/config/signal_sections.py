"""The keys of a config that say what a run learns from beside the labels, and its slices.

Imports no TensorFlow.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from tf_adapt.config.fields import VERY_MANY, Section, whole
from tf_adapt.data.limits import MOST_TOKENS
from tf_adapt.data.perturbed_words import PERTURBATIONS
from tf_adapt.data.votes import AGGREGATES

PERTURBATION_NAMES = tuple(name for name in PERTURBATIONS if name != "paraphrases")


class AuxiliaryLossConfig(Section):
    """An auxiliary loss, its weight constant or annealed exponentially to another."""

    weight: float = Field(gt=0, description="a number above 0")
    """Weight of the auxiliary loss."""
    final_weight: float | None = Field(None, gt=0, description="a number above 0, or null")
    """Its weight after anneal_steps."""
    anneal_steps: int | None = whole(1, VERY_MANY, ", or null", default=None)
    """Steps of the exponential annealing."""


def _as_perturbation(given: Any) -> Any:
    return {"name": given} if isinstance(given, str) else given


class PerturbationConfig(Section):
    """What takes the place of an unlabelled text in the second pass: a name, or a file."""

    PATHS: ClassVar = ("file",)
    name: Literal[PERTURBATION_NAMES] | None = Field(
        None, description=f"{', '.join(PERTURBATION_NAMES)}, or null with a file"
    )
    """Another draw of dropout; masked pieces; noise on the embeddings; words dropped or swapped
    with the next one; the change of the embeddings that changes the prediction most; in tagging
    with a tuned ELMo, predictions from the words on one side alone (cross-view training)."""
    file: str | None = Field(None, description="the path of a file of paraphrases, or null")
    """Paraphrases, a TSV file with the columns text and paraphrase."""
    rate: float | None = Field(
        None, gt=0, lt=1, description="a number between 0 and 1, or null (mask, words)"
    )
    """Share of masked pieces (default 0.15) or changed words (default 0.1)."""
    epsilon: float | None = Field(
        None, gt=0, description="a number above 0, or null (noise, adversarial)"
    )
    """Size of the change, relative to the norm of the embeddings (adversarial 0.02, noise 0.1)."""


class ConsistencyConfig(AuxiliaryLossConfig):
    """Consistency of the predictions on unlabelled texts and on their perturbations."""

    PATHS: ClassVar = ("unlabelled",)
    weight: float = Field(1.0, ge=0, description="a number of at least 0")
    """Weight of the consistency loss."""
    unlabelled: str = Field(description="the path of a file")
    """Texts in the format of the data without labels, as many in each step as labelled examples."""
    perturbation: Annotated[PerturbationConfig, BeforeValidator(_as_perturbation)] = Field(
        description=f"one of {', '.join(PERTURBATION_NAMES)}, or a section with one and its keys, "
        "or with a file"
    )
    """What the prediction on a text is compared with: that on its perturbation."""
    confidence: float | None = Field(
        None, gt=0, lt=1, description="a number between 0 and 1, or null"
    )
    """Texts whose most probable label is not above it do not count."""
    temperature: float | None = Field(None, gt=0, description="a number above 0, or null")
    """The logits of a text itself are divided by it; below 1 sharpens them."""
    signal_annealing: Literal["linear", "exp", "log"] | None = Field(
        None, description="linear, exp, log, or null"
    )
    """Release of the labelled examples over the training: one counts while the probability of its
    label is below a threshold that rises to 1."""


class AuxiliaryConfig(Section):
    """Auxiliary losses beside the task's."""

    language_model: AuxiliaryLossConfig | None = Field(None, description="a section, or null")
    distillation: AuxiliaryLossConfig | None = Field(None, description="a section, or null")
    consistency: ConsistencyConfig | None = Field(None, description="a section, or null")


class SliceConfig(Section):
    """A slice of the data: the examples that fulfil all of its rules.

    Words and places are those of `tf_adapt.data.slices`.
    """

    PATHS: ClassVar = ("wrong_in", "file")
    words: list[str] | None = Field(None, min_length=1, description="a list of words, or null")
    """Examples with one of these words in either text."""
    longer_than: int | None = whole(1, MOST_TOKENS, ", or null", default=None)
    """Examples with more words than that in either text."""
    word_overlap_above: float | None = Field(
        None, ge=0, lt=1, description="a number from 0 to below 1, or null"
    )
    """Pairs whose words overlap more: those of both texts by those of either, each word once
    (Jaccard)."""
    wrong_in: str | None = Field(None, description="the folder of a finished run, or null")
    """Examples that this run predicted wrongly."""
    file: str | None = Field(None, description="the path of a file, or null")
    """Examples listed in a file by their places, FILE:LINE, one a line."""


class StartConfig(Section):
    """A run whose best weights this run begins from, an intermediate task (STILTs): a finished
    one, or one that is trained first."""

    PATHS: ClassVar = ("run", "config")
    run: str | None = Field(
        None, description="the folder of a finished run on the same module, or null with config"
    )
    """The run that encoder and head begin from."""
    config: str | None = Field(
        None, description="the config of a run that is trained first, or null with run"
    )
    """The config of a run that is trained first, with its own seed, and begun from."""
    head: bool = Field(True, description="true or false")
    """Begin from its head too, where kind and labels of both tasks are equal; false: a new head."""

    @property
    def key(self) -> str:
        """The path of the key that names the run."""
        return "start.run" if self.config is None else "start.config"

    @property
    def place(self) -> str:
        """The folder, or the config."""
        return self.run if self.config is None else self.config


class TeacherConfig(Section):
    """A finished run or an ensemble whose answers are learned beside the labels (distillation)."""

    PATHS: ClassVar = ("run", "unlabelled")
    run: str = Field(description="the folder of a finished run or an ensemble with the same labels")
    """The run that answers."""
    temperature: float = Field(2.0, gt=0, description="a number above 0")
    """Logits of teacher and student are divided by it (not for regression)."""
    weight: float = Field(0.5, gt=0, le=1, description="a number above 0, up to 1")
    """Weight of the teacher's answers; the labels have the rest to 1."""
    unlabelled: str | None = Field(None, description="the path of a file, or null")
    """Further texts, in the format of the data without labels, which train with the teacher's
    answers alone."""


class ForgettingConfig(Section):
    """The loss of the module's own task, a language model, measured again after adaptation."""

    PATHS: ClassVar = ("text",)
    text: str = Field(description="the path of a file of held-out text")
    """Running text that neither the module nor this run learned from, one paragraph a line (.gz is
    unpacked)."""


class WeakConfig(Section):
    """Training labels from several noisy sources, in place of those of train.

    The file is that of `tf_adapt.data.votes`.
    """

    PATHS: ClassVar = ("votes",)
    votes: str = Field(description="the path of a file")
    """Labels of train from several sources: a column for each, a row for each example."""
    aggregate: Literal[AGGREGATES] = Field("dawid_skene", description=" or ".join(AGGREGATES))
    """How they become one: Dawid and Skene's model of the sources, or the majority."""
