"""A head that is asked for by name."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """A head by name, and what it is asked to read.

    Args:
        name: a key of `tf_adapt.heads.table.HEADS`.
        kind: of the task.
        family: of the encoder.
        joint: whether a pair is encoded as one row.
        pooling, word_pieces: as for `tf_adapt.heads.table.build_head`.
    """

    name: str
    kind: str
    family: str
    joint: bool
    pooling: str | None
    word_pieces: str | None
