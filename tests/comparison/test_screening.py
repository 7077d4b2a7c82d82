"""The screening of a comparison within minutes: what its rungs train, and which cells go on."""

from dataclasses import replace

import finished_runs
import pytest

from tf_adapt.comparison import record
from tf_adapt.comparison.budget.budgeted import Budgeted
from tf_adapt.comparison.budget.clock import Clock
from tf_adapt.comparison.budget.costs import ENDING
from tf_adapt.comparison.budget.halving import OTHERS, finalists, group_of, guaranteed, kept
from tf_adapt.comparison.budget.progress import RungRecord, read_progress, write_progress
from tf_adapt.comparison.budget.results import screened
from tf_adapt.comparison.budget.screening import SCREENING_SEED, Screening
from tf_adapt.comparison.execution.runs import remember_failure
from tf_adapt.comparison.plan.scored_split import settled
from tf_adapt.errors import ConfigError
from tf_adapt.paper import FROZEN, TUNED
from tf_adapt.report.budget import section

CELLS = dict.fromkeys("abcdefgh", (1.0, 2.0, 3.0))


def scores_of(**best):
    """The second rate is the best, the first nearly so."""
    return {name: {1.0: score - 0.01, 2.0: score, 3.0: 0.0} for name, score in best.items()}


def test_half_of_the_cells_go_on_and_the_best_of_each_group():
    scores = [scores_of(**{name: 0.9 - place / 10 for place, name in enumerate(CELLS)})]
    groups = dict.fromkeys(CELLS, TUNED) | {"h": FROZEN}
    going = kept(CELLS, scores, groups)
    assert going == dict.fromkeys("abch", (1.0, 2.0))
    assert finalists(CELLS, scores, groups, 3) == {"a": 2.0, "b": 2.0, "h": 2.0}
    assert list(finalists(CELLS, scores, groups, 4)) == ["a", "b", "c", "h"]
    # A cell's last rung counts; one that came no further is behind.
    later = [*scores, {"c": {1.0: 0.2, 2.0: 0.1}, "a": {1.0: None}}]
    assert finalists(going, later, groups, 3) == {"a": 1.0, "c": 1.0, "h": 2.0}
    assert [group_of(TUNED, True), group_of(TUNED, False), group_of("lora", True)] == [
        TUNED, OTHERS, OTHERS
    ]  # fmt: skip


def test_a_second_frozen_cell_takes_the_place_of_no_other():
    groups = {"a": FROZEN, "b": FROZEN, "c": TUNED, "d": OTHERS}
    assert guaranteed("abcd", groups) == {"a": FROZEN, "c": TUNED, "d": OTHERS}
    assert guaranteed("bac", groups) == {"b": FROZEN, "c": TUNED, "a": OTHERS}


def begun(comparison, out, **progress):
    """The folder of a comparison whose first rung was begun."""
    out.mkdir()
    record.begin(comparison, {}, {}, out)
    rungs = [RungRecord({cell.name: list(cell.rates) for cell in comparison.cells})]
    write_progress(out, replace(read_progress(out), rungs=rungs, **progress))


def test_cells_and_rates_that_were_not_screened_are_refused_by_name(comparison_of, tmp_path):
    comparison = replace(settled(comparison_of(learning_rates=[1e-3, 3e-3])), minutes=5.0)
    begun(comparison, tmp_path / "out")
    record.begin(replace(comparison, minutes=9.0), {}, {}, tmp_path / "out")
    first, second = comparison.cells
    for cells, changed in (
        ((first,), rf"{second.name} \(rate 0.001\), {second.name} \(rate 0.003\)"),
        ((first, replace(second, rates=(1e-3, 3e-3, 1e-2))), rf"{second.name} \(rate 0.01\)"),
    ):
        changes = replace(comparison, cells=cells)
        with pytest.raises(ConfigError, match=rf"that were screened, got others \({changed}\)"):
            record.begin(changes, {}, {}, tmp_path / "out")
        record.begin(replace(changes, minutes=None), {}, {}, tmp_path / "out")


def test_a_rung_that_goes_on_with_fewer_processes_had_the_most(comparison_of, tmp_path):
    comparison = replace(settled(comparison_of()), minutes=5.0)
    begun(comparison, tmp_path / "out", processes=4)
    Budgeted(
        comparison, tmp_path / "out", 32, ENDING, Clock(5.0), lambda *_: 1, lambda _: None
    ).train()
    assert read_progress(tmp_path / "out").processes == 4


def test_no_rung_has_more_examples_than_a_scored_run(comparison_of, tmp_path):
    comparison = settled(comparison_of(train_examples=[1000]))
    rates = {cell.name: cell.rates for cell in comparison.cells}
    for number, epochs, examples in ((0, 2, 1000), (1, 2, 1000)):  # 100 steps of 32, and 200
        rung = Screening(comparison, tmp_path, rates, number, 1000)
        (cell, _) = rung.comparison.cells
        (run,) = rung.trials(cell)
        assert (cell.config.training.epochs, run.examples) == (epochs, examples)
        assert rung.shares(cell) == (1.0, 1.0) and run in rung.waiting()
        assert "data.train_examples=1000" in run.arguments()
    many = Screening(replace(comparison, sizes=(9000,)), tmp_path, rates, 0, 9000)
    assert {run.examples for cell in many.comparison.cells for run in many.trials(cell)} == {3200}
    whole = Screening(replace(comparison, sizes=(None,)), tmp_path, rates, 0, 1000)
    assert [run.examples for run in whole.trials(whole.comparison.cells[0])] == [None]


def test_an_undefined_score_is_not_that_of_a_run_that_diverged(comparison_of, tmp_path):
    comparison = settled(comparison_of(learning_rates=[1e-3, 3e-3], seeds=3))
    comparison = replace(comparison, minutes=5.0)
    out = tmp_path / "out"
    begun(comparison, out)
    (cell, _) = comparison.cells
    rung = Screening(comparison, out, read_progress(out).rungs[0].rates, 0, 32)
    first, second = rung.trials(rung.comparison.cells[0])
    finished_runs.finish(first.folder, dev={"accuracy": None})
    remember_failure(second, "loss is nan")
    write_progress(out, replace(read_progress(out), finalists={cell.name: 1e-3}, seeds=3))
    found = screened(comparison, out, 32)
    assert found.cells[0].rungs[0].diverged == ["0.003"]
    texts = str(section._rung(found.cells[0].rungs[0]))
    assert texts.index("undefined") < texts.index("rate 0.001") < texts.index("diverged")


def test_folds_that_are_never_scored(comparison_of, tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("text,label\n" + "".join(f"text {n},{n % 2}\n" for n in range(60)), "utf-8")
    columns = {"text": "text", "label": "label"}
    data = {"format": "csv", "kind": "classification", "train": str(path), "columns": columns}
    comparison = replace(comparison_of(data, folds=5), folds=5)
    rates = {cell.name: cell.rates for cell in comparison.cells}
    for number in (0, 1):
        rung = Screening(comparison, tmp_path / "out", rates, number, 40)
        (run,) = rung.trials(rung.comparison.cells[0])
        assert (run.fold.leave_out, run.fold.seed) == (number, SCREENING_SEED)
        # Beyond those of all folds of a thousand repeats.
        assert run.examples is None and run.seed == 5 * SCREENING_SEED + number > 5 * 1000
        finished_runs.finish(run.folder, dev={"accuracy": 0.9}, test={"accuracy": 0.7})
        assert rung.scores()[run.cell.name] == {1e-3: 0.7}
