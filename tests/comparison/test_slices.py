"""Slices in a comparison: each cell's score on them, tests over all of them, the report."""

import json
from dataclasses import replace

import finished_runs
import numpy as np
import pytest
import yaml

from tf_adapt.comparison import comparing
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.plan.dry_run import dry_run
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.comparison.plan_in_words import lines
from tf_adapt.comparison.results import results
from tf_adapt.comparison.verdict.interim_analyses import InterimAnalysis, analyses_at
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ConfigError
from tf_adapt.report.content import to_json
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.statistics.pairs import holm
from tf_adapt.training.resolving import run_config

pytestmark = pytest.mark.usefixtures("unmeasured")
WHO = {"words": ["who"]}
LONG = {"longer_than": 10}


@pytest.fixture
def with_slices(write_config):
    """Path of a config with these slices, from a name → rules."""

    def write(slices, **changes):
        path = write_config(**changes)
        content = yaml.safe_load(path.read_text("utf-8")) | {"slices": slices}
        path.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
        return path

    return write


def finish(run, labels, gold):
    """A run folder that has predicted these labels of test."""
    run_config.start(run.folder, run.cell.config)
    task = {"kind": "classification", "labels": ["a", "b"], "metric": "accuracy", "scheme": "IOB2"}
    run_folder.write_task(run.folder, task | {"label_range": None}, "abc")
    run_folder.write_history(run.folder, [{"epoch": 1, "dev_accuracy": 0.9}])
    table = "".join(f"{line}\t0.5\n" for line in ["prediction", *labels])
    right = float(np.mean([a == b for a, b in zip(labels, gold, strict=True)]))
    scores = {"dev": {"accuracy": 0.9}, "test": {"accuracy": right}}
    finished_runs.finish(run.folder, {"test": table}, **scores)


def test_scores_tests_and_errors_of_another_run(with_slices, tmp_path):
    other = tmp_path / "other"
    path = with_slices({"who": WHO, "long": LONG, "hard": {"wrong_in": str(other)}})
    comparison = load_comparison(path)
    splits = load_splits(comparison.cells[0].config.data)
    examples = splits.examples["test"]
    gold = [one.label for one in examples]
    # The cell that is frozen is wrong on all long questions and on no other.
    words = [[w for w in one.text_a.split() if any(map(str.isalnum, w))] for one in examples]
    is_long = np.array([len(one) > 10 for one in words])
    assert 20 <= is_long.sum() <= len(gold) - 20
    outcomes = Outcomes(comparison, tmp_path / "out")
    frozen, tuned = comparison.cells
    wrong = ["other" if long else label for label, long in zip(gold, is_long, strict=True)]
    for cell, seeds in ((frozen, [wrong, wrong]), (tuned, [gold, gold[:-1] + ["other"]])):
        for seed, labels in enumerate(seeds):
            finish(outcomes.run(cell, 1e-2, seed), labels, gold)
    checkpoints.save(other / "checkpoint", {}, {"identity": {"dev data": fingerprint(examples)}})
    table = "".join(f"{line}\t0.5\n" for line in ["prediction", *wrong])
    finished_runs.finish(other, {"dev": table})
    found, _ = results(outcomes, splits, analyses_at(outcomes, ()), data={}, machine="", command="")
    who, long, hard = found.slices
    assert [one.name for one in found.slices] == ["who", "long", "hard"]
    assert long.rule == "a text of more than 10 words"
    assert (long.examples, hard.examples) == (is_long.sum(), is_long.sum())
    scored = long.cells[frozen.name]
    assert (scored.score, scored.rest, scored.challenging) == (0, 1, True)
    last_is_long = is_long[-1]
    inside = is_long if last_is_long else ~is_long
    expected = 1 - 0.5 / inside.sum()
    scored = long.cells[tuned.name]
    assert (scored.score if last_is_long else scored.rest) == pytest.approx(expected)
    assert not scored.challenging
    assert hard.errors_of == str(other)
    assert {one.p for one in hard.cells.values()} == {None}
    tested = [one for part in found.slices for one in part.cells.values() if one.p is not None]
    assert [one.p_holm for one in tested] == pytest.approx(holm([one.p for one in tested]))
    assert len(who.cells) == 2
    json.dumps(to_json(found), allow_nan=False)
    none_left, _ = results(
        outcomes,
        splits,
        replace(analyses_at(outcomes, ()), past=(InterimAnalysis({}),) * 8),
        data={},
        machine="",
        command="",
    )
    assert not none_left.slices[1].cells[frozen.name].challenging


def test_an_empty_slice_is_found_before_a_run(with_slices, tmp_path):
    comparison = load_comparison(with_slices({"longest": {"longer_than": 900}}))
    for start in (
        lambda: comparing.compare(comparison, tmp_path / "out"),
        lambda: dry_run(comparison),
    ):
        with pytest.raises(ConfigError, match="slices.longest: expected .* of test in it, got 0"):
            start()
    assert not (tmp_path / "out").exists()


def test_a_slice_belongs_to_no_cell(with_slices):
    path = with_slices({}, settings={"fine_tuning": {"slices": {"who": WHO}}})
    with pytest.raises(ConfigError, match="compare.settings.fine_tuning.slices: unknown key"):
        load_comparison(path)


@pytest.mark.slow
def test_a_whole_comparison_with_another_domain_again_with_other_slices(
    with_slices, workers_here, sketched, shallow_bert, tmp_path
):
    # An untrained encoder at the baseline is a result, not a failed seed.
    encoders = [{"handle": str(shallow_bert), "pretrained": False}]
    one_cell = {"encoders": encoders, "adaptations": ["feature_extraction"], "seeds": 1}
    test = load_splits(load_comparison(with_slices({})).data).examples["test"]
    rows = "".join(f"{one.label}\twell , {one.text_a}\n" for one in test[:24])
    (tmp_path / "abroad.tsv").write_text("label\ttext\n" + rows, "utf-8")
    one_cell["data"] = {"shifted": {"abroad": str(tmp_path / "abroad.tsv")}}
    path = with_slices({"who": WHO}, **one_cell)
    out = tmp_path / "out"
    assert "examples of test in slices: who " in "\n".join(lines(dry_run(load_comparison(path))))
    found = comparing.compare(load_comparison(path), out)
    (cell,) = found.cells
    folder = out / "runs" / cell.id / "rate_0.01" / "seed_0"
    metrics = run_folder.finished_metrics(folder)
    of_run = metrics["slices"]["test"]["who"]
    scored = found.slices[0].cells[cell.id]
    assert (scored.examples, scored.score, scored.interval) == (
        of_run["examples"], of_run["score"], of_run["interval"],
    )  # fmt: skip
    assert "Slices of the data" in (out / "report.md").read_text("utf-8")
    (domain,) = found.shifted
    reached = metrics["shifted"]["abroad"]["accuracy"]
    assert domain.examples == 24 and domain.cells[cell.id].scores == pytest.approx([reached])
    path = with_slices({"hard": {"wrong_in": str(folder)}}, **one_cell)
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    again = comparing.compare(load_comparison(path), out)
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before
    assert again.look == found.look
    assert again.slices[0].cells[cell.id].score == 0
    assert again.cells == found.cells
