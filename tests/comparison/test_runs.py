"""Which run comes next, which rate is chosen, and what is never run again."""

import finished_runs
import pytest

from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import remember_failure
from tf_adapt.errors import ArtifactError


@pytest.fixture
def make(comparison_of, tmp_path):
    def outcomes(rates=(1e-3, 3e-4), **changes):
        comparison = comparison_of(learning_rates=list(rates), **changes)
        return Outcomes(comparison, tmp_path / "out")

    return outcomes


def finish(run, dev, test=0.5):
    finished_runs.finish(run.folder, dev={"accuracy": dev}, test={"accuracy": test})


def names(runs) -> list[str]:
    return [f"{run.cell.config.adaptation.name} {run.rate:g} {run.seed}" for run in runs]


def test_the_trials_of_a_cell_come_first_then_its_seeds_and_frozen_cells_last(make):
    """The seed that chooses is not among those whose scores count."""
    outcomes = make(seeds=3)
    first = names(outcomes.waiting())
    assert first == [
        "fine_tuning 0.001 1000",
        "fine_tuning 0.0003 1000",
        "feature_extraction 0.001 1000",
        "feature_extraction 0.0003 1000",
    ]
    assert outcomes.counts() == (0, 10)
    scores = [0.8, 0.7, 0.5, 0.6]
    for run, score in zip(list(outcomes.waiting()), scores, strict=True):
        finish(run, score)
    assert names(outcomes.waiting()) == [
        "fine_tuning 0.001 0",
        "fine_tuning 0.001 1",
        "fine_tuning 0.001 2",
        "feature_extraction 0.0003 0",
        "feature_extraction 0.0003 1",
        "feature_extraction 0.0003 2",
    ]
    assert outcomes.counts() == (4, 10)


def test_one_rate_needs_no_trial_and_goes_on_after_a_seed_that_diverged(make):
    outcomes = make(rates=(1e-3,), adaptations=["fine_tuning"])
    assert names(outcomes.waiting()) == ["fine_tuning 0.001 0", "fine_tuning 0.001 1"]
    remember_failure(next(outcomes.waiting()), "not finite")
    assert names(outcomes.waiting()) == ["fine_tuning 0.001 1"]
    assert outcomes.counts() == (1, 2)


def test_the_first_of_equal_rates_is_chosen_and_undefined_scores_are_not(make):
    outcomes = make(rates=(1e-2, 1e-3, 3e-4))
    cells = outcomes.comparison.cells
    for run, score in zip(outcomes.trials(cells[0]), (0.5, 0.7, 0.7), strict=True):
        finish(run, score)
    for run, score in zip(outcomes.trials(cells[1]), (None, -0.2, None), strict=True):
        finish(run, score)
    assert [outcomes.chosen_rate(cell) for cell in cells] == [1e-3, 1e-3]


def test_a_run_that_left_the_finite_numbers_is_not_tried_again(make):
    outcomes = make()
    cell = outcomes.comparison.cells[0]
    first, second = outcomes.trials(cell)
    remember_failure(first, "step 1: the loss is not finite")
    assert outcomes.chosen_rate(cell) is None
    finish(second, 0.1)
    assert outcomes.chosen_rate(cell) == second.rate
    assert first.folder not in [run.folder for run in outcomes.waiting()]
    assert "finite" in first.failure.read_text()


def test_a_cell_whose_rates_all_fail_is_over(make):
    outcomes = make(seeds=3)
    for cell in outcomes.comparison.cells:
        for run in outcomes.trials(cell):
            remember_failure(run, "not finite")
    assert not list(outcomes.waiting())
    assert outcomes.counts() == (4, 4)


def test_more_seeds_run_only_what_is_new(make):
    outcomes = make(seeds=1, rates=(1e-3,))
    for run in list(outcomes.waiting()):
        finish(run, 0.5)
    assert not list(outcomes.waiting())
    more = make(seeds=3, rates=(1e-3,))
    assert [run.seed for run in more.waiting()] == [1, 2, 1, 2]
    cells = make(seeds=1, rates=(1e-3,), adaptations=["fine_tuning", "two_stage"])
    assert names(cells.waiting()) == ["two_stage 0.001 0"]


def test_the_command_of_a_run_repeats_it(make):
    run = next(make().waiting())
    arguments = run.arguments()
    assert arguments[0] == "train"
    assert arguments[1] == str(run.config)
    assert arguments[arguments.index("--out") + 1] == str(run.folder)
    assert arguments[arguments.index("--set") + 1] == "training.learning_rate=0.001"
    assert arguments[-2:] == ["--seed", "1000"]


def test_damaged_metrics(make):
    outcomes = make()
    run = next(outcomes.waiting())
    run.folder.mkdir(parents=True)
    (run.folder / "metrics.json").write_text("{")
    with pytest.raises(ArtifactError, match=r"record\.json: cannot be read"):
        list(outcomes.waiting())
