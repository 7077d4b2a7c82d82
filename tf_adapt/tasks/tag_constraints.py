"""Which tag may follow which: the rules of a tag scheme as a matrix, for `CRF(constraints=…)`."""

from collections.abc import Sequence

from tf_adapt.errors import ConfigError
from tf_adapt.tasks.tag_schemes import TASK_SCHEMES, can_follow, is_tag, tag_forms


def tag_constraints(labels: Sequence[str], scheme: str) -> list[list[bool]]:
    """The legal transitions between `labels` in IOB1, IOB2, BIOES or words (any).

    Entry `[i][j]` is whether tag j may follow tag i. Index `len(labels)` is the start of the
    sentence, `len(labels) + 1` its end; both are like a neighbouring `O`. The rules are those of
    `tf_adapt.data.labels.check_scheme`.

    Shapes: → `[tags + 2, tags + 2]`; row = from, column = to.

    Raises:
        ConfigError: no such scheme, or a label that is not a tag of it.

    Source: Ramshaw and Marcus 1995; Tjong Kim Sang and Veenstra 1999.
    """
    if scheme not in TASK_SCHEMES:
        raise ConfigError(f"scheme: expected one of {', '.join(TASK_SCHEMES)}, got {scheme!r}")
    for label in labels:
        if not is_tag(label, scheme):
            raise ConfigError(
                f"labels: expected {tag_forms(scheme)} in the scheme {scheme}, got {label!r}; "
                "name the scheme the labels are in"
            )
    rows = [
        [can_follow(before, tag, scheme) for tag in labels]
        + [False, can_follow(before, "O", scheme)]
        for before in [*labels, "O"]
    ]
    after_the_end = [False] * (len(labels) + 2)
    return [*rows, after_the_end]
