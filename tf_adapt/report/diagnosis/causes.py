"""The causes that a diagnosis checked, as values. Imports no TensorFlow."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A suspected cause, and what became of it.

    Attributes:
        name: a key of `tf_adapt.comparison.diagnosis.causes.CAUSES`.
        title, seen: cause and symptom as phrases.
        otherwise: the keys of the config that its counter-run had otherwise, `KEY=VALUE`; empty:
            it has none, and the symptom alone names it.
        after: the score of the counter-run on dev; None: it diverged or was refused, or there is
            none.
        gain: the difference to the run's, `[difference, low, high]`, with its interval.
        named: whether it is confirmed.
        run: the folder of the counter-run, in a comparison relative to it.
        seconds: of the counter-run.
    """

    name: str
    title: str
    seen: str
    otherwise: list[str]
    after: float | None = None
    gain: list[float] | None = None
    named: bool = False
    run: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The causes that were suspected in a run.

    Attributes:
        cell: the id of its cell in a comparison; None: it is a run alone.
        run: its folder, in a comparison relative to it.
        score: on dev.
        causes: named ones first, the largest gain first.
        seconds: of all counter-runs.
    """

    cell: str | None
    run: str
    score: float
    causes: list[Cause]
    seconds: float

    @property
    def named(self) -> list[Cause]:
        """The causes that are confirmed."""
        return [cause for cause in self.causes if cause.named]
