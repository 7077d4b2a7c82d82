"""Whole comparisons: real runs in processes of their own, again, interrupted, and refused."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from report_times import without_times

from hub_modules.storage import records
from tf_adapt.analysis.estimate import estimating
from tf_adapt.analysis.estimate.estimating import estimate
from tf_adapt.commands.main import cli
from tf_adapt.comparison import comparing, written_report
from tf_adapt.comparison.diagnosis import diagnosing
from tf_adapt.comparison.diagnosis.causes import CAUSES
from tf_adapt.comparison.execution.executors import Resources
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.report.content import to_json
from tf_adapt.runs import run_folder

pytestmark = pytest.mark.slow


def compare(*arguments, **keywords) -> dict:
    """The content of a comparison, as in `report.json`."""
    return to_json(comparing.compare(*arguments, **keywords))


def files(folder) -> dict:
    return {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def undrawn(monkeypatch):
    """Comparisons return their content without a report."""
    monkeypatch.setattr(written_report, "write_report", lambda content, out: None)


@pytest.fixture(scope="module")
def whole(config_writer, tmp_path_factory):
    """A config, the folder of its comparison, what was found, and the predictions of its runs."""
    folder = tmp_path_factory.mktemp("comparison")
    path, out = config_writer(folder)(), folder / "whole"
    # A tiny module with random weights answers one and the same: it is not above the baseline.
    content = compare(load_comparison(path), out, export_anyway=True, resources=Resources(jobs=2))
    return path, out, content, said(out)


def command(path, out, *more) -> list[str]:
    arguments = ["compare", str(path), "--out", str(out), *more]
    # -P: the installed package, not the folder that the tests begin in.
    return [sys.executable, "-P", "-m", "tf_adapt", *arguments]


class Here:
    """Trains counter-runs in this process."""

    def train(self, config, given, folder):
        overrides = [part for override in given for part in ("--set", override)]
        done = CliRunner().invoke(cli, ["train", str(config), "--out", str(folder), *overrides])
        assert done.exit_code == 0, done.output
        return run_folder.finished_metrics(folder)


def test_the_report_shows_a_diagnosis_and_an_estimate_and_keeps_both(
    whole, sketched, tmp_path, monkeypatch
):
    path, before, _, _ = whole
    monkeypatch.setattr(estimating, "published", list)  # the table that ships grows
    out = shutil.copytree(before, tmp_path / "copy")

    # None: what cannot be removed is left out.
    longer = {True: {"training.epochs": 3}, False: None}
    few = replace(CAUSES["too_few_steps"], settings=lambda run, _: longer[run.is_frozen])
    monkeypatch.setattr(diagnosing, "CAUSES", {"too_few_steps": few})
    found = diagnosing.diagnose(out, Here())
    assert [one.cell for one in found] == [cell["id"] for cell in report_of(out)["cells"]]
    frozen, tuned = sorted(found, key=lambda one: one.cell)
    (cause,) = frozen.causes
    assert cause.otherwise == ["training.epochs=3"] and not cause.named and cause.seconds > 0
    history = run_folder.read_history(out / cause.run)
    assert len(history) == 3 and cause.after == pytest.approx(
        max(float(row["dev_accuracy"]) for row in history)
    )
    assert tuned.causes == [] and not list(out.rglob("diagnosis/*/features"))
    diagnosis = report_of(out)["diagnosis"]
    ranked = estimate(str(out))["ranking"]
    shown = report_of(out)["estimate"]
    assert [row["probe"] for row in shown["ranking"]] == [row["probe"] for row in ranked]
    assert {0, 1, "mean"} == {row["layer"] for row in ranked} and shown["predicted"] == []
    text = (out / "report.md").read_text("utf-8")
    assert "Before training" in text and f"{100 * ranked[0]['probe']:.1f}" in text
    compare(load_comparison(path), out)
    assert (report_of(out)["diagnosis"], report_of(out)["estimate"]) == (diagnosis, shown)
    with pytest.raises(ConfigError, match=f"head=linear: expected a key of .* {out}"):
        estimate(str(out), ("head=linear",))
    (out / "estimate.json").write_text("{}")
    with pytest.raises(ArtifactError, match="expected what `tf-adapt estimate` wrote"):
        compare(load_comparison(path), out)


def test_runs_scores_report_and_winner_then_only_what_is_new(
    whole, workers_here, undrawn, tmp_path
):
    path, before, content, predictions = whole
    out = shutil.copytree(before, tmp_path / "copy")
    assert len(predictions) == 8  # cells, seeds, splits
    assert content["machine"].endswith("1 thread a run")
    for cell in content["cells"]:
        for seed, score in enumerate(cell["scores"]):
            folder = out / "runs" / cell["id"] / "rate_0.01" / f"seed_{seed}"
            metrics = json.loads((folder / "metrics.json").read_text())
            assert score == metrics["test"]["accuracy"]
    assert json.loads((out / "report.json").read_text()) == content
    for name in ("report.md", "report.html"):
        assert content["verdict"]["sentence"][:20] in (out / name).read_text("utf-8")
    assert (out / content["verdict"]["exported"] / "saved_model.pb").is_file()
    assert not (out / "features").exists()
    assert "held out" in content["splits"]["dev"]
    runs = files(out / "runs")
    again = compare(load_comparison(path), out, export_anyway=True)
    assert json.loads(json.dumps(again).replace(str(out), str(before))) == content
    assert content["verdict"]["exported"].startswith("candidate/")
    assert content["verdict"]["sentence"].startswith("Use none of them yet: ")
    at_baseline = compare(load_comparison(path), out)["verdict"]
    assert (at_baseline["exported"], at_baseline["decided"]) == (None, False)
    assert not (out / "candidate").exists()
    assert files(out / "runs") == runs
    more = compare(load_comparison(path, seeds=3), out)
    assert [len(cell["scores"]) for cell in more["cells"]] == [3, 3]
    assert all(files(out / "runs")[file] == runs[file] for file in runs)
    with pytest.raises(ConfigError, match="training.epochs"):
        compare(load_comparison(path, ("training.epochs=3",)), out)
    with pytest.raises(ConfigError, match="data.train_examples"):
        compare(load_comparison(path, ("data.train_examples=20",)), out)
    record = json.loads((out / "comparison.json").read_text())
    record["data"]["dev"] = "another"
    records.write(out, "comparison.json", json.dumps(record))
    with pytest.raises(DataError, match="the data have changed.*dev"):
        compare(load_comparison(path), out)


def report_of(out) -> dict:
    return json.loads((out / "report.json").read_text("utf-8"))


def test_parts_of_train_have_curves_and_other_numbers_run_what_is_new(
    write_config, workers_here, tmp_path
):
    one = {"adaptations": ["feature_extraction"], "seeds": 1}
    path = write_config(data={"train_examples": None}, train_examples=[16, "all"], **one)
    out = tmp_path / "out"
    content = compare(load_comparison(path), out)
    small, whole = content["learning_curves"]["points"]
    assert (small["examples"], whole["examples"], content["examples"]["train"]) == (16, 135, 135)
    for cell in content["cells"]:
        assert whole["cells"][cell["id"]]["scores"] == cell["scores"]
        home = out / "runs" / cell["id"] / "examples_16" / "rate_0.01"
        for seed, score in enumerate(small["cells"][cell["id"]]["scores"]):
            metrics = json.loads((home / f"seed_{seed}" / "metrics.json").read_text())
            assert score == metrics["test"]["accuracy"]
            assert metrics["splits"]["train"].endswith(": 16 examples of 135")
            config = yaml.safe_load((home / f"seed_{seed}" / "config.yaml").read_text())
            assert config["data"]["train_examples_seed"] == seed
    assert (out / "figures" / "examples.svg").is_file()
    assert "Learning curves: how many labels" in (out / "report.md").read_text("utf-8")
    before = files(out / "runs")
    assert compare(load_comparison(path), out) == content
    assert files(out / "runs") == before
    # Without the key, what was run with all of train stays; with fewer, that is what is judged.
    plain = compare(load_comparison(path, ("compare.train_examples=null",)), out)
    assert plain["cells"] == content["cells"]
    less = compare(load_comparison(path, ("compare.train_examples=[16]",)), out)
    assert less["learning_curves"] is None
    assert less["examples"]["train"] == 16
    assert less["splits"]["train"].endswith(": 16 examples of 135, others with each seed")
    assert [cell["scores"] for cell in less["cells"]] == [
        small["cells"][cell["id"]]["scores"] for cell in less["cells"]
    ]
    assert files(out / "runs") == before


def said(out) -> dict:
    """The predictions of all runs."""
    runs = out / "runs"
    return {str(p.relative_to(runs)): p.read_bytes() for p in runs.rglob("predictions/*.tsv")}


def test_a_cell_whose_score_still_rises_is_trained_again_with_more_epochs(
    write_config, workers_here, sketched, tmp_path
):
    path = write_config(adaptations=["feature_extraction"], seeds=1, extend=True)
    comparison, out = load_comparison(path), tmp_path / "out"
    (cell,) = comparison.cells
    first = Outcomes(comparison, out).run(cell, 1e-2, 0).folder
    compare(replace(comparison, extend=False), out)
    rows = [{"epoch": epoch, "dev_accuracy": score} for epoch, score in ((1, 0.5), (2, 0.6))]
    run_folder.write_history(first, rows)
    content = compare(comparison, out)
    again = first.parents[1] / "epochs_4" / "rate_0.01" / "seed_0"
    assert yaml.safe_load((again / "config.yaml").read_text())["training"]["epochs"] == 4
    assert len(run_folder.read_history(again)) == 4
    (shown,) = content["cells"]
    assert shown["scores"] == [json.loads((again / "metrics.json").read_text())["test"]["accuracy"]]
    assert "training.epochs=4" in shown["commands"][0]
    assert "by the seeds' curves" in content["extended"][0]
    assert content["extended"][0][:60] in (out / "report.md").read_text("utf-8")
    files_before = files(out / "runs")
    assert compare(comparison, out) == content
    assert files(out / "runs") == files_before


def test_threads_are_those_that_a_comparison_was_begun_with(write_config, workers_here, tmp_path):
    out = tmp_path / "out"
    begun = load_comparison(write_config(training={"max_length": 8}), ("compare.threads=3",))
    with pytest.raises(DataError, match="expected at most 8 tokens"):
        compare(begun, out)
    assert json.loads((out / "comparison.json").read_text())["threads"] == 3
    with pytest.raises(ConfigError, match="expected 3 as when .*, got 1; .*set compare.threads: 3"):
        compare(load_comparison(write_config(training={"max_length": 8})), out)


def test_other_folders_are_refused(write_config, tmp_path):
    comparison = load_comparison(write_config())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(ArtifactError, match="expected the folder of a comparison"):
        compare(comparison, tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["notes.txt"]


def test_rates_are_chosen_on_dev_and_numbers_that_explode_lose(
    write_config, workers_here, undrawn, tmp_path
):
    path = write_config(
        adaptations=["feature_extraction"], learning_rates=[1.0e30, 1.0e-2], seeds=1
    )
    content = compare(load_comparison(path), tmp_path / "out")
    (cell,) = content["cells"]
    assert [one["score"] is None for one in cell["tried"]] == [True, False]
    assert cell["learning_rate"] == 1e-2
    folder = tmp_path / "out" / "runs" / cell["id"] / "rate_0.01"
    chose, counted = (
        json.loads((folder / f"seed_{seed}" / "metrics.json").read_text()) for seed in (1000, 0)
    )
    assert cell["tried"][1]["score"] == chose["dev"]["accuracy"]
    assert cell["scores"] == [counted["test"]["accuracy"]]


@pytest.mark.parametrize(
    ("moments", "more"),
    [
        pytest.param([None], (), id="in training"),
        pytest.param(
            np.random.default_rng(7).uniform(3, 25, size=10),
            ("--export-anyway",),
            id="random",
            marks=pytest.mark.large,
        ),
    ],
)
def test_v5_killed_and_begun_again(whole, tmp_path, moments, more):
    """V5: killed in between, and with another number of processes, the same predictions, verdict
    and report, times excepted.

    Args:
        moments: seconds after each command; None: as soon as a run has an epoch.
    """
    path, _, expected, predictions = whole
    out, workers = tmp_path / "killed", []
    for seconds in moments:
        process = subprocess.Popen(command(path, out, *more), stderr=subprocess.DEVNULL)
        if seconds is None:
            wait_for_an_epoch(out, process)
        else:
            time.sleep(seconds)
        started = _children(process.pid)
        process.kill()
        process.wait()
        for worker in started[::2]:  # the runs of the others outlive the comparison
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        workers += started
    deadline = time.monotonic() + 300
    while any(map(_is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(moments) > 1 or not (out / "report.json").exists()
    last = command(path, out, *more, "--jobs", "1")
    done = subprocess.run(last, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (moments, done.stderr)
    content = json.loads((out / "report.json").read_text())
    if not more:
        content["verdict"]["exported"] = expected["verdict"]["exported"]
    assert without_times(content) == without_times(expected)
    assert said(out) == predictions


def test_ctrl_c_saves_and_says_how_to_go_on(write_config, tmp_path):
    out = tmp_path / "out"
    path = write_config(training={"epochs": 500}, adaptations=["feature_extraction"])
    arguments = command(path, out, "--jobs", "1")
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    wait_for_an_epoch(out, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1].startswith("Interrupted: the same command goes on")
    assert list(out.rglob("checkpoint"))
    assert not _at_work(out)


def wait_for_an_epoch(out, process) -> None:
    deadline = time.monotonic() + 240
    while not list((out / "runs").rglob("history.csv")):
        if time.monotonic() > deadline or process.poll() is not None:
            process.kill()
            pytest.fail("no run has an epoch")
        time.sleep(0.1)


def _children(pid: int) -> list[int]:
    """Processes that this one started, also those that hold no run folder yet."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        stat = _stat(path.name)
        if stat is not None and stat[1] == str(pid):
            found.append(int(path.name))
    return found


def _is_running(pid: int) -> bool:
    stat = _stat(pid)
    return stat is not None and stat[0] != "Z"  # an orphan may never be reaped


def _stat(pid: int | str) -> list[str] | None:
    """Its state, its parent, …: proc(5); a name in brackets goes before them."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _at_work(out) -> list[int]:
    """Processes that hold a run folder."""
    found = []
    for lock in out.rglob(".lock"):
        with contextlib.suppress(ValueError):
            found.append(int(lock.read_text()))
    return [pid for pid in found if _is_running(pid)]


@pytest.mark.large
def test_i9_two_comparisons_on_one_cache_at_once(write_config, tmp_path):
    path = write_config(adaptations=["feature_extraction"], seeds=1)
    cache = tmp_path / "cache"
    outs = [tmp_path / "first", tmp_path / "second"]
    processes = [subprocess.Popen(command(path, out, "--cache", str(cache))) for out in outs]
    assert [process.wait(300) for process in processes] == [0, 0]
    first, second = (json.loads((out / "report.json").read_text()) for out in outs)
    assert without_times(first) == without_times(second)
    assert len(list(cache.glob("*/features"))) == 3
    assert not list(cache.rglob("*.partial"))


def test_a_comparison_in_use(write_config, tmp_path):
    from tf_adapt.runs.run_folder import locked

    with locked(tmp_path / "out"), pytest.raises(ArtifactError, match="in use by pid"):
        compare(load_comparison(write_config()), tmp_path / "out")
