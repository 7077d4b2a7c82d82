"""The screening of a comparison within minutes, as values of a report. Imports no TensorFlow."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ScreenedRung:
    """What a cell had in a rung.

    Attributes:
        epochs, examples: that its runs trained with; examples None: all.
        scores: on what was screened on, by learning rate as text; None: it diverged, or is
            undefined. Rates whose runs did not end in time are left out.
        diverged: the rates whose runs did.
        seconds: of its finished runs.
    """

    epochs: int
    examples: int | None
    scores: dict[str, float | None]
    diverged: list[str]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class ScreenedCell:
    """A cell of the config.

    Attributes:
        rungs: those that it was in.
        place: in its last rung, 1 is the best, among `of` cells.
        learning_rate: its best.
        scored: whether it is among the finalists.
        why: why not, or why it is, as a phrase.
    """

    id: str
    rungs: list[ScreenedRung]
    place: int
    of: int
    learning_rate: float
    scored: bool
    why: str


@dataclass(frozen=True, kw_only=True)
class Screened:
    """A comparison within minutes: what was dropped, and what was not.

    Attributes:
        minutes: that were given.
        seconds: used until the last scored seed ended.
        asked: the number of seeds, or repeats, of the config.
        cells: in the order of the config.
    """

    minutes: float
    seconds: float
    asked: int
    cells: list[ScreenedCell]

    @property
    def dropped(self) -> list[ScreenedCell]:
        """The cells that were not scored."""
        return [cell for cell in self.cells if not cell.scored]
