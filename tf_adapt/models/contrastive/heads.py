"""The head of contrastive tuning, and what it reads."""

from hub_modules.families import FAMILIES
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.heads.contrastive import refuse_kind
from tf_adapt.heads.kinds import KINDS
from tf_adapt.tasks.task import Task


def checked_head(
    head: object, pooling: str | None, task: Task, encoder: HubEncoder
) -> tuple[str, str | None]:
    """The name of the head, and its pooling.

    It reads the encoder's pooled vector where that is the pooling of a sentence encoder; else by
    default the mean of the states, on which such encoders are trained.

    Raises:
        ConfigError: the kind of task has no contrastive tuning, or the head is another.
    """
    name = KINDS[task.kind].contrastive
    if name is None:
        raise ConfigError(f"adaptation: {refuse_kind(task.kind)}")
    if head not in ("default", name):
        raise ConfigError(
            f"head: expected default or {name} with contrastive, which fits it in closed form, got "
            f"{head!r}"
        )
    has_pooling = encoder.pooling is not None or not FAMILIES[encoder.family].has_words
    return name, pooling or (None if has_pooling else "mean")
