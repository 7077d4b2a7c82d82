"""❄ and 🔥 of the published comparisons: a table that ships. Imports no TensorFlow."""

import json
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Published:
    """❄ and 🔥 of one encoder in one comparison of `docs/results`, each by its best cell.

    Attributes:
        comparison: its folder there.
        family: of the encoder.
        examples: to learn from.
        difference: score of 🔥 − score of ❄.
        interval: the comparison's own, of this pair alone, with probability `level`.
        decided: of 🔥, after Holm's correction over all pairs: "ahead", "behind", "alike", "open".
        constant, probe: the scores of a constant answer and of the best layer's linear probe, as
            `tf-adapt estimate` has them; None where it has no measure of the kind.
    """

    comparison: str
    dataset: str
    kind: str
    metric: str
    encoder: str
    family: str
    examples: int
    frozen: float
    tuned: float
    difference: float
    interval: list[float] | None
    level: float
    decided: str
    constant: float | None
    probe: float | None


def published() -> list[Published]:
    """All, in the order of their names; `make results` writes the file."""
    text = files(__package__).joinpath("published.json").read_text("utf-8")
    return [Published(**row) for row in json.loads(text)]
