"""A comparison within minutes: what is screened, dropped, scored, and when it ends."""

import json
from dataclasses import replace
from types import SimpleNamespace

import finished_runs
import pytest
from click.testing import CliRunner

import tf_adapt as ta
from tf_adapt.commands.main import cli
from tf_adapt.comparison import comparing, written_report
from tf_adapt.comparison.budget import budgeted, screening
from tf_adapt.comparison.budget.clock import Clock
from tf_adapt.comparison.budget.costs import ENDING, MeasuredRun, Pace, ending_of, pace_of
from tf_adapt.comparison.budget.planned import budget_lines, planned_budget
from tf_adapt.comparison.budget.screening import SCREENING_SEED
from tf_adapt.comparison.execution.outcomes import CHOOSING_SEED
from tf_adapt.comparison.plan.scored_split import settled
from tf_adapt.comparison.plan_in_words import lines as plan_lines
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ConfigError
from tf_adapt.report.content import to_json
from tf_adapt.report.sections import sections
from tf_adapt.runs import run_folder

STEP = 5  # seconds between two looks at the clock


def test_what_takes_how_long_is_a_matter_of_epochs_and_examples():
    seconds = {"training": 10.0, "evaluation": 4.0, "total": 19.0}
    run = MeasuredRun("a", 0.5, 0.25, seconds)
    assert run.with_shares() == 5 + 10 * 2 * 4 + 4 * 2
    assert run.with_shares(0.5, 0.25) == 19
    pace = pace_of([([run], 38.0)], 2)
    assert pace.slowness == 2  # 38 seconds, of which the run says 19; the other process is idle
    assert pace.seconds({"a": 3, "b": 3}) == 2 * 3 * 93  # b is as slow as what is known
    assert pace_of([([run, run, replace(run, cell="b")], 38.0)], 2).slowness == 1
    assert Pace([run], 1.0, 2).seconds({"a": 1}, {"a": (0.5, 0.5)}) == 5 + 20 + 4
    # What follows takes longer with more texts (simple models) and answers (tests).
    texts = {"train": range(10_000), "dev": range(1000), "test": range(5000)}
    assert ending_of(texts, 4) == pytest.approx(ENDING + 16_000 / 5000 + 20_000 / 5000)


@pytest.fixture
def compare(comparison_of, tmp_path, monkeypatch):
    """Compares six cells by made-up runs, which turn the clock: `a_run` seconds each."""
    monkeypatch.setattr(written_report, "write_report", lambda content, out: None)
    monkeypatch.setattr(written_report, "export_best", lambda *others: None)
    now, ended = [0.0], []
    monkeypatch.setattr("tf_adapt.comparison.budget.clock.time.monotonic", lambda: now[0])
    monkeypatch.setattr(screening, "FEWEST_STEPS", 1)
    comparison = comparison_of(
        {"held_out": 0.2},
        encoders=["elmo_small", {"handle": "elmo_small", "pretrained": False}],
        adaptations=["freeze", "tune", {"name": "top_layers", "layers": 1}],
        learning_rates=[1e-3, 3e-3],
        seeds=5,
    )
    gold = [one.label for one in load_splits(comparison.cells[0].config.data).examples["test"]]

    def compared(minutes=60.0, a_run=60.0, killed_in=None, final=False, **changes):
        """`killed_in`: the number of the run in which the process ends."""

        def run_all(outcomes, executor, display, until):
            while waiting := list(outcomes.waiting()):
                run = waiting[0]
                for _ in range(int(a_run(run) if callable(a_run) else a_run) // STEP):
                    now[0] += STEP
                    if until is not None and until():
                        return
                if killed_in == len(ended):
                    raise KeyboardInterrupt
                ended.append(run)
                best = run.cell.name == comparison.cells[1].name
                finish(run, gold, 1 if best and run.rate == 3e-3 else 3)

        monkeypatch.setattr(comparing, "run_all", run_all)
        changed = replace(comparison, minutes=minutes, **changes)
        return comparing.compare(
            changed,
            tmp_path / "out",
            final=final,
            clock=None if minutes is None else Clock(minutes),
        )

    return comparison, compared, ended, now, tmp_path / "out"


def finish(run, gold, wrong):
    """So many of four answers are wrong."""
    right = len(gold) * (4 - wrong) // 4
    said = "".join(
        f"{label}{finished_runs.QUARTERS}\n"
        for label in ["prediction", *gold[:right], *gold[right - 1 : right] * (len(gold) - right)]
    )
    score = 1 - wrong / 4 + 0.1 * run.cell.pretrained
    run_folder.write_history(run.folder, [{"epoch": 1, "dev_accuracy": score}])
    finished_runs.finish(
        run.folder,
        {"test": said},
        dev={"accuracy": score},
        test={"accuracy": right / len(gold)},
        seconds={"training": 0.0, "evaluation": 0.0, "serving_per_1000": 2.0, "total": 60.0},
    )


@pytest.mark.slow
def test_half_is_dropped_by_seeds_that_are_not_scored_and_the_rest_is_tested(compare):
    comparison, compared, ended, now, out = compare
    content = compared()
    frozen, tuned, top, *untrained = (cell.name for cell in comparison.cells)
    first, second = (
        [run for run in ended if run.seed == SCREENING_SEED + number] for number in (0, 1)
    )
    going = {frozen, tuned, top, untrained[0]}
    assert len(first) == 12 and {run.cell.name for run in second} == going
    train = content.examples["train"]
    assert {run.examples for run in first} == {-(-train // 3)}
    assert {run.cell.more_epochs for run in first} == {1}  # of 2
    assert {run.examples for run in second} == {-(-2 * train // 3)}
    scored = [run for run in ended if run.seed < SCREENING_SEED]
    assert {(run.cell.name, run.rate) for run in scored} == {
        (frozen, 1e-3), (tuned, 3e-3), (top, 1e-3), (untrained[0], 1e-3)
    }  # fmt: skip
    assert [run.examples for run in scored] == [None] * 20
    # Nothing of the screening is in the tests, and each cell of the config has its row.
    assert [cell.id for cell in content.cells] == [frozen, tuned, top, untrained[0]]
    assert content.seeds == [0, 1, 2, 3, 4] and content.verdict.recommended == tuned
    screened = {cell.id: cell for cell in content.budget.cells}
    assert list(screened) == [cell.name for cell in comparison.cells]
    assert [screened[name].scored for name in (frozen, tuned, *untrained)] == [
        True, True, True, False, False
    ]  # fmt: skip
    dropped = screened[untrained[1]]
    assert dropped.why == "number 5 of 6 cells in rung 1" and len(dropped.rungs) == 1
    assert dropped.rungs[0].scores == {"0.001": 0.25, "0.003": 0.25}
    assert "2 cells dropped unscored" in content.verdict.sentence
    texts = str(sections(content))
    assert untrained[2] in texts and "2 of 6 cells were dropped by a screening" in texts
    assert to_json(content)["budget"]["minutes"] == 60
    # The same again, and as many runs; without minutes the other cells are scored too.
    runs = len(ended)
    assert compared() == content and len(ended) == runs
    whole = compared(None)
    assert (whole.look, len(whole.cells), whole.budget) == (2, 6, None)
    assert {run.seed for run in ended[runs:]} == {0, 1, 2, 3, 4, CHOOSING_SEED}


@pytest.mark.slow
def test_a_killed_comparison_goes_on_with_the_time_that_is_left(compare):
    comparison, compared, ended, now, out = compare
    for killed_in in (5, 14, 20):  # a minute each
        with pytest.raises(KeyboardInterrupt):
            compared(34.0, killed_in=killed_in)
        assert len(ended) == killed_in
    used = json.loads((out / "comparison.json").read_text())["budget"]["used"]
    assert used == now[0] == 23 * 60
    content = compared(34.0)
    assert len({run.folder for run in ended}) == len(ended)
    # 12 + 8 + 9 runs, and three that were killed: no time for a fourth cell or seed.
    assert len(content.cells) == len(content.seeds) == 3 and content.budget.seconds == 32 * 60
    with pytest.raises(KeyboardInterrupt):
        compared(40.0, killed_in=30)
    content = compared(40.0)
    assert (len(content.cells), len(content.seeds), content.look) == (3, 5, 2)
    assert now[0] + ENDING <= 40 * 60


@pytest.mark.slow
@pytest.mark.parametrize("minutes", [20, 31])
def test_the_report_is_there_in_time_or_after_the_fewest_seeds(compare, minutes, capsys):
    """Runs with seed 3 hang; 11 + 9 runs of a minute and the end are the shortest comparison."""
    comparison, compared, ended, now, out = compare
    content = compared(float(minutes), a_run=lambda run: 300.0 if run.seed == 3 else 60.0)
    seconds = now[0] + ENDING
    shortest = 60 * len(ended) + ENDING
    assert len(content.seeds) == 3
    assert seconds <= max(60 * minutes + STEP, shortest)
    said = " ".join(capsys.readouterr().err.split())
    assert f"within {minutes} minutes: screens 6 cells, then scores at least 3 with 3 seeds" in said
    assert ("the shortest honest comparison (3 seeds of each)" in said) == (60 * minutes < shortest)


@pytest.mark.slow
def test_what_ended_by_a_final_analysis_before_it_was_screened_has_no_screening(compare):
    compared = compare[1]
    with pytest.raises(KeyboardInterrupt):
        compared(killed_in=2)
    whole = compared(None, final=True)
    assert compared() == whole and whole.budget is None


@pytest.mark.slow
def test_where_others_work_too_the_end_takes_longer(compare, monkeypatch):
    """On an idle machine there is time for a second rung."""
    comparison, compared, ended, now, out = compare
    monkeypatch.setattr(comparing, "executor_for", lambda *arguments: SimpleNamespace(room=2))
    monkeypatch.setattr(budgeted, "worked_seconds", lambda: now[0] / 20)
    compared(36.0)
    kept = json.loads((out / "comparison.json").read_text())["budget"]
    assert kept["load"] == 40 and now[0] + 40 * ENDING <= 60 * 36
    assert len(kept["rungs"]) == 1


def test_late_in_the_first_rung_each_cell_has_one_run(compare):
    comparison, compared, ended, now, out = compare
    content = compared(10.0)
    first = [run for run in ended if run.seed == SCREENING_SEED]
    # Five minutes; then those of cells without a run.
    assert [run.cell.name for run in first].count(comparison.cells[1].name) == 2
    assert {run.cell.name for run in first} == {cell.name for cell in comparison.cells}
    assert len(first) < 12 and not [run for run in ended if run.seed == SCREENING_SEED + 1]
    assert len(content.cells) == 3


@pytest.mark.slow
def test_the_same_command_trains_no_more_though_a_seed_was_slower_than_its_pace(compare):
    comparison, compared, ended, now, out = compare
    slow = compared(34.0, a_run=lambda run: 90.0 if run.seed < SCREENING_SEED else 30.0)
    runs = len(ended)
    assert compared(34.0, a_run=30.0) == slow and len(ended) == runs


REFUSED = [
    ({"train_examples": [8, 16]}, "several compare.train_examples"),
    ({"signals": {"many": {"ensemble": 2}}}, "ensembles in compare.signals"),
    ({"search": {"trials": 2}, "learning_rates": None}, "compare.search"),
]


@pytest.mark.parametrize(("changes", "what"), REFUSED)
def test_what_cannot_be_within_minutes_is_refused_by_name(write_config, changes, what):
    path = write_config(data={"train_examples": None}, **changes)
    result = CliRunner().invoke(cli, ["compare", str(path), "--out", "x", "--minutes", "5"])
    assert result.exit_code == ConfigError.exit_code
    assert f"--minutes: expected a comparison without {what}" in result.stderr


def test_neither_a_queue_nor_no_time_nor_a_folder_without_them(write_config, compare, tmp_path):
    path = str(write_config())
    for arguments, message in (
        (["--minutes", "5", "--slurm", "time=5"], "without --slurm, whose queue"),
        (["--minutes", "0"], "--minutes: expected a number above 0, got 0.0"),
    ):
        result = CliRunner().invoke(cli, ["compare", path, "--out", "x", *arguments])
        assert message in result.stderr and result.exit_code == ConfigError.exit_code
    with pytest.raises(ConfigError, match="minutes: expected a number above 0, got True"):
        ta.compare(path, tmp_path / "x", minutes=True)
    compared = compare[1]
    compared(None)
    with pytest.raises(ConfigError, match="--minutes: expected a comparison that was begun with"):
        compared()


@pytest.mark.slow
def test_a_dry_run_says_what_the_minutes_allow_and_whether_they_do(write_config, unmeasured):
    path = write_config(learning_rates=[1e-2, 3e-3], seeds=5)
    call = ["compare", str(path), "--dry-run", "--json", "--minutes", "0.1"]
    plan = json.loads(CliRunner().invoke(cli, call).stdout)
    little = plan["budget"]
    assert [(rung["cells"], rung["runs"]) for rung in little["rungs"]] == [(2, 4)]
    assert (little["finalists"], little["seeds"], little["asked"]) == (2, 3, 5)
    assert little["shortest"] == pytest.approx(little["seconds"])
    lines = plan_lines(plan)
    assert lines.index("without --minutes:") == lines.index(budget_lines(little, 0)[-1]) + 1
    assert "more than the 0.1 that are given: its report comes then" in budget_lines(little, 0)[-1]


def test_what_is_planned_fits_in_the_minutes(comparison_of):
    comparison = settled(comparison_of(learning_rates=[1e-3, 3e-3], seeds=5))
    seconds = {"training": 54.0, "evaluation": 0.0, "total": 60.0}
    pace = Pace([MeasuredRun(c.name, 1.0, 1.0, seconds) for c in comparison.cells], 1.0, 1)
    for minutes, rungs, seeds in ((8, 1, 3), (10, 2, 3), (12, 2, 4), (60, 2, 5)):
        planned = planned_budget(replace(comparison, minutes=float(minutes)), 10_000, pace)
        assert (len(planned.rungs), planned.seeds) == (rungs, seeds)
        # One of two epochs, on a third of the examples; two cells, two rates.
        assert planned.rungs[0].seconds == pytest.approx(4 * (6 + 54 / 6), rel=1e-3)
        assert planned.seconds == pytest.approx(
            sum(rung.seconds for rung in planned.rungs) + 2 * 60 * seeds + ENDING
        )
        assert planned.seconds <= 60 * minutes
