"""A comparison whose examples are all scored, each by a model of the other folds."""

import csv
import json
from dataclasses import replace

import finished_runs
import numpy as np
import pytest

from tf_adapt.comparison.answers import fold_of_examples
from tf_adapt.comparison.comparing import compare
from tf_adapt.comparison.execution.executors import Resources
from tf_adapt.comparison.execution.fold_outcomes import FoldOutcomes
from tf_adapt.comparison.execution.runs import remember_failure
from tf_adapt.comparison.extending import extensions
from tf_adapt.comparison.inputs import checked_splits, comparison_splits
from tf_adapt.comparison.kept.answers import FILE, read_answers, write_answers
from tf_adapt.comparison.kept.scores import rescored
from tf_adapt.comparison.plan.scored_split import settled
from tf_adapt.comparison.results import results
from tf_adapt.comparison.verdict.interim_analyses import analyses_at
from tf_adapt.config.data_sections import FoldConfig
from tf_adapt.config.reading import dump_config, load_config
from tf_adapt.config.signal_sections import StartConfig
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.runs import run_folder
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.training.resolving import run_config
from tf_adapt.training.resolving.run_config import saved_config as load_run_config

TASK = {"kind": "classification", "labels": ["a", "b"], "metric": "accuracy", "scheme": "IOB2"}


@pytest.fixture
def in_a_file(comparison_of, tmp_path):
    """A comparison on one file of so many texts."""

    def make(count=100, group="", **changes):
        rows = "".join(f"text {n}\t{'ab'[n % 2]}\t{group or n}\n" for n in range(count))
        (tmp_path / "all.tsv").write_text("t\tl\tg\n" + rows, "utf-8")
        data = {
            "format": "tsv",
            "kind": "classification",
            "train": str(tmp_path / "all.tsv"),
            "columns": {"text": "t", "label": "l", "group": "g"},
            **changes.pop("data", {}),
        }
        return comparison_of(data, **changes)

    return make


def test_of_one_small_file_five_folds_are_the_default(in_a_file, tmp_path):
    small = settled(in_a_file(seeds=None))
    assert (small.folds, small.seeds) == (5, (0, 1))
    assert settled(in_a_file(seeds=None, folds=0)).seeds == (0, 1, 2, 3, 4)
    assert settled(in_a_file(seeds=3, folds=4)).folds == 4
    assert settled(in_a_file(2000)).folds == 0
    (tmp_path / "dev.tsv").write_text("t\tl\tg\nother\ta\t1\nmore\tb\t2\n", "utf-8")
    assert settled(in_a_file(data={"dev": str(tmp_path / "dev.tsv")})).folds == 0
    assert settled(in_a_file(train_examples=[20, "all"])).folds == 0


def test_one_split_of_a_small_file_scores_half_and_others_than_play_dev(in_a_file):
    comparison = settled(in_a_file(600, folds=0))
    scored = load_splits(comparison.data).examples["test"]
    alone = load_splits(comparison.data.model_copy(update={"held_out": None})).examples["dev"]
    assert (len(scored), len(alone)) == (300, 60)
    assert not {record.text_a for record in alone} <= {record.text_a for record in scored}


def test_suspicious_labels_are_said_before_anything_is_trained(in_a_file, tmp_path, caplog):
    comparison = in_a_file()
    rows = "".join(f"text {n}\t{['a', 'b', 'B'][n % 3]}\t{n}\n" for n in range(99))
    (tmp_path / "all.tsv").write_text(f"t\tl\tg\n{rows}text 1\trare\t1\n", "utf-8")
    checked_splits(comparison)
    for said in ("once in train: 'rare'", "case or space alone: 'B' and 'b'", "several labels"):
        assert said in caplog.text


REFUSED = {
    "dev": ({"data": {"dev": "dev.tsv"}}, "compare.folds: expected 0 or null beside data.dev"),
    "curve": ({"train_examples": [9]}, "compare.folds: .* beside compare.train_examples"),
    "given": ({"data": {"fold": {"of": 2}}}, "data.fold: expected null in a comparison"),
    "parts": (
        {"signals": {"x": {"leave_out_parts": 2}}},
        "leave_out_parts: expected null beside compare.folds",
    ),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_c1_beside_other_designs(in_a_file, tmp_path, changes, message):
    (tmp_path / "dev.tsv").write_text("t\tl\tg\nother\ta\t1\n", "utf-8")
    if "data" in changes and "dev" in changes["data"]:
        changes = {"data": {"dev": str(tmp_path / "dev.tsv")}}
    with pytest.raises(ConfigError, match=message):
        in_a_file(folds=5, **changes)


def test_c1_a_named_dataset_has_no_folds(comparison_of):
    with pytest.raises(ConfigError, match="compare.folds: .* for a named dataset"):
        comparison_of(folds=5)


def finish(run, dev=0.5, answers=()):
    table = "".join(f"{line}\t0.5\n" for line in ["prediction", *answers])
    run_config.start(run.folder, run.cell.config)
    run_folder.write_task(run.folder, TASK | {"label_range": None}, "abc")
    run_folder.write_history(run.folder, [{"epoch": 1, "dev_accuracy": dev}])
    scores = {"dev": {"accuracy": dev}, "test": {"accuracy": 0.5}}
    cut = {"train": 0, "dev": 0, "test": 0}
    finished_runs.finish(run.folder, {"test": table}, truncated=cut, **scores)


def test_rates_are_chosen_fold_by_fold_and_the_chosen_run_is_scored(in_a_file, tmp_path):
    comparison = in_a_file(adaptations=["fine_tuning"], learning_rates=[1e-3, 3e-4], folds=3)
    comparison = settled(comparison)
    outcomes, (cell,) = FoldOutcomes(comparison, tmp_path / "out"), comparison.cells
    trials = list(outcomes.waiting())
    assert [(run.rate, run.fold.leave_out, run.fold.seed) for run in trials] == [
        (rate, fold, 0) for fold in range(3) for rate in (1e-3, 3e-4)
    ]
    assert outcomes.counts() == (0, 9) and outcomes.final_runs(cell) == []
    arguments = trials[2].arguments()
    fold = json.loads(next(a for a in arguments if a.startswith("data.fold=")).partition("=")[2])
    assert fold == {"of": 3, "leave_out": 1, "seed": 0}
    for run, dev in zip(trials, (0.5, 0.6, 0.7, 0.6, 0.5, 0.5), strict=True):
        finish(run, dev)
    rest = list(outcomes.waiting())
    assert outcomes.chosen_rates(cell) == [3e-4, 1e-3, 1e-3] and outcomes.chosen_rate(cell) == 1e-3
    assert [(run.rate, run.fold.leave_out, run.fold.seed) for run in rest] == [
        (3e-4, 0, 1),
        (1e-3, 1, 1),
        (1e-3, 2, 1),
    ]
    first, second = outcomes.final_runs(cell)
    assert {run.folder for run in first.folds} < {run.folder for run in trials}
    assert len({run.seed for run in (*first.folds, *second.folds)}) == 6
    remember_failure(rest[0], "not finite")
    finish(rest[1])
    finish(rest[2])
    assert outcomes.failed(second) and not outcomes.failed(first)
    assert outcomes.counts() == (9, 9) and list(outcomes.waiting()) == []


def test_the_model_to_export_is_trained_on_all_examples(in_a_file, tmp_path):
    comparison = settled(in_a_file(adaptations=["fine_tuning"], learning_rates=[1e-3, 3e-4]))
    outcomes, (cell,) = FoldOutcomes(comparison, tmp_path / "out"), comparison.cells
    for _ in range(2):
        for run in list(outcomes.waiting()):
            finish(run)
    outcomes.refit = cell
    runs = list(outcomes.waiting())
    assert [(run.rate, run.fold.leave_out) for run in runs] == [(1e-3, None), (3e-4, None)]
    finish(runs[0], 0.5)
    finish(runs[1], 0.9)
    assert list(outcomes.waiting()) == []
    assert outcomes.best_on_dev(outcomes.export_runs(cell)).rate == 3e-4


def test_the_ensemble_to_export_has_members_of_its_own(in_a_file, tmp_path):
    signals = {"both": {"ensemble": 2}}
    comparison = settled(in_a_file(adaptations=["fine_tuning"], signals=signals, folds=2, seeds=1))
    outcomes, (cell,) = FoldOutcomes(comparison, tmp_path / "out"), comparison.cells
    (run,) = outcomes.export_runs(cell)
    assert [member.fold.leave_out for member in outcomes._leaves(run)] == [None, None]
    two = settled(
        in_a_file(
            adaptations=["fine_tuning"], signals=signals, folds=2, learning_rates=[1e-3, 1e-4]
        )
    )
    outcomes, (cell,) = FoldOutcomes(two, tmp_path / "two"), two.cells
    chosen = outcomes.export_runs(cell)
    for run, dev in zip(chosen, (0.5, 0.6), strict=True):
        finish(run, dev)
    (run,) = outcomes.export_runs(cell)
    assert (run.rate, run.together) == (1e-4, 2) and not outcomes.is_over(run)


def test_a_fold_that_diverged_stops_no_other(in_a_file, tmp_path):
    comparison = settled(in_a_file(adaptations=["fine_tuning"], folds=3))
    outcomes, (cell,) = FoldOutcomes(comparison, tmp_path / "out"), comparison.cells
    remember_failure(next(outcomes.waiting()), "not finite")
    assert len(list(outcomes.waiting())) == 5 and outcomes.counts() == (1, 6)
    trials = in_a_file(adaptations=["fine_tuning"], folds=2, learning_rates=[1e-3, 1e-4])
    trials = settled(trials)
    outcomes, (cell,) = FoldOutcomes(trials, tmp_path / "two"), trials.cells
    first, second, *others = outcomes.trials(cell)
    for run in (first, second):
        remember_failure(run, "not finite")
    for run in others:
        finish(run)
    assert outcomes.is_hopeless(cell)
    assert extensions(outcomes, comparison_splits(trials)) == {}


def test_most_folds_with_one_answer_are_a_failed_repeat(in_a_file, tmp_path):
    comparison = settled(in_a_file(adaptations=["fine_tuning"]))
    splits, outcomes = comparison_splits(comparison), FoldOutcomes(comparison, tmp_path / "out")
    (cell,) = comparison.cells
    for repeat, constant in zip(outcomes.final_runs(cell), (2, 3), strict=True):
        fold_of = fold_of_examples(splits, 5, repeat.seed)
        for number, run in enumerate(repeat.folds):
            count = int((fold_of == number).sum())
            label = "ab"[number % 2]
            varied = ["a", "b"] * (count // 2)
            finish(run, answers=[label] * count if number < constant else varied)
    found, _ = results(outcomes, splits, analyses_at(outcomes, ()), data={}, machine="", command="")
    assert found.cells[0].results.outcomes == ["trained", "one_answer"]


def test_large_groups_that_leave_a_fold_nothing_to_choose_on(in_a_file, tmp_path):
    """Found before anything is trained; by default one split is scored."""
    comparison = in_a_file(seeds=None)
    groups = [f"big {n % 8}" for n in range(96)] + [f"own {n}" for n in range(8)]
    rows = "".join(f"text {n}\t{'ab'[n % 2]}\t{group}\n" for n, group in enumerate(groups))
    (tmp_path / "all.tsv").write_text("t\tl\tg\n" + rows, "utf-8")
    assert settled(comparison).folds == 0
    with pytest.raises(DataError, match="give a file of their own"):
        settled(replace(comparison, folds=5))


def test_c1_a_start_that_saw_the_file(in_a_file, tmp_path):
    """Its weights know the labels of every fold."""
    comparison = in_a_file(adaptations=["fine_tuning"], seeds=None)
    (cell,) = comparison.cells
    start = StartConfig(config="first.yaml")
    cell = replace(cell, config=cell.config.model_copy(update={"start": start}))
    seen = replace(comparison, cells=(cell,), starts={"first.yaml": comparison.cells[0]})
    assert settled(seen).folds == 0
    with pytest.raises(ConfigError, match="beside start.config first.yaml, which was trained on"):
        settled(replace(seen, folds=5))


def right_or_wrong(label, is_right):
    return label if is_right else {"a": "b", "b": "a"}[label]


def test_all_answers_together_are_scored_and_tested(in_a_file, tmp_path):
    """❄ is wrong on every third text, 🔥 on every tenth: the score is that of the answers of ten
    models, in the order of the file."""
    comparison = settled(in_a_file())
    splits, outcomes = comparison_splits(comparison), FoldOutcomes(comparison, tmp_path / "out")
    every = {"feature_extraction": 3, "fine_tuning": 10}
    gold = [record.label for record in splits.examples["test"]]
    assert len(gold) == 100
    for cell in comparison.cells:
        step = every[cell.config.adaptation.name]
        for repeat in outcomes.final_runs(cell):
            fold_of = fold_of_examples(splits, 5, repeat.seed)
            for number, run in enumerate(repeat.folds):
                places = np.flatnonzero(fold_of == number)
                finish(run, answers=[right_or_wrong(gold[n], n % step) for n in places])
    found, answers = results(
        outcomes, splits, analyses_at(outcomes, ()), data={}, machine="", command=""
    )
    write_answers(answers[FILE], tmp_path / "answers")
    assert rescored(found, read_answers(tmp_path / "answers")) == found
    scores = {cell.adaptation: cell.results.scores for cell in found.cells}
    assert scores == {
        "feature_extraction": pytest.approx([0.66, 0.66]),
        "fine_tuning": pytest.approx([0.90, 0.90]),
    }
    (pair,) = found.pairs
    assert pair.decided and pair.difference == pytest.approx(-0.24)
    assert found.items.count == 100 and found.items.overlap_with_train == 0
    assert {len(cell.commands) for cell in found.cells} == {10}
    one = replace(comparison, seeds=(0,))
    found, _ = results(
        FoldOutcomes(one, tmp_path / "out"),
        splits,
        analyses_at(outcomes, ()),
        data={},
        machine="",
        command="",
    )
    (pair,) = found.pairs
    assert not pair.decided and pair.why == "few_seeds"


def test_a_student_learns_from_the_ensemble_of_its_fold(in_a_file, tmp_path):
    """Which saw no more of the data than the student."""
    signals = {"both": {"ensemble": 2}, "small": {"teacher": {"signal": "both"}}}
    comparison = settled(in_a_file(adaptations=["fine_tuning"], signals=signals, folds=2, seeds=2))
    outcomes = FoldOutcomes(comparison, tmp_path / "out")
    both, small = comparison.cells
    assert outcomes.counts() == (0, 2 * 2 * 3 + 2 * 2)
    first, second = outcomes.final_runs(both)
    members = [member for run in (*first.folds, *second.folds) for member in run.members]
    assert [run.folder for run in outcomes.waiting()] == [run.folder for run in members]
    assert len({run.seed for run in members}) == 8
    assert {(run.fold.leave_out, run.fold.seed) for run in members[:2]} == {(0, 0)}
    students = [run for repeat in outcomes.final_runs(small) for run in repeat.folds]
    assert [run.teacher.folder for run in students] == [
        run.folder for repeat in (first, second) for run in repeat.folds
    ]


def test_a_student_to_export_learns_from_a_model_of_all_examples(in_a_file, tmp_path):
    signals = {"big": {}, "small": {"teacher": {"signal": "big"}}}
    comparison = settled(
        in_a_file(adaptations=["fine_tuning"], signals=signals, learning_rates=[1e-3, 3e-4])
    )
    outcomes = FoldOutcomes(comparison, tmp_path / "out")
    outcomes.refit = small = comparison.cells[1]

    def of_all():
        return [run for run in outcomes.waiting() if run.fold.leave_out is None]

    teachers = of_all()
    assert [(run.cell.signal, run.rate) for run in teachers] == [("big", 1e-3), ("big", 3e-4)]
    finish(teachers[0], 0.5)
    assert of_all() == teachers[1:]
    finish(teachers[1], 0.9)
    students = of_all()
    assert students == outcomes.export_runs(small)
    assert {run.teacher.folder for run in students} == {teachers[1].folder}


def test_the_config_of_a_fold_run(in_a_file, tmp_path):
    slices = {"long": {"longer_than": 2}}
    comparison = settled(in_a_file(adaptations=["fine_tuning"], learning_rates=[1e-3]))
    (cell,) = comparison.cells
    cell = replace(cell, config=cell.config.model_copy(update={"slices": slices}))
    outcomes = FoldOutcomes(replace(comparison, cells=(cell,)), tmp_path / "out")
    run = outcomes.final_runs(cell)[1].folds[3]
    run.config.parent.mkdir(parents=True)
    run.config.write_text(dump_config(comparison.cells[0].config), "utf-8")
    arguments = run.arguments()
    given = [arguments[n + 1] for n, one in enumerate(arguments) if one == "--set"]
    config = load_config(run.config, given)
    assert config.data.fold == FoldConfig(of=5, leave_out=3, seed=1)
    assert config.slices == {} and arguments[-1] == "8"


@pytest.mark.slow
def test_v7_each_text_is_scored_by_a_model_that_did_not_see_it(
    in_a_file, shallow_bert, workers_here, sketched, tmp_path
):
    """And the states of the frozen encoder are computed once for all folds."""
    frozen = {"encoders": [str(shallow_bert)], "adaptations": ["feature_extraction"]}
    comparison = in_a_file(60, **frozen, heads=["linear"], folds=2)
    out, cache = tmp_path / "out", tmp_path / "cache"
    content = compare(comparison, out, resources=Resources(jobs=2), cache=cache, export_anyway=True)
    assert (content.folds, content.seeds, content.items.count) == (2, [0, 1], 60)
    assert len(list(cache.glob("*/features"))) == 1
    gold = {record.text_a: record.label for record in comparison_splits(settled(comparison)).pool}
    texts, answers = set(gold), {}
    for cell in content.cells:
        for repeat in (0, 1):
            scored = []
            for fold in (0, 1):
                folder = out / "runs" / cell.id / f"fold_{fold}" / "rate_0.001"
                run = folder / f"seed_{2 * repeat + fold}"
                config = load_run_config(run)
                assert config.data.fold == FoldConfig(of=2, leave_out=fold, seed=repeat)
                splits = load_splits(config.data)
                seen = {r.text_a for name in ("train", "dev") for r in splits.examples[name]}
                test = [record.text_a for record in splits.examples["test"]]
                predictions = read_predictions(run, "test", "classification")
                assert seen.isdisjoint(test) and len(predictions) == len(test)
                scored += test
                answers |= dict(zip(test, predictions, strict=True)) if not repeat else {}
            assert sorted(scored) == sorted(texts)
    with open(out / "errors.csv", newline="", encoding="utf-8") as file:
        errors = {row["text"]: row["answer"] for row in csv.DictReader(file)}
    wrong = {text: answer for text, answer in answers.items() if answer != gold[text]}
    assert errors == wrong
    found = content.answer_files
    assert found.names[:2] == ["confusion.csv", "errors.csv"]
    assert (out / "label_errors.csv").is_file() == bool(found.label_errors)
    assert "errors.csv, beside this report" in (out / "report.md").read_text("utf-8")
    card = (out / content.verdict.exported / "README.md").read_text("utf-8")
    assert "from the same procedure has" in card and "repeats of 2 folds" in card
    again = compare(comparison, out, resources=Resources(jobs=2), cache=cache, export_anyway=True)
    assert replace(again, command="") == replace(content, command="")
    with pytest.raises(ConfigError, match="compare.folds: expected 2 as when this comparison was"):
        compare(replace(comparison, folds=3), out)
