"""Consistency on unlabelled data: the prediction on a text against that on its perturbation."""

import keras
from keras import ops

from hub_modules.families import FAMILIES
from tf_adapt.data.consistency_batches import PERTURBED, UNLABELLED, WORDS
from tf_adapt.data.perturbed_words import PERTURBATIONS
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.kinds import KINDS
from tf_adapt.models.signals.adversarial import EPSILON, NOISE, adversarial_perturbations, noise
from tf_adapt.models.signals.piece_masking import mask_pieces
from tf_adapt.models.signals.restricted_views import RestrictedViews
from tf_adapt.tasks.divergences import consistency_losses
from tf_adapt.tasks.task import Task

# Perturbations that are among the inputs.
OTHER_TEXTS = ("words", "paraphrases")
MASKED_SHARE = 0.15
# Relative length of a change of the embeddings, by perturbation.
EPSILONS = {"adversarial": EPSILON, "noise": NOISE}


def consistency_objective(
    task: Task,
    encoder: HubEncoder,
    perturbation: str = "dropout",
    temperature: float | None = None,
    confidence: float | None = None,
    masked: float = MASKED_SHARE,
    epsilon: float | None = None,
) -> "Consistency":
    """The objective of an `AuxiliaryLoss` on unlabelled texts, for `build_model`.

    The model trains on `consistency_batches` of the same perturbation.

    Args:
        perturbation: "dropout", "mask", "noise", "words", "adversarial", "paraphrases" or "views":
            see `Consistency`.
        temperature: divides the logits of the targets; below 1 it sharpens them; None: 1.
        confidence: texts whose largest probability is not above it do not count; None: all count.
        masked: "mask": the probability that a piece is masked.
        epsilon: "adversarial", "noise": the length of the perturbation, relative to the
            embeddings'; None: 0.02, 0.1.

    Raises:
        ConfigError: the task has no class probabilities, the encoder does not support the
            perturbation, or a value is out of its range.
    """
    possible = KINDS[task.kind].perturbations
    if not possible:
        raise ConfigError(
            "consistency: expected a classification or tagging, whose probabilities can be "
            f"compared, got {task.kind}; leave it out"
        )
    special = getattr(encoder.preprocessor, "special_token_ids", {})
    if perturbation == "mask" and "mask_id" not in special:
        raise ConfigError(
            f"consistency: expected an encoder with a mask piece for perturbation mask, got "
            f"module {encoder.handle} (family {encoder.family}), whose vocabulary has none; take "
            "another perturbation"
        )
    if perturbation in EPSILONS:
        _check_embeddings(encoder, perturbation)
    if perturbation in set(PERTURBATIONS) - set(possible):
        raise ConfigError(
            f"consistency: expected perturbation {', '.join(possible[:-1])} or {possible[-1]} for "
            f"{task.kind}, got {perturbation}"
        )
    width = None
    if perturbation == "views":
        _check_views(encoder)
        width = encoder.native.states_width
    return Consistency(
        task, perturbation, temperature, confidence, special, masked, epsilon, views_width=width
    )


def check_dropout(encoder: HubEncoder, head: keras.layers.Layer) -> None:
    """Checks that something differs between two predictions with perturbation "dropout".

    Args:
        head: one of ours, whose dropout is in Keras' layers.

    Raises:
        ConfigError: neither the head nor a trained part of the encoder has dropout.
    """
    # A frozen encoder runs in inference mode; what a program drops is not known.
    is_program = encoder.execution != "native" or not FAMILIES[encoder.family].has_words
    if _has_dropout(head) or (encoder.trainable and (is_program or _has_dropout(encoder))):
        return
    raise ConfigError(
        f"consistency: expected dropout in head or encoder for perturbation dropout, got the head "
        f"{type(head).__name__} without any on module {encoder.handle} (family {encoder.family}), "
        f"which {'has none' if encoder.trainable else 'is frozen'}: both predictions would be the "
        "same; set head_dropout, or take another perturbation"
    )


def _has_dropout(layer: keras.layers.Layer) -> bool:
    rates = ("rate", "word_dropout", "weight_dropout")  # of Keras' Dropout, and of AWD-LSTM
    return any(getattr(inner, name, 0) for inner in layer._flatten_layers() for name in rates)


def _check_embeddings(encoder: HubEncoder, perturbation: str) -> None:
    if encoder.execution != "native" or not FAMILIES[encoder.family].has_words:
        raise ConfigError(
            f"consistency: expected a native encoder for perturbation {perturbation}, whose "
            f"embeddings can be changed, got module {encoder.handle} (family {encoder.family}, "
            f"execution {encoder.execution}); take another perturbation"
        )
    if perturbation == "adversarial" and encoder.compute_dtype != "float32":
        raise ConfigError(
            "consistency: expected float32 for perturbation adversarial, which needs differences "
            f"of nearly equal probabilities, got {encoder.compute_dtype}; leave out "
            "mixed_precision, or take another perturbation"
        )


def _check_views(encoder: HubEncoder) -> None:
    if encoder.execution != "native" or not FAMILIES[encoder.family].has_directions:
        raise ConfigError(
            "consistency: expected a native ELMo for perturbation views, each half of whose states "
            f"has read one side of a word, got module {encoder.handle} (family {encoder.family}, "
            f"execution {encoder.execution}); take another perturbation"
        )
    if not encoder.trainable:
        raise ConfigError(
            "consistency: expected a tuned encoder for perturbation views, which nothing else "
            "would learn from, got a frozen one; take another adaptation or perturbation"
        )


@keras.saving.register_keras_serializable("tf_adapt")
class Consistency(keras.layers.Layer):
    """`m · KL(p̃ ‖ q)` for each unlabelled text, in tagging for each word.

    p̃ are the probabilities of a text, of logits divided by the temperature, without gradient; q
    those of its perturbation; m is 1 where the largest probability (at temperature 1) is above the
    confidence, else 0. For sets of labels KL and m are of each label's two outcomes, and m · KL is
    averaged over the labels. Both predictions are made with dropout. Of views the loss is the sum
    over four predictions q, and p̃ is made without dropout.

    The perturbation is

    - dropout: another draw of dropout, nothing else;
    - mask: pieces masked as by `tf_adapt.models.signals.piece_masking`;
    - noise: normally distributed noise on the embeddings, of a given length;
    - words, paraphrases: other texts, which are among the inputs;
    - adversarial: the direction in which the embeddings change the prediction most
      (`tf_adapt.models.signals.adversarial`);
    - views: no other text, but predictions from a part of what the encoder has read
      (`tf_adapt.models.signals.restricted_views`), by layers of this one's own.

    Shapes: inputs `{"unlabelled": {"a": …}}` beside the labelled ones, of words and paraphrases
    also `perturbed` → `[texts]`, tagging `[texts, words]`, float32, −1 at padding.

    Args:
        special_token_ids: of the preprocessor, for masking.
        views_width: with views: of the encoder's states.
        seed: of the random numbers, whose state is saved with the weights; None: a random one.

    Raises:
        ConfigError: a value is out of its range.

    Source: Xie et al. 2019, "Unsupervised Data Augmentation for Consistency Training"; Miyato et
    al. 2016, "Adversarial Training Methods for Semi-Supervised Text Classification"; Clark et al.
    2018, "Semi-Supervised Sequence Modeling with Cross-View Training".
    """

    def __init__(
        self,
        task: Task,
        perturbation: str,
        temperature: float | None = None,
        confidence: float | None = None,
        special_token_ids: dict[str, int] | None = None,
        masked: float = MASKED_SHARE,
        epsilon: float | None = None,
        seed: int | None = None,
        views_width: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if perturbation not in PERTURBATIONS:
            raise ConfigError(
                f"consistency perturbation: expected one of {', '.join(PERTURBATIONS)}, got "
                f"{perturbation!r}"
            )
        for name, value, highest in (
            ("temperature", temperature, None),
            ("confidence", confidence, 1),
            ("masked", masked, 1),
            ("epsilon", epsilon, None),
        ):
            if value is not None and not 0 < value < (highest or float("inf")):
                words = "a number above 0" + (f", below {highest}" if highest else "")
                raise ConfigError(f"consistency {name}: expected {words}, got {value!r}")
        self.supports_jit = False
        self.task = task
        self.perturbation = perturbation
        self.temperature = temperature
        self.confidence = confidence
        self.special_token_ids = dict(special_token_ids or {})
        self.masked = masked
        self.epsilon = EPSILONS.get(perturbation) if epsilon is None else epsilon
        self.seed = seed
        self.views_width = views_width
        self.views = views_width and RestrictedViews(task.num_outputs, views_width, name="views")
        self.seeds = keras.random.SeedGenerator(seed)
        self.mean_loss = keras.metrics.Mean("consistency_loss")
        self.confident = None if confidence is None else keras.metrics.Mean("confident")
        self.built = True

    def call(self, inputs, encoder=None, outputs_of=None, training=None):
        """The losses; `outputs_of(texts, training)` are the model's logits."""
        is_other = self.perturbation in OTHER_TEXTS
        if not {UNLABELLED, *([PERTURBED] if is_other else [])} <= inputs.keys():
            raise ConfigError(
                "consistency: expected batches with unlabelled texts"
                f"{' and others in their place' if is_other else ''}, got some without; train on "
                f"those of ta.consistency_batches(…, perturbation={self.perturbation!r})"
            )
        texts, words = inputs[UNLABELLED], inputs.get(WORDS)
        of_views = self.views is not None
        wanted = ops.stop_gradient(outputs_of(texts, training and not of_views))
        if is_other:
            texts = inputs[PERTURBED]
        elif self.perturbation == "mask":
            texts = {name: self._masked(text) for name, text in texts.items()}
        elif self.perturbation == "noise":
            texts = noise(texts, encoder, self.seeds.next(), self.epsilon)
        elif self.perturbation == "adversarial":
            seed = self.seeds.next()
            texts = adversarial_perturbations(
                self.task, texts, encoder, outputs_of, seed, self.epsilon, words
            )
        if of_views:
            given = self.views(encoder(texts["a"], training=training)["layers"][-1])
        else:
            given = [outputs_of(texts, training)]
        if words is not None:
            # Logits at padding, even NaN, must not affect the gradient.
            wanted, *given = (ops.where(words[..., None], some, 0.0) for some in (wanted, *given))
        found = [
            consistency_losses(self.task, wanted, one, self.temperature, self.confidence)
            for one in given
        ]
        losses, confident = sum(losses for losses, _ in found), found[0][1]
        real = ops.ones_like(losses, dtype="bool") if words is None else words
        self._show(losses, confident, ops.cast(real, "float32"))
        return ops.where(real, losses, -1.0)

    def _masked(self, inputs: dict) -> dict:
        ids, _ = mask_pieces(
            inputs["input_word_ids"],
            inputs["input_mask"],
            self.special_token_ids,
            self.masked,
            self.seeds.next(),
        )
        return inputs | {"input_word_ids": ids}

    def _show(self, losses, confident, real) -> None:
        self.mean_loss.update_state(losses, sample_weight=real)
        if self.confident is not None:
            self.confident.update_state(confident, sample_weight=real)

    def get_config(self) -> dict:
        return super().get_config() | {
            "task": keras.saving.serialize_keras_object(self.task),
            "perturbation": self.perturbation,
            "temperature": self.temperature,
            "confidence": self.confidence,
            "special_token_ids": self.special_token_ids,
            "masked": self.masked,
            "epsilon": self.epsilon,
            "seed": self.seed,
            "views_width": self.views_width,
        }

    @classmethod
    def from_config(cls, config: dict) -> "Consistency":
        """The layer of `get_config`."""
        return cls(**config | {"task": keras.saving.deserialize_keras_object(config["task"])})
