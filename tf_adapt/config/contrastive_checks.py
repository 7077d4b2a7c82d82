"""Checks of contrastive tuning in a config. Imports no TensorFlow."""

from pydantic import BaseModel

from tf_adapt.adaptation.adaptations import contrastive
from tf_adapt.config.messages import shown
from tf_adapt.config.sections import Config
from tf_adapt.config.task_checks import Found, kind_of
from tf_adapt.heads.contrastive import refuse_kind
from tf_adapt.heads.kinds import KINDS
from tf_adapt.tasks.kinds import KINDS as TASK_KINDS

CONTRASTIVE = contrastive.__name__
# It trains on pairs alone and fits the head in closed form.
_OF_OTHER_TRAINING = (
    ("tasks",),
    ("head_dropout",),
    ("head_mixed",),
    ("teacher",),
    ("weak",),
    ("slice_heads",),
    ("training", "class_weight"),
    ("training", "devices"),
    ("training", "strategy"),
    ("training", "jit_compile"),
)


def contrastive_problems(config: Config) -> Found:
    """Problems of `adaptation: contrastive`."""
    kind = None if config.data is None else kind_of(config)
    if kind is not None:
        fitted = KINDS[kind].contrastive
        if fitted is None:
            yield ("adaptation", "name"), refuse_kind(kind)
        elif config.head not in ("default", fitted):
            yield (
                ("head",),
                f"expected default or {fitted} with adaptation: contrastive, which fits it in "
                f"closed form, got {config.head}",
            )
        # A finished run's config has the default.
        iterations = config.adaptation.iterations
        if TASK_KINDS[kind].label_counts is None and iterations not in (None, contrastive().pairs):
            yield (
                ("adaptation", "iterations"),
                f"expected null for {kind}, whose pairs are those of the data, got {iterations}; "
                "remove the key",
            )
    given = {path: _at(config, path) for path in _OF_OTHER_TRAINING}
    given |= {("auxiliary", name): loss for name, loss in config.auxiliary}
    for path, value in given.items():
        if value not in (None, False):
            got = "a section" if isinstance(value, BaseModel) else shown(value)
            yield (
                path,
                "expected none with adaptation: contrastive, which trains on pairs of texts alone "
                f"and fits the head in closed form, got {got}; remove it",
            )


def _at(config: Config, path: tuple[str, ...]):
    value = config
    for key in path:
        value = getattr(value, key)
    return value
