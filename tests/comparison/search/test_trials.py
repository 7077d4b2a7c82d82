"""The trials of a search: one after another, from their folders, as many in every cell."""

import pytest
from closed_form_search import finish, outcomes_of, run_all

from tf_adapt.comparison.execution.outcomes import CHOOSING_SEED
from tf_adapt.comparison.execution.runs import CellRun, remember_failure
from tf_adapt.comparison.search.results import search_results
from tf_adapt.comparison.search.trials import seconds_of, spent

RATE = "training.learning_rate"


def test_p3_equal_trials_with_any_jobs_and_after_kills(searching, tmp_path):
    comparison = searching()
    alone = run_all(comparison, tmp_path / "alone", at_once=1)
    assert [setting.number for _, _, setting in alone] == 2 * list(range(6))
    assert run_all(comparison, tmp_path / "three", at_once=3) == alone
    assert run_all(comparison, tmp_path / "killed", at_once=2, killed_every=3) == alone


def test_a_killed_trial_goes_on_with_the_config_in_its_folder(searching, tmp_path, monkeypatch):
    comparison = searching(adaptations=["tune"])
    outcomes = outcomes_of(comparison, tmp_path)
    run = next(outcomes.waiting())
    finish(run)
    (run.folder / "metrics.json").unlink()

    def no_draw(*arguments):
        raise AssertionError("a setting that is in a folder is drawn again")

    monkeypatch.setattr("tf_adapt.comparison.search.trials.next_values", no_draw)
    again = next(outcomes_of(comparison, tmp_path).waiting())
    assert again.arguments() == run.arguments() and again == run


def test_one_trial_of_a_cell_waits_at_a_time_and_its_setting_is_its_arguments(searching, tmp_path):
    waiting = list(outcomes_of(searching(), tmp_path).waiting())
    assert sorted(run.cell.config.adaptation.name for run in waiting) == [
        "feature_extraction",
        "fine_tuning",
    ]
    for run in waiting:
        assert run.seed == CHOOSING_SEED and run.folder.parts[-2:] == ("trial_0", "seed_1000")
        for key, value in run.setting.values:
            text = "null" if value is None else str(value).replace("e-05", "e-5")
            assert any(argument.startswith(f"{key}={text}"[:12]) for argument in run.arguments())


def test_the_best_on_dev_is_run_with_fresh_seeds_to_its_end(searching, tmp_path):
    comparison = searching({"pruner": "hyperband", "trials": 9})
    trials = run_all(comparison, tmp_path, at_once=2)
    assert any(setting.stop_below for _, _, setting in trials)
    outcomes = outcomes_of(comparison, tmp_path)
    for cell in comparison.cells:
        best = outcomes.chosen(cell)
        scores = [outcomes.score(run, "dev") for run in outcomes.trials(cell)]
        assert outcomes.score(best, "dev") == max(scores)
        for seed, run in enumerate(outcomes.final_runs(cell)):
            assert run.seed == seed and run.folder.parts[-2] == f"trial_{best.setting.number}"
            assert run.setting.values == best.setting.values and not run.setting.stop_below
    found = search_results(outcomes)
    by_cell = {name: [t.ended for t in cell.trials] for name, cell in found.cells.items()}
    assert {len(ended) for ended in by_cell.values()} == {9}  # the same budget
    assert all("stopped" in ended and "whole" in ended for ended in by_cell.values())
    for cell in found.cells.values():
        assert sum(trial.chosen for trial in cell.trials) == 1
        assert cell.expected_best[-1] <= max(trial.score for trial in cell.trials)
        assert cell.seconds == 12.0 * 9
        assert RATE in cell.importance


def test_a_budget_in_minutes_ends_the_trials_of_a_cell(searching, tmp_path):
    # Each made run says that it took 12 seconds.
    comparison = searching({"minutes": 0.5})
    trials = run_all(comparison, tmp_path, at_once=2)
    assert [setting.number for _, _, setting in trials] == [0, 1, 2, 0, 1, 2]
    more = searching({"minutes": 0.7})
    assert run_all(more, tmp_path, at_once=1)[:3] == trials[:3]


def test_trials_that_diverge_spend_the_budget_too(searching, tmp_path):
    (cell,) = searching({"minutes": 0.5}, adaptations=["tune"]).cells
    runs = [CellRun(cell, 1e-3, seed, tmp_path) for seed in range(4)]
    spent_by = {runs[0].folder: 12.0, runs[2].folder: 8.0}

    def metrics(run):
        seconds = spent_by.get(run.folder)
        return None if seconds is None else {"seconds": {"total": seconds}}

    assert seconds_of(runs, metrics) == 40.0
    assert seconds_of(runs[1:2], metrics) == 0.0


def test_what_a_killed_trial_spent_before_counts():
    seconds = {"training": 50.0, "evaluation": 9.0, "serving_per_1000": 2.0}
    assert spent({"seconds": seconds | {"total": 70.0}}) == 70.0
    assert spent({"seconds": seconds | {"total": 20.0}}) == 59.0  # of its last process


def test_a_trial_that_diverges_counts_and_others_follow(searching, tmp_path):
    comparison = searching({"trials": 3}, adaptations=["tune"])
    (cell,) = comparison.cells
    outcomes = outcomes_of(comparison, tmp_path)
    first = next(outcomes.waiting())
    finish(first)
    (first.folder / "metrics.json").unlink()
    remember_failure(first, "the loss is not finite")
    trials = run_all(comparison, tmp_path, at_once=1)
    assert trials[0][2].values == first.setting.values and len(trials) == 3
    found = search_results(outcomes_of(comparison, tmp_path)).cells[cell.name]
    assert [trial.ended for trial in found.trials] == ["diverged", "whole", "whole"]
    for run in outcomes_of(comparison, tmp_path).trials(cell)[1:]:
        (run.folder / "metrics.json").unlink()
        remember_failure(run, "the loss is not finite")
    outcomes = outcomes_of(comparison, tmp_path)
    assert outcomes.is_hopeless(cell) and outcomes.chosen(cell) is None
    assert list(outcomes.waiting()) == [] and outcomes.counts() == (3, 3)


def test_folds_choose_apart_and_are_scored_by_fresh_runs(searching, tmp_path):
    rows = "".join(f"text {n}\t{'ab'[n % 2]}\n" for n in range(60))
    (tmp_path / "all.tsv").write_text("t\tl\n" + rows, "utf-8")
    data = {"format": "tsv", "kind": "classification", "train": str(tmp_path / "all.tsv")}
    data["columns"] = {"text": "t", "label": "l"}
    comparison = searching({"trials": 2}, data=data, adaptations=["tune"], folds=3)
    (cell,) = comparison.cells
    assert outcomes_of(comparison, tmp_path).counts() == (0, 3 * 2 + 2 * 3)  # trials and repeats
    trials = run_all(comparison, tmp_path, at_once=3)
    assert [(fold.leave_out, setting.number) for _, fold, setting in trials] == [
        (fold, number) for fold in range(3) for number in range(2)
    ]
    outcomes = outcomes_of(comparison, tmp_path)
    chosen = outcomes.chosen_trials(cell)
    seeds = {run.seed for run in outcomes.trials(cell)}
    repeats = outcomes.final_runs(cell)
    for repeat in repeats:
        values = [run.setting.values for run in repeat.folds]
        assert values == [trial.setting.values for trial in chosen]
        assert not seeds & {run.seed for run in repeat.folds}
    assert outcomes.counts() == (12, 12)
    outcomes.refit = cell
    exported = outcomes.export_runs(cell)
    assert len({run.folder for run in exported}) == len({t.setting.values for t in chosen})
    assert all(run.fold.leave_out is None for run in exported)


def test_a_comparison_without_optuna_says_what_to_install(searching, tmp_path, monkeypatch):
    import sys

    from tf_adapt.comparison.comparing import compare
    from tf_adapt.errors import ConfigError

    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install 'tf_adapt\[search\]'"):
        compare(searching(), tmp_path / "out")
