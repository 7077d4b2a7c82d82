"""What a comparison adds by itself to cells that are not trained to the end."""

import json
from dataclasses import replace

import finished_runs
import pytest

from hub_modules.storage import records
from tf_adapt.comparison import comparing, extending, written_report
from tf_adapt.comparison.execution.outcomes import CHOOSING_SEED, Outcomes
from tf_adapt.comparison.execution.runs import remember_failure
from tf_adapt.comparison.extending import extensions, judging, outcomes_of
from tf_adapt.comparison.plan.cells import HIGHER, LOWER, Extension
from tf_adapt.comparison.plan.extension import extended, next_rate
from tf_adapt.comparison.verdict.training_ended import at_an_edge, rises
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.report.scored_cells import Trial
from tf_adapt.runs import run_folder
from tf_adapt.statistics.metrics import METRICS

RATES = [1.0e-3, 3.0e-3, 6.0e-3]
FLAT, RISING = (0.8, 0.8, 0.8), (0.6, 0.7, 0.8)


def finish(run, curve, labels=(), test=0.5):
    """What is read of a run: a dev score after each epoch, predictions, and scores."""
    rows = [{"epoch": number, "dev_accuracy": score} for number, score in enumerate(curve, 1)]
    run_folder.write_history(run.folder, rows)
    said = {
        "test": "".join(f"{line}{finished_runs.QUARTERS}\n" for line in ["prediction", *labels])
    }
    scores = {"dev": {"accuracy": max(curve)}, "test": {"accuracy": test}}
    finished_runs.finish(run.folder, said, **scores)


@pytest.fixture
def make(comparison_of, tmp_path):
    """The runs of a comparison of ❄ and 🔥 that decide, and its data."""

    def made(**changes):
        changes = {"learning_rates": RATES, "extend": True} | changes
        comparison = comparison_of({"held_out": 0.2}, **changes)
        splits = load_splits(comparison.cells[0].config.data)
        only = comparison.trials > 1
        return Outcomes(judging(comparison), tmp_path / "out", trials_only=only), splits

    return made


def finish_trials(outcomes, *curves_of_cells, test=0.5):
    for cell, curves in zip(outcomes.comparison.cells, curves_of_cells, strict=True):
        for run, curve in zip(outcomes.trials(cell), curves, strict=True):
            finish(run, curve, test=test) if curve else remember_failure(run, "not finite")


WELL = [(0.7, 0.7, 0.7), FLAT, (0.75, 0.75)]
DECIDED = [
    # The last epoch is the best with most of the trials, the chosen one among them.
    ([(0.5, 0.6, 0.7), RISING, (0.75, 0.75)], True, ()),
    ([(0.5, 0.6, 0.7), FLAT, (0.5, 0.6, 0.75)], False, ()),
    ([(0.7, 0.7), RISING, (0.75, 0.75)], False, ()),
    ([FLAT, (0.7, 0.7), (0.6, 0.6)], False, (LOWER,)),
    ([(0.6, 0.6), (0.7, 0.7), FLAT], False, (HIGHER,)),
    ([(0.6, 0.6), (0.797, 0.797), FLAT], False, ()),  # less than half a point better
    ([FLAT, None, None], False, (LOWER,)),  # the others diverged
    ([(0.05, 0.05), (0.06, 0.06), (0.06, 0.05)], True, ()),  # chance, and the other cell is not
    ([None, None, None], False, ()),
    (WELL, False, ()),
]


def test_a_point_is_the_metrics_own():
    points = METRICS["accuracy"].point, METRICS["log_probability"].point
    for last, expected in ((-6.998, (False, False)), (-6.98, (True, False)), (-6.97, (True, True))):
        assert tuple(rises([(-7.0, last)], point) for point in points) == expected
        trials = [Trial(rate, score) for rate, score in ((1, -8.0), (2, -7.0), (3, last))]
        found = tuple(at_an_edge(trials, 3, point) is not None for point in points)
        assert found == expected


def test_trials_decide_and_nothing_that_is_scored(make, tmp_path):
    """It is decided before any scored seed is trained, and so cannot favour a cell by chance."""
    outcomes, splits = make()
    comparison = outcomes.comparison
    for number, (curves, epochs, rates) in enumerate(DECIDED):
        outcomes = Outcomes(comparison, tmp_path / f"{number}", trials_only=True)
        finish_trials(outcomes, curves, WELL)
        assert all(not outcomes.final_runs(cell) for cell in comparison.cells)
        found = extensions(outcomes, splits)
        assert list(found) == (["feature_extraction"] if epochs or rates else []), curves
        for extension in found.values():
            assert (extension.epochs, extension.rates) == (epochs, rates), curves
    # Both cells are at chance; a simple model on these texts is not.
    outcomes = Outcomes(comparison, tmp_path / "chance", trials_only=True)
    finish_trials(outcomes, *[[(0.05, 0.05)] * 3] * 2)
    assert list(extensions(outcomes, splits)) == ["feature_extraction", "fine_tuning"]
    outcomes = Outcomes(comparison, tmp_path / "0", trials_only=True)
    before = extensions(outcomes, splits)
    finish_trials(outcomes, DECIDED[0][0], WELL, test=0.99)
    splits.examples["test"].clear()
    assert extensions(Outcomes(comparison, tmp_path / "0", True), splits) == before != {}


def test_without_trials_most_seeds_decide_on_dev(make):
    outcomes, splits = make(learning_rates=[1e-3], seeds=3)
    for cell, curves in zip(
        outcomes.comparison.cells,
        ([RISING, RISING, FLAT], [RISING, FLAT, FLAT]),
        strict=True,
    ):
        for run, curve in zip(outcomes.final_runs(cell), curves, strict=True):
            finish(run, curve)
    (extension,) = extensions(outcomes, splits).values()
    assert (extension.epochs, extension.rates) == (True, ())
    assert list(extension.why) == [outcomes.comparison.cells[0].name]


def test_the_next_rate_keeps_the_ratio_at_its_end():
    assert next_rate((1e-3, 6e-3, 3e-3), HIGHER) == 1.2e-2
    assert next_rate((3e-4, 1e-4, 3e-5), LOWER) == 9e-6
    assert next_rate((3e-3, 1e-3, 3e-4), HIGHER) == 9e-3
    assert next_rate((3e-3, 1e-3, 3e-4), LOWER) == 9e-5


def test_all_cells_of_an_adaptation_get_the_same_and_others_nothing(make):
    comparison = make(encoders=["elmo_small", {"handle": "elmo_small", "pretrained": False}])[
        0
    ].comparison
    both = Extension(True, (HIGHER, LOWER), {comparison.cells[0].name: "why"})
    more = extended(comparison, {"feature_extraction": both})
    for before, cell in zip(comparison.cells, more.cells, strict=True):
        if cell.config.adaptation.name == "feature_extraction":
            assert cell.rates == (*RATES, 1.2e-2, 3.3e-4)
            assert cell.more_epochs == cell.config.training.epochs == 4
        else:
            assert cell == before
    assert more.trials == 3
    assert extended(replace(comparison, extend=False), {"feature_extraction": both}).cells == (
        comparison.cells
    )
    run = Outcomes(more, extending.Path("out")).run(more.cells[0], 1e-3, 0)
    assert run.folder.parts[-3:] == ("epochs_4", "rate_0.001", "seed_0")
    assert "training.epochs=4" in run.arguments()


@pytest.fixture
def compare(make, tmp_path, monkeypatch):
    """Compares ❄, whose curves rise with 2 epochs and not with 4, and 🔥, by made-up runs."""
    outcomes, splits = make(seeds=3)
    gold = [record.label for record in splits.examples["test"]]
    some_wrong = [gold[number - (number % 3 == 0)] for number in range(len(gold))]
    monkeypatch.setattr(written_report, "write_report", lambda content, out: None)
    monkeypatch.setattr(written_report, "export_best", lambda *others: None)
    calls = []

    def compared(comparison=outcomes.comparison, killed_in=None, **keywords):
        def run_all(outcomes, *others):
            calls.append(len(calls))
            while waiting := list(outcomes.waiting()):
                for run in waiting:
                    frozen = run.cell.config.adaptation.name == "feature_extraction"
                    curve = RISING if frozen and run.cell.more_epochs is None else FLAT
                    curve = [score - abs(run.rate - RATES[1]) for score in curve]
                    finish(run, curve, gold if frozen else some_wrong, 1.0)
                    if killed_in == (outcomes.trials_only, run.seed):
                        raise KeyboardInterrupt

        monkeypatch.setattr(comparing, "run_all", run_all)
        return comparing.compare(comparison, tmp_path / "out", **keywords)

    return outcomes.comparison, compared, tmp_path / "out"


def test_it_is_added_once_before_the_verdict_and_after_a_kill_the_same(compare):
    comparison, compared, out = compare
    for killed_in in ((True, CHOOSING_SEED), (False, CHOOSING_SEED), (False, 1)):
        with pytest.raises(KeyboardInterrupt):
            compared(killed_in=killed_in)
    content = compared()
    frozen, tuned = comparison.cells
    runs = {str(path.parent.relative_to(out / "runs")) for path in out.rglob("metrics.json")}
    # No scored seed was trained without the epochs that were added.
    assert runs == {
        *(f"{frozen.name}/{home}" for home in homes("", [CHOOSING_SEED], RATES)),
        *(f"{frozen.name}/{home}" for home in homes("epochs_4/", [CHOOSING_SEED], RATES)),
        *(f"{frozen.name}/{home}" for home in homes("epochs_4/", range(3), RATES[1:2])),
        *(f"{tuned.name}/{home}" for home in homes("", [CHOOSING_SEED], RATES)),
        *(f"{tuned.name}/{home}" for home in homes("", range(3), RATES[1:2])),
    }
    (sentence,) = content.extended
    assert sentence.startswith("All cells of feature_extraction were given twice the epochs, once")
    assert "(elmo_small with feature_extraction (bcn head): its best epoch is the last" in sentence
    assert sentence in content.verdict.evidence["Scores and seeds"]
    assert content.different["training.epochs"] == {frozen.name: 4, tuned.name: 2}
    assert (content.look, content.trials) == (1, 3)
    (look,) = json.loads((out / "comparison.json").read_text())["looks"]
    assert look["runs"][frozen.name] == {"rate": 3e-3, "seeds": [0, 1, 2], "epochs": 4}
    assert "not trained to the end" not in content.verdict.sentence
    assert compared() == content
    # More seeds are trained as the first ones; without the extension it is another analysis.
    more = replace(comparison, seeds=tuple(range(4)))
    assert compared(more).look == 2
    outcomes = outcomes_of(more, out)
    added = outcomes.final_runs(outcomes.comparison.cells[0])[3].folder
    assert str(added.relative_to(out)).endswith("/epochs_4/rate_0.003/seed_3")
    plain = compared(replace(comparison, extend=False))
    assert (plain.look, plain.extended) == (3, None)


def homes(part, seeds, rates):
    return [f"{part}rate_{rate:g}/seed_{seed}" for rate in rates for seed in seeds]


def test_folders_of_earlier_versions_and_final_analyses_stay_as_they_are(compare, tmp_path):
    comparison, compared, out = compare
    compared(replace(comparison, extend=False), final=True)
    assert compared().extended is None
    record = json.loads((out / "comparison.json").read_text())
    assert record.pop("extended") is None
    record["looks"][0]["final"] = False
    records.write(out, "comparison.json", json.dumps(record))
    assert (compared().look, compared().extended) == (1, None)
