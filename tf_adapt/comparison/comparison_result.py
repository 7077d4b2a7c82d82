"""The result of a comparison, for Python and notebooks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.errors import ConfigError
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import Content
from tf_adapt.report.html import to_frame
from tf_adapt.report.lines import comparison_lines
from tf_adapt.report.scored_cells import ScoredCell

if TYPE_CHECKING:  # optional: only the frames need it
    import pandas

# The dtypes of columns that may be missing, even in every row.
_FLOATS = ("learning_rate", "mean", "deviation", "p", "dev", "test", "seconds")
_COUNTS = ("trainable_parameters", "train_examples")
_TYPES = dict.fromkeys(_FLOATS, "float64") | dict.fromkeys(_COUNTS, "Int64")


@dataclass(frozen=True, repr=False, eq=False)
class ComparisonResult:
    """The verdict, cells and runs of a comparison; a notebook displays the report.

    Attributes:
        content: the content of the report; `report.json` is its plain form.
        outcomes: the runs.
    """

    content: Content
    outcomes: Outcomes

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        return self.content.verdict.sentence

    @property
    def decided(self) -> bool:
        """Whether the tests decide the verdict; if not, it names the best cell so far."""
        return self.content.verdict.decided

    @property
    def folder(self) -> Path:
        """The comparison's folder."""
        return self.outcomes.out

    @property
    def report(self) -> Path:
        """The path of `report.html`."""
        return self.folder / "report.html"

    @property
    def winner(self) -> Path | None:
        """The exported model, to predict with and to serve; None if the verdict is not decided."""
        return self._export("winner")

    @property
    def candidate(self) -> Path | None:
        """The exported model of an undecided verdict; None if decided or if nothing is exported."""
        return self._export("candidate")

    @property
    def frame(self) -> "pandas.DataFrame":
        """A row for each cell, best mean first.

        Columns: `cell`, `encoder`, `pretrained`, `adaptation`, `head`, `signal` (where there are
        signals); `learning_rate` (the selected one); `mean` and `deviation` of the scores over the
        `seeds` that trained; `p` (after Holm's correction) of the difference from the best
        pretrained cell, and whether it is `decided`; `trainable_parameters`; `seconds` of training,
        mean over runs.

        Raises:
            ConfigError: pandas is not installed.
        """
        rows = [self._row(entry.cell) for entry in ranked(self.content.cells)]
        return self._frame(rows)

    @property
    def runs(self) -> "pandas.DataFrame":
        """A row for each run of a cell; those that others need (starts, members) have none.

        Columns: `cell`, `encoder`, `adaptation`, `head`, `signal` (where there are signals),
        `train_examples` (None: all), `learning_rate`, `seed`; `trial` (True: used only to select
        the learning rate); scores on `dev` and `test`; `diverged`; `seconds` of training;
        `folder`, for `ta.load_run` (of an ensemble `ta.load_ensemble`).

        Raises:
            ConfigError: pandas is not installed.
        """
        return self._frame(list(self._rows_of_runs()))

    def __repr__(self) -> str:
        return "\n".join(comparison_lines(self.content, self.folder))

    def _repr_html_(self) -> str:
        return to_frame(self.report)

    def _export(self, place: str) -> Path | None:
        exported = self.content.verdict.exported
        is_there = exported is not None and exported.startswith(f"{place}/")
        return self.folder / exported if is_there else None

    def _row(self, cell: ScoredCell) -> dict[str, Any]:
        best = self.content.verdict.best
        pair = next(
            (tested for tested in self.content.pairs if {tested.a, tested.b} == {best, cell.id}),
            None,
        )
        return {
            "cell": cell.id,
            "encoder": cell.encoder,
            "pretrained": cell.pretrained,
            "adaptation": cell.adaptation,
            "head": cell.head,
            **_signal(cell),
            "learning_rate": cell.learning_rate,
            "mean": cell.results.mean,
            "deviation": cell.results.deviation,
            "seeds": cell.results.trained,
            "p": None if pair is None else pair.p_holm,
            "decided": pair is not None and pair.decided,
            "trainable_parameters": cell.costs.trainable_parameters,
            "seconds": cell.costs.training_seconds,
        }

    def _rows_of_runs(self) -> Iterator[dict[str, Any]]:
        shown = {cell.id: cell for cell in self.content.cells}
        for cell in self.outcomes.comparison.cells:
            for outcomes in self.outcomes.of_sizes():
                trials = outcomes.trials(cell)
                for run in {
                    run.folder: run for run in (*trials, *outcomes.scored_runs(cell))
                }.values():
                    yield self._row_of_run(run, shown[cell.name], run in trials)

    def _row_of_run(self, run: CellRun, cell: ScoredCell, is_trial: bool) -> dict[str, Any]:
        metrics = self.outcomes.metrics(run)
        return {
            "cell": cell.id,
            "encoder": cell.encoder,
            "adaptation": cell.adaptation,
            "head": cell.head,
            **_signal(cell),
            "train_examples": run.examples,
            "learning_rate": run.rate,
            **({} if run.setting is None else {"setting": run.setting.values_by_key}),
            "seed": run.seed,
            "trial": is_trial,
            "dev": self.outcomes.score(run, "dev"),
            "test": self.outcomes.score(run, "test"),
            "diverged": self.outcomes.failed(run),
            "seconds": None if metrics is None else metrics["seconds"]["training"],
            "folder": str(run.folder),
        }

    def _frame(self, rows: list[dict[str, Any]]) -> "pandas.DataFrame":
        try:
            import pandas
        except ImportError:
            raise ConfigError(
                "pandas is not installed, of which .frame and .runs are frames: `pip install "
                f"pandas`, or read {self.folder / 'report.json'}"
            ) from None
        frame = pandas.DataFrame(rows)
        return frame.astype({name: kind for name, kind in _TYPES.items() if name in frame})


def _signal(cell: ScoredCell) -> dict[str, str]:
    """The column of the signal, if the comparison has signals."""
    return {key: value for key, value in cell.settings.items() if key == "signal"}
