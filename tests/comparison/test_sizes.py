"""Numbers of training examples: every mistake with its place, and the runs that they make."""

from types import SimpleNamespace

import finished_runs
import pytest

from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.plan.sizes import known_sizes
from tf_adapt.comparison.verdict.interim_analyses import (
    InterimAnalyses,
    InterimAnalysis,
    analyses_at,
    read_analyses,
)
from tf_adapt.errors import ConfigError


@pytest.fixture
def load(comparison_of):
    def read(sizes, rates=(1e-3,), seeds=2, **data):
        given = {"heads": ["linear"], "learning_rates": list(rates), "seeds": seeds}
        return comparison_of(data, train_examples=sizes, **given)

    return read


def test_numbers_ascend_and_all_is_the_last(load):
    assert load(None).sizes == (None,)
    assert load([10, 30, "all"]).sizes == (10, 30, None)
    assert load([10, 30]).sizes == (10, 30)
    assert load(["all"]).sizes == (None,)


OTHER_LISTS = [
    ([30, 10], "each once, got 30, 10"),
    ([10, 10], "each once, got 10, 10"),
    (["all", 10], "got 'all' in it"),
    (["all", "all"], "got 'all' in it"),
    ([0, 10], "got 0 in it"),
    ([-5], "got -5 in it"),
    ([10.0], "got 10.0 in it"),
    ([True, 10], "got True in it"),
    (["10"], "got '10' in it"),
    ([None], "got null in it"),
    ([[10]], "got a list in it"),
    ([], "compare.train_examples: expected a list of whole numbers"),
    (10, "compare.train_examples: expected a list of whole numbers"),
]


def test_other_lists_are_refused_with_their_place(load):
    for sizes, got in OTHER_LISTS:
        with pytest.raises(ConfigError) as error:
            load(sizes)
        assert got in str(error.value)
        assert "config.yaml:" in str(error.value)
        assert "a list of whole numbers from 1 in ascending order" in str(error.value)


def test_train_is_not_cut_in_two_places(load):
    with pytest.raises(ConfigError, match=r"data.train_examples: expected null beside .* got 50"):
        load([10, 30], train_examples=50)
    with pytest.raises(ConfigError, match=r"data.train_examples_seed: expected null .* got 1"):
        load([10, 30], train_examples_seed=1)
    with pytest.raises(ConfigError, match=r"data.leave_out: expected null beside .* got"):
        load([10, 30], leave_out={"of": 3, "part": 0})
    assert load([10, 30], train_examples=None).sizes == (10, 30)
    assert load(None, train_examples=50).cells[0].config.data.train_examples == 50


def test_a_number_that_train_does_not_have():
    assert known_sizes((10, 50, None), 120) == [10, 50, 120]
    assert known_sizes((10, 120), 120) == [10, 120]
    with pytest.raises(ConfigError, match=r"compare.train_examples: .* up to 120, .*got 1,121; `a"):
        known_sizes((10, 1121, None), 120)
    with pytest.raises(ConfigError, match="got 120 and all, which are the same"):
        known_sizes((10, 120, None), 120)


def test_each_number_has_runs_of_its_own_the_largest_first(load, tmp_path):
    outcomes = Outcomes(load([10, 30, "all"], seeds=1), tmp_path / "out")
    waiting = list(outcomes.waiting())
    assert [run.examples for run in waiting] == [None, 30, 10] * 2
    assert [run.cell.name[11:15] for run in waiting] == ["fine"] * 3 + ["feat"] * 3
    folders = [str(run.folder.relative_to(tmp_path / "out")) for run in waiting[:2]]
    assert folders == [
        "runs/elmo_small-fine_tuning-linear/rate_0.001/seed_0",
        "runs/elmo_small-fine_tuning-linear/examples_30/rate_0.001/seed_0",
    ]
    assert outcomes.counts() == (0, 6)
    assert "data.train_examples=30" not in waiting[0].arguments()
    for key in ("data.train_examples=30", "data.train_examples_seed=0"):
        assert key in waiting[1].arguments()
    for run in waiting[:2]:
        finished_runs.finish(run.folder, dev={"accuracy": 0.7}, test={"accuracy": 0.7})
    assert outcomes.counts() == (2, 6)
    assert [run.examples for run in outcomes.waiting()] == [10, None, 30, 10]


def test_a_rate_is_chosen_at_each_number(load, tmp_path):
    outcomes = Outcomes(load([10, "all"], rates=(1e-2, 1e-3)), tmp_path / "out")
    small, whole = outcomes.of_sizes()
    cell = outcomes.comparison.cells[0]
    for one, scores in ((small, (0.4, 0.6)), (whole, (0.8, 0.7))):
        for run, score in zip(one.trials(cell), scores, strict=True):
            assert run.seed == 1000
            finished_runs.finish(run.folder, dev={"accuracy": score}, test={"accuracy": 0.5})
    assert (small.chosen_rate(cell), whole.chosen_rate(cell)) == (1e-3, 1e-2)
    assert outcomes.chosen_rate(cell) == 1e-2
    assert [run.examples for run in small.final_runs(cell)] == [10, 10]


def test_another_largest_number_is_another_look(load, tmp_path):
    whole = Outcomes(load([10, "all"]), tmp_path / "out")
    part = Outcomes(load([10, 30]), tmp_path / "out")
    runs = analyses_at(whole, ()).present.runs
    assert all("examples" not in one for one in runs.values())
    names = tuple(runs)
    past = (InterimAnalysis(runs, (names,)),)
    assert analyses_at(whole, past).number == 1
    later = analyses_at(part, past)
    assert (later.number, later.standing) == (2, set())
    assert InterimAnalyses(past, InterimAnalysis(runs)).standing == {names}
    pair = SimpleNamespace(p_holm=0.1, decided=False)
    assert read_analyses(later.to_record([pair]))[1] == later.present
