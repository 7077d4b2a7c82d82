"""Which tag may follow which: the rules of a tag scheme as a matrix, for `CRF(constraints=…)`."""

from collections.abc import Callable, Sequence

from tf_adapt.data.labels import SCHEMES, split_tag
from tf_adapt.errors import ConfigError


def tag_constraints(labels: Sequence[str], scheme: str) -> list[list[bool]]:
    """The legal transitions between `labels` in IOB1, IOB2 or BIOES.

    Entry `[i][j]` says whether tag j may stand right after tag i. Index `len(labels)` is the start
    of the sentence, `len(labels) + 1` its end; both are like a neighbouring `O`. The rules are
    those of `tf_adapt.data.labels.check_scheme`.

    Shapes: → `[tags + 2, tags + 2]`; row = from, column = to.

    Raises:
        ConfigError: no such scheme, or a label that is not of it.

    Source: Ramshaw and Marcus 1995; Tjong Kim Sang and Veenstra 1999.
    """
    if scheme not in SCHEMES:
        raise ConfigError(f"scheme: expected one of {', '.join(SCHEMES)}, got {scheme!r}")
    tags = [_checked(label, scheme) for label in labels]
    outside = ("O", "")
    follows = _FOLLOWS[scheme]
    rows = [
        [follows(before, tag) for tag in tags] + [False, follows(before, outside)]
        for before in [*tags, outside]
    ]
    after_the_end = [False] * (len(tags) + 2)
    return [*rows, after_the_end]


def _checked(label: str, scheme: str) -> tuple[str, str]:
    prefix, kind = split_tag(label)
    if label != "O" and (prefix not in tuple(SCHEMES[scheme]) or not kind):
        prefixes = " or ".join(f"{letter}-TYPE" for letter in SCHEMES[scheme])
        raise ConfigError(
            f"labels: expected O, {prefixes} in the scheme {scheme}, got {label!r}; "
            "name the scheme the labels are in"
        )
    return prefix, kind


def _follows_iob1(before: tuple[str, str], tag: tuple[str, str]) -> bool:
    """B-X only parts two neighbouring entities of the type X."""
    return tag[0] != "B" or before[1] == tag[1]


def _follows_iob2(before: tuple[str, str], tag: tuple[str, str]) -> bool:
    """I-X only continues an entity of the type X."""
    return tag[0] != "I" or before[1] == tag[1]


def _follows_bioes(before: tuple[str, str], tag: tuple[str, str]) -> bool:
    """B-X and I-X are continued, I-X and E-X continue, within the type X."""
    is_open, continues = before[0] in "BI", tag[0] in "IE"
    return is_open == continues and (not continues or before[1] == tag[1])


_FOLLOWS: dict[str, Callable[[tuple[str, str], tuple[str, str]], bool]] = {
    "IOB1": _follows_iob1,
    "IOB2": _follows_iob2,
    "BIOES": _follows_bioes,
}
