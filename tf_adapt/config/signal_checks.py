"""Checks of what a run learns beside the labels: a teacher, votes, heads of slices.

Imports no TensorFlow.
"""

from collections.abc import Iterator

from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.config.data_sections import DatasetConfig
from tf_adapt.config.kinds import KINDS
from tf_adapt.config.sections import Config
from tf_adapt.heads.names import CRF_HEADS

Found = Iterator[tuple[KeyPath, str]]


def signal_problems(config: Config, kind: str | None) -> Found:
    """Problems of one task's further signal.

    Args:
        kind: of task; None: unknown.
    """
    yield from _class_weight_problems(config)
    yield from _teacher_problems(config)
    yield from _weak_problems(config, kind)
    yield from _slice_head_problems(config)


def _class_weight_problems(config: Config) -> Found:
    if config.training.class_weight is None:
        return
    consistency = config.auxiliary.consistency
    for name, given in (
        ("teacher", config.teacher),
        ("weak", config.weak),
        ("auxiliary.consistency.signal_annealing", consistency and consistency.signal_annealing),
    ):
        if given is not None:
            yield (
                ("training", "class_weight"),
                f"expected null together with {name}, which has weights of its own; remove one",
            )


def _teacher_problems(config: Config) -> Found:
    if config.teacher is None:
        return
    if config.objective == "language_model":
        yield (
            ("teacher",),
            "expected null for a language model, which has no labels; remove the section",
        )
    if config.head in CRF_HEADS:
        yield (
            ("head",),
            "expected one without a CRF together with teacher, whose answers are compared word by "
            f"word, got {config.head}; take linear_tagger or bilstm",
        )
    if config.teacher.unlabelled is not None and config.training.jit_compile:
        yield (
            ("training", "jit_compile"),
            "expected false together with teacher.unlabelled, got true; XLA has to know how many "
            "examples of a batch have labels",
        )


def _weak_problems(config: Config, kind: str | None) -> Found:
    if config.weak is None or (kind is not None and ("weak",) in KINDS[kind].refused):
        return
    if config.teacher is not None:
        yield (
            ("weak",),
            "expected null together with teacher, whose answers are weighed against labels that "
            "are known; remove one of the sections",
        )
    if not isinstance(config.data, DatasetConfig) and config.data.dev is None:
        yield (
            ("data", "dev"),
            "expected data of its own together with weak, got null; a part of train has no labels "
            "that are known, and cannot play dev",
        )
    if config.data.held_out is not None:
        yield (
            ("data", "held_out"),
            f"expected null together with weak, got {config.data.held_out}; a part of train has no "
            "labels that are known, and cannot play dev",
        )


def _slice_head_problems(config: Config) -> Found:
    if not config.slice_heads:
        return
    adaptation = config.adaptation
    for is_wrong, got, reason in (
        (not config.slices, "no slices", "a head is trained for each of the slices"),
        (
            not adaptation.trains_encoder,
            adaptation.name,
            "the heads would share nothing that is trained",
        ),
        (config.teacher is not None, "a teacher", "it has answers for the main head alone"),
        (config.weak is not None, "weak", "the labels of a slice's members are not known"),
        (
            any(of_slice.wrong_in is not None for of_slice in config.slices.values()),
            "a slice with wrong_in",
            "no run predicts train",
        ),
    ):
        if is_wrong:
            yield ("slice_heads",), f"expected false together with {got}, got true: {reason}"
