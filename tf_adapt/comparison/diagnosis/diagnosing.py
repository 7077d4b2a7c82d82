"""`tf-adapt diagnose`: suspects causes by what runs recorded, and checks each by a counter-run.

Imports no TensorFlow.
"""

import json
import logging
import math
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import TypeAdapter
from scipy.stats import norm

from hub_modules.storage.files import write_text
from tf_adapt.comparison.diagnosis import thresholds as limits
from tf_adapt.comparison.diagnosis.causes import CAUSES, overrides
from tf_adapt.comparison.diagnosis.counter_runs import Trainer, counter_folder
from tf_adapt.comparison.diagnosis.evidence import CHOSEN_ON, Evidence, evidence_of
from tf_adapt.comparison.diagnosis.report_reading import read_content, read_finding
from tf_adapt.comparison.record import has_record, read_record
from tf_adapt.comparison.verdict.training_ended import CHANCE
from tf_adapt.config.reading import dump_config
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.report.content import Content
from tf_adapt.report.diagnosis.causes import Cause, Diagnosis
from tf_adapt.report.scored_cells import ScoredCell
from tf_adapt.report.write import write_report
from tf_adapt.runs import run_folder
from tf_adapt.runs.interruption import Interruption
from tf_adapt.statistics.metrics import METRICS

HOME, FILE, FEATURES = "diagnosis", "diagnosis.json", "features"
_DIAGNOSES = TypeAdapter(list[Diagnosis])
_log = logging.getLogger(__name__)


def diagnose(folder: str | Path, trainer: Trainer | None = None) -> list[Diagnosis]:
    """Checks the suspected causes of a run, or of one run of each pretrained cell of a comparison,
    whose report then shows them.

    Counter-runs stay in `diagnosis/`; those that are there are not made again.

    Args:
        trainer: trains the counter-runs; by default a process of its own.

    Raises:
        ConfigError: there is no finished run or comparison in the folder; of a run as
            `evidence_of`; no cell of a comparison can be diagnosed.
        ArtifactError: its files are damaged.
        DataError: its data cannot be read.
        TrainingError: a counter-run failed for another reason than divergence
            or a refusal of its settings.
        KeyboardInterrupt, SystemExit: after a signal; the same call goes on.
    """
    folder = Path(folder).absolute()
    is_comparison = has_record(folder)
    if trainer is None:
        threads = read_record(folder)["threads"] if is_comparison else 1
        with Interruption(), Trainer(threads) as trainer:
            return diagnose(folder, trainer)
    if is_comparison:
        return _of_cells(folder, trainer)
    evidence = evidence_of(folder)
    with run_folder.locked(folder):
        found = [_diagnosis(evidence, None, folder, folder / HOME, trainer)]
        _write(folder, found)
    return found


def _of_cells(folder: Path, trainer: Trainer) -> list[Diagnosis]:
    content, found = read_content(folder), []
    with run_folder.locked(folder):
        for cell, evidence in _evidence_of_cells(content, folder):
            home = folder / HOME / cell.id
            found.append(_diagnosis(evidence, cell.id, folder, home, trainer))
            _write(folder, found)
        if not found:
            raise ConfigError(
                f"{folder}: expected a comparison with a finished run of one task in a pretrained "
                "cell, got none; give the command of the comparison again, until its end"
            )
        write_report(replace(content, diagnosis=found), folder)
    return found


def _evidence_of_cells(content: Content, folder: Path) -> Iterator[tuple[ScoredCell, Evidence]]:
    """Of each pretrained cell that can be diagnosed, one run."""
    for cell in content.cells:
        run = _median_run(_run_folders(cell, folder), content.baseline.chosen_on, content.metric)
        if not cell.pretrained or run is None:
            continue
        try:
            yield cell, evidence_of(run, tuple(cell.tried))
        except ConfigError as error:
            _log.warning("left out: %s: %s", cell.id, error)


def kept_diagnosis(content: Content, folder: Path) -> list[Diagnosis] | None:
    """The diagnosis of a comparison whose runs are still those of its cells; None: there is none.

    Raises:
        ArtifactError: its file cannot be read.
    """
    found = read_finding(folder / HOME / FILE, _DIAGNOSES, "tf-adapt diagnose")
    if found is None:
        return None
    runs = {
        cell.id: [str(run.relative_to(folder)) for run in _run_folders(cell, folder)]
        for cell in content.cells
    }
    return [one for one in found if one.run in runs.get(one.cell, ())]


def _write(folder: Path, found: Sequence[Diagnosis]) -> None:
    text = json.dumps([asdict(one) for one in found], indent=1, allow_nan=False)
    write_text(folder / HOME / FILE, text + "\n")


def _run_folders(cell: ScoredCell, folder: Path) -> list[Path]:
    """The folders of a cell's scored trainings, by their commands, which may have been given where
    the comparison's folder was before."""
    outs = [shlex.split(command) for command in cell.commands]
    outs = [Path(words[words.index("--out") + 1]) for words in outs if words[1] == "train"]
    below = [out.parts[::-1][: out.parts[::-1].index(cell.id)][::-1] for out in outs]
    return [folder.joinpath("runs", cell.id, *parts) for parts in below]


def _median_run(runs: Sequence[Path], baseline: float, metric: str) -> Path | None:
    """The run with the lower median of the scores on dev; where some are at the baseline, the
    lowest, which says why."""
    scored = []
    for run in runs:
        metrics = run_folder.finished_metrics(run)
        if metrics is not None:
            scored.append((metrics[CHOSEN_ON][metric] or 0.0, run))
    scored.sort(key=lambda pair: pair[0])
    if not scored:
        return None
    return scored[
        0 if scored[0][0] <= baseline + CHANCE * METRICS[metric].point else (len(scored) - 1) // 2
    ][1]


def _diagnosis(
    run: Evidence, cell: str | None, folder: Path, home: Path, trainer: Trainer
) -> Diagnosis:
    suspected = _suspected(run, home)
    count = sum(bool(cause.otherwise) for cause in suspected)
    causes = [
        _checked(run, cause, home, count, trainer)
        if cause.otherwise
        else replace(cause, named=True)
        for cause in suspected
    ]
    shutil.rmtree(home / FEATURES, ignore_errors=True)
    if cell:
        causes = [_relative_to(folder, cause) for cause in causes]
    causes.sort(key=lambda cause: (not cause.named, -(cause.gain or [0.0])[0]))
    return Diagnosis(
        cell=cell,
        run=str(run.folder.relative_to(folder)) if cell else str(run.folder),
        score=run.score,
        causes=causes,
        seconds=round(sum(cause.seconds for cause in causes), 1),
    )


def _suspected(run: Evidence, home: Path) -> list[Cause]:
    """The causes that have a symptom, unchecked; those that cannot be removed are left out."""
    causes = []
    for name, row in CAUSES.items():
        seen = row.symptom(run)
        settings = row.settings(run, home / name) if seen and row.settings else {}
        if seen and settings is not None:
            causes.append(
                Cause(name=name, title=row.title, seen=seen, otherwise=overrides(settings))
            )
    return causes


def _relative_to(folder: Path, cause: Cause) -> Cause:
    return replace(cause, run=cause.run and str(Path(cause.run).relative_to(folder)))


def _checked(run: Evidence, cause: Cause, home: Path, count: int, trainer: Trainer) -> Cause:
    """A suspected cause after its counter-run, one of `count`."""
    counter = counter_folder(home, cause.name, run.config, cause.otherwise)
    _log.info("suspected: %s (%s); counter-run: %s", cause.title, cause.seen, counter)
    # The cache of a comparison is gone by now.
    cache = json.dumps(str(home / FEATURES), ensure_ascii=False)
    given = [*cause.otherwise, f"features.cache={cache}"]
    # Not the run's own file, which an earlier version may have written.
    config = home / run_folder.CONFIG
    write_text(config, dump_config(run.config))
    try:
        metrics = trainer.train(config, given, counter)
    except (ConfigError, DataError) as error:
        # As a head that does not fit into memory; other causes may still be checked.
        _log.warning("not checked: %s: %s", cause.title, error)
        return cause
    if metrics is None:
        return cause
    after = metrics[CHOSEN_ON][metrics["metric"]] or 0.0
    gain = _gain(run, counter, after, count)
    return replace(
        cause,
        after=after,
        gain=gain,
        # One that is still no better than a constant answer has removed nothing.
        named=CAUSES[cause.name].confirms([one / run.point for one in gain])
        and after > run.baseline,
        run=str(counter),
        seconds=metrics["seconds"]["total"],
    )


def _gain(run: Evidence, counter: Path, after: float, count: int) -> list[float]:
    """The difference of the scores on dev, and its interval over the items of dev, at the level
    that all `count` counter-runs share."""
    differences = run.values(counter) - run.values(run.folder)
    error = math.sqrt(differences.var(ddof=1) / len(differences)) if len(differences) > 1 else 0.0
    width = float(norm.isf(limits.LEVEL / count)) * error
    difference = after - run.score
    return [difference, difference - width, difference + width]
