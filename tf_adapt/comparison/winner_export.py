"""The export of the recommended cell, in `winner/` or `candidate/` of a comparison's folder."""

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

from hub_modules.storage.files import write_text
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.running import check_ended
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.plan.cells import Cell
from tf_adapt.report.content import Content
from tf_adapt.runs.exports_in import EXPORTS
from tf_adapt.serving.exports.card_sections import OverSeeds
from tf_adapt.serving.exports.model_card import CARD
from tf_adapt.training.finished.run_cards import run_card

EXPORT_NAMES = "*-*_*-seed_*"


def cell_to_export(outcomes: Outcomes, content: Content, anyway: bool) -> Cell | None:
    """The recommended cell, if a cell is shown to be above the baseline or `anyway`."""
    verdict = content.verdict
    if verdict.recommended is None or not (verdict.above_baseline or anyway):
        return None
    return next(c for c in outcomes.comparison.cells if c.name == verdict.recommended)


def export_best(outcomes: Outcomes, content: Content, anyway: bool) -> str | None:
    """Exports the recommended cell's run with the best dev score; removes all other exports.

    Returns:
        The export's path in the comparison's folder, below `winner/` if the verdict is decided,
        else `candidate/`; None if nothing is exported.
    """
    place = EXPORTS[0] if content.verdict.decided else EXPORTS[1]
    exported, cell = None, cell_to_export(outcomes, content, anyway)
    runs = [] if cell is None else outcomes.export_runs(cell)
    finished = [run for run in runs if outcomes.metrics(run) is not None]
    if finished:
        best = outcomes.best_on_dev(finished)
        part = "" if cell.more_epochs is None else f"-epochs_{cell.more_epochs}"
        part += "" if best.examples is None else f"-examples_{best.examples}"
        name = f"{cell.name}{part}-{best.choice}-seed_{best.seed}"
        exported = f"{place}/{name}/1"
        if not (outcomes.out / exported).is_dir():
            _export(best, outcomes.out / place / name)
        # The card is rewritten: seeds may have been added since the export.
        shown = next(scored.results for scored in content.cells if scored.id == cell.name)
        # Cards of ensembles and of several tasks have no scores over seeds.
        if not best.together and cell.config.tasks is None:
            folds = outcomes.comparison.folds or 0
            over = OverSeeds(shown.trained, shown.mean, shown.deviation, folds)
            card = run_card(best.folder, over)
            write_text(outcomes.out / exported / CARD, card)
    for old in [path for other in EXPORTS for path in (outcomes.out / other).glob(EXPORT_NAMES)]:
        if exported is None or old != (outcomes.out / exported).parent:
            shutil.rmtree(old, ignore_errors=True)
    for other in EXPORTS:
        with contextlib.suppress(OSError):  # not empty
            (outcomes.out / other).rmdir()
    return exported


def _export(run: CellRun, folder: Path) -> None:
    # In a subprocess, since this process does not import TensorFlow.
    command = [sys.executable, "-P", "-m", "tf_adapt", "export"]  # -P: as in `running`
    command += [str(run.folder), "--out", str(folder)]
    command += ["--trust"] if run.cell.config.encoder.trust else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not (folder / "1").is_dir():  # else a process of an interrupted comparison exported it
        check_ended(f"export of {run.folder}", done.returncode, done.stderr)
