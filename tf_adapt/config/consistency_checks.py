"""Checks of consistency on unlabelled data in a config.

Imports no TensorFlow.
"""

from tf_adapt.config.data_sections import TextConfig
from tf_adapt.config.kinds import KINDS
from tf_adapt.config.messages import shown
from tf_adapt.config.sections import Config
from tf_adapt.config.signal_sections import PerturbationConfig
from tf_adapt.config.task_checks import Found, kind_of, refused_keys
from tf_adapt.heads.names import CRF_HEADS

_HOME = ("auxiliary", "consistency")


def consistency_problems(config: Config) -> Found:
    """Problems of `auxiliary.consistency`; `tasks` and language models are refused elsewhere."""
    yield from _perturbation_problems(config)
    if config.data is None or isinstance(config.data, TextConfig):
        return
    yield from _kind_problems(config)
    section, perturbation = config.auxiliary.consistency, config.auxiliary.consistency.perturbation
    if section.weight == 0 and section.final_weight is not None:
        yield (
            (*_HOME, "final_weight"),
            "expected null with weight: 0, which is not annealed, got "
            f"{section.final_weight}; remove it with anneal_steps, or give another weight",
        )
    if config.teacher is not None:
        yield (
            ("teacher",),
            "expected null together with auxiliary.consistency: a run learns from a teacher or "
            "from its own predictions; remove one of the sections",
        )
    if config.weak is not None:
        yield ("weak",), "expected null together with auxiliary.consistency; remove one of them"
    if config.slice_heads:
        yield (
            ("slice_heads",),
            "expected false together with auxiliary.consistency, got true; remove one of them",
        )
    if config.training.jit_compile:
        yield (
            ("training", "jit_compile"),
            "expected false together with auxiliary.consistency, got true",
        )
    if config.training.strategy is not None:
        yield (
            ("training", "strategy"),
            f"expected null together with auxiliary.consistency, got {config.training.strategy}; "
            "use training.devices",
        )
    if perturbation.name == "views" and not config.adaptation.trains_encoder:
        yield (
            (*_HOME, "perturbation"),
            "expected another one with adaptation: feature_extraction: nothing but the views would "
            "learn from them, got views; tune the encoder, or take another perturbation",
        )
    is_still = not config.adaptation.trains_encoder and config.head_dropout == 0
    if is_still and perturbation.name == "dropout":
        yield (
            (*_HOME, "perturbation"),
            "expected another one with adaptation: feature_extraction and head_dropout: 0, under "
            "which there is no dropout, got dropout; take mask or words",
        )
    if perturbation.name == "adversarial" and config.training.mixed_precision is not None:
        yield (
            ("training", "mixed_precision"),
            "expected null with perturbation: adversarial, which needs differences of nearly equal "
            f"probabilities, got {config.training.mixed_precision}",
        )


def _perturbation_problems(config: Config) -> Found:
    given = config.auxiliary.consistency.perturbation
    path = (*_HOME, "perturbation")
    if (given.name is None) == (given.file is None):
        got = "neither" if given.name is None else "both"
        yield path, f"expected either a name or a file of paraphrases, got {got}"
    for key, names in (("rate", ("mask", "words")), ("epsilon", ("noise", "adversarial"))):
        value = getattr(given, key)
        if value is not None and given.name not in names:
            yield (
                (*path, key),
                f"expected null but with {' or '.join(names)}, got {value} with "
                f"{given.name or 'a file'}; remove it",
            )


def _kind_problems(config: Config) -> Found:
    kind = kind_of(config)
    if kind is not None:
        yield from refused_keys(config, kind, KINDS[kind].refused_with_consistency)
        yield from _perturbation_of_kind(config.auxiliary.consistency.perturbation, kind)
    if config.head == "concat_pooling":
        yield (
            ("head",),
            "expected one without batch normalisation together with auxiliary.consistency, whose "
            f"perturbed texts would be among its averages, got {config.head}; take linear or bcn",
        )
    if config.head in CRF_HEADS:
        yield (
            ("head",),
            "expected one without a CRF together with auxiliary.consistency, whose predictions are "
            f"compared word by word, got {config.head}; take linear_tagger or bilstm",
        )


def _perturbation_of_kind(given: PerturbationConfig, kind: str) -> Found:
    fitting = KINDS[kind].perturbations
    if given.name == "views" and not fitting:
        yield (
            (*_HOME, "perturbation"),
            f"expected another one for {kind}: views are of the words of a sentence, for tagging, "
            "got views",
        )
    if fitting and given.name not in fitting:
        yield (
            (*_HOME, "perturbation"),
            f"expected {', '.join(fitting)} for {kind}, whose words stay where they are, got "
            f"{shown(given.name or given.file)}",
        )
