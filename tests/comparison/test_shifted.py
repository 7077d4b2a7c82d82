"""A comparison with test sets of other domains: read, never chosen on, tested, reported."""

import json
from dataclasses import replace

import numpy as np
import pytest
from finished_runs import finish as finish_run

from tf_adapt.comparison.answers import fold_of_examples
from tf_adapt.comparison.execution.fold_outcomes import FoldOutcomes
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.inputs import checked_splits, comparison_splits
from tf_adapt.comparison.kept.answers import FILE, read_answers, write_answers
from tf_adapt.comparison.kept.scores import rescored
from tf_adapt.comparison.kept.shift import read_shifted
from tf_adapt.comparison.plan.scored_split import settled
from tf_adapt.comparison.results import results
from tf_adapt.comparison.verdict.interim_analyses import analyses_at
from tf_adapt.comparison.verdict.verdict import verdict
from tf_adapt.config.paths import named_paths
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.report.content import to_json
from tf_adapt.report.markdown import to_markdown
from tf_adapt.report.sections import sections
from tf_adapt.runs import run_folder
from tf_adapt.training.resolving import run_config

SIMPLE = "TF-IDF + logistic regression"
TASK = {"kind": "classification", "labels": ["a", "b"], "metric": "accuracy", "scheme": "IOB2"}


def file_of(folder, name: str, count: int, label="ab") -> str:
    rows = "".join(f"{name} {n}\t{label[n % len(label)]}\n" for n in range(count))
    (folder / f"{name}.tsv").write_text("t\tl\n" + rows, "utf-8")
    return str(folder / f"{name}.tsv")


@pytest.fixture
def compared(comparison_of, tmp_path):
    """A comparison of own files, scored at home and on `there` and `elsewhere`."""

    def make(shifted=("there", "elsewhere"), files=("train", "dev", "test"), **changes):
        data = {name: file_of(tmp_path, name, 100) for name in files}
        data |= {"format": "tsv", "kind": "classification", "columns": {"text": "t", "label": "l"}}
        data["shifted"] = {name: file_of(tmp_path, name, 60) for name in shifted}
        return comparison_of(data | changes.pop("data", {}), **changes)

    return make


def table(labels) -> str:
    return "".join(f"{label}\t0.5\t0.5\n" for label in ["prediction", *labels])


def finish(run, splits, wrong: dict[str, int], fold=None) -> None:
    """A finished run that is wrong on every so many examples of each split (0: on none)."""
    said = {}
    for split, every in wrong.items():
        gold = [one.label for one in splits.examples[split]]
        gold = gold if fold is None or split != "test" else [gold[n] for n in fold]
        other = {"a": "b", "b": "a"}
        said[split] = [
            other[label] if every and n % every == 0 else label for n, label in enumerate(gold)
        ]
    run_config.start(run.folder, run.cell.config)
    run_folder.write_task(run.folder, TASK | {"label_range": None}, "abc")
    run_folder.write_history(run.folder, [{"epoch": 1, "dev_accuracy": 0.5}])
    tables = {split: table(labels) for split, labels in said.items()}
    right = {"accuracy": 1 - (1 / wrong["test"] if wrong["test"] else 0)}
    finish_run(run.folder, tables, test=right, dev=right)


HOME_AHEAD = {"test": 20, "shifted/there": 2, "shifted/elsewhere": 10}
ABROAD_AHEAD = {"test": 5, "shifted/there": 10, "shifted/elsewhere": 10}


def content_of(outcomes, splits):
    content, answers = results(
        outcomes, splits, analyses_at(outcomes, ()), data={}, machine="", command=""
    )
    return content, answers


def test_tuned_wins_at_home_and_loses_abroad(compared, tmp_path):
    comparison = settled(compared(seeds=3))
    splits, outcomes = comparison_splits(comparison), Outcomes(comparison, tmp_path / "out")
    frozen, tuned = comparison.cells
    for seed in comparison.seeds:
        finish(outcomes.run(frozen, 1e-3, seed), splits, ABROAD_AHEAD)
        finish(outcomes.run(tuned, 1e-3, seed), splits, HOME_AHEAD)
    content, answers = content_of(outcomes, splits)
    elsewhere, there = content.shifted
    assert there.examples == there.items == 60 and there.overlap_with_train == 0
    assert there.cells[frozen.name].scores == pytest.approx([0.9] * 3)
    assert there.cells[tuned.name].mean == 0.5 == there.baseline
    (pair,), (gap,) = there.pairs, there.gaps
    assert pair.decided and pair.difference == pytest.approx(0.4)
    assert gap.decided and gap.difference == pytest.approx(0.4 + 0.15)
    (pair,), (gap,) = elsewhere.pairs, elsewhere.gaps
    assert pair.why == "identical" and gap.difference == pytest.approx(0.15)
    said = verdict(content)
    assert said.recommended == tuned.name
    assert "; on there it is behind elmo_small with feature_extraction" in said.sentence
    *_, worst, simple = said.evidence["Under shift"]
    assert worst.startswith("Best in its worst domain: elmo_small with feature_extraction")
    # The number of an example tells its label everywhere.
    assert simple == f"The simple model, {SIMPLE}, has 100.0 at least (home)."
    assert f"), and the simple model, {SIMPLE}, has 100.0; on there" in said.sentence
    (moved,) = (line for line in said.evidence["Under shift"] if "to there elmo" in line)
    assert "loses 45.0 points, elmo_small with feature_extraction" in moved
    assert "gains 10.0: the difference, −55.0 (" in moved and "% interval −" in moved
    text = to_markdown(sections(content))
    assert "Under shift" in text and "elsewhere (60)" in text
    assert answers["answers.there.jsonl.gz"].references == {SIMPLE: [["a", "b"] * 30] * 3}
    assert there.references[SIMPLE].scores == [1] * 3
    assert f"| {SIMPLE} | 100.0 | 100.0 | 100.0 |" in text
    (test,) = there.pairs
    undecided = replace(content, shifted=[replace(there, pairs=[replace(test, decided=False)])])
    assert ", which is too little among 1 pair)" in verdict(undecided).sentence
    unknown = replace(content, shifted=[replace(there, references={}), elsewhere])
    assert "simple model" not in verdict(unknown).evidence["Under shift"][-1]
    for name, some in answers.items():
        write_answers(some, tmp_path / name)
    assert sorted(answers) == ["answers.elsewhere.jsonl.gz", FILE, "answers.there.jsonl.gz"]
    again = rescored(content, read_answers(tmp_path / FILE))
    assert read_shifted(tmp_path, again, answers[FILE]).shifted == content.shifted
    write_answers(answers[FILE], tmp_path / "answers.there.jsonl.gz")
    with pytest.raises(ArtifactError, match="answers.there.* the 60 scored examples of the r"):
        read_shifted(tmp_path, again, answers[FILE])
    json.dumps(to_json(content), allow_nan=False)
    ahead = replace(content, shifted=[replace(there, pairs=content.pairs)])
    assert "on there it is ahead of elmo_small with feature_extraction" in verdict(ahead).sentence
    assert " head) too (" in verdict(ahead).sentence
    (home,) = content.pairs
    undecided = replace(home, decided=False, why="more_seeds", seeds_needed=[4, 9])
    assert " too (" not in verdict(replace(ahead, pairs=[undecided])).sentence


def test_each_training_of_the_folds_answers_everything_abroad(compared, tmp_path):
    comparison = settled(compared(("there",), ("train",), seeds=2, folds=5))
    assert comparison.folds == 5
    splits, outcomes = comparison_splits(comparison), FoldOutcomes(comparison, tmp_path / "out")
    assert len(splits.examples["shifted/there"]) == 60 and len(splits.examples["test"]) == 100
    of_fold = load_splits(comparison.data.model_copy(update={"fold": None}))
    assert "shifted/there" in of_fold.examples
    for cell, wrong in zip(comparison.cells, (ABROAD_AHEAD, HOME_AHEAD), strict=True):
        wrong = {name: every for name, every in wrong.items() if name in splits.examples}
        for repeat in outcomes.final_runs(cell):
            folds = fold_of_examples(splits, 5, repeat.seed)
            for number, run in enumerate(repeat.folds):
                finish(run, splits, wrong, np.flatnonzero(folds == number))
    content, _ = content_of(outcomes, splits)
    (there,) = content.shifted
    assert [len(one.scores) for one in there.cells.values()] == [10, 10]
    # The simple model of each fold lacks the numbers of its fold.
    scores = there.references[SIMPLE].scores
    assert len(scores) == 10 and 0.7 < min(scores) < 1
    (pair,), (gap,) = there.pairs, there.gaps
    assert pair.decided and pair.difference == pytest.approx(0.4)
    assert gap.difference == pytest.approx(0.4 - (content.pairs[0].difference))


def test_with_folds_a_changed_file_of_a_domain_has_another_hash(compared, tmp_path):
    comparison = compared(("there",), ("train",), folds=5)
    *_, before = checked_splits(comparison)
    file_of(tmp_path, "there", 60, "ba")
    *_, after = checked_splits(comparison)
    assert after.keys() == {"train", "shifted/there"} and after["train"] == before["train"]
    assert after["shifted/there"] != before["shifted/there"]


def test_the_files_are_checked(compared, tmp_path):
    comparison = compared()
    paths = list(named_paths(comparison.cells[0].config))
    assert (("data", "shifted", "there"), str(tmp_path / "there.tsv")) in paths
    with pytest.raises(ConfigError, match="data.shifted.there: expected other examples than those"):
        same = {"shifted": {"there": str(tmp_path / "test.tsv")}}
        load_splits(compared(data=same).data)
    other = file_of(tmp_path, "other", 30, "abz")
    with pytest.raises(DataError, match="other.tsv.*expected .*, got 'z'"):
        load_splits(compared(data={"shifted": {"other": other}}).data)
    with pytest.raises(ConfigError, match="data.shifted"):
        compared(data={"shifted": {"../x": other}})
    with pytest.raises(ConfigError, match="data.shifted: expected null beside signals with ensem"):
        compared(signals={"one": {}, "three": {"ensemble": 3}})
