"""Ensembles whose members differ in more than their seeds, votes and averaged weights, as cells."""

import copy
import json
from dataclasses import replace

import finished_runs
import pytest
import yaml
from made_runs import make_run

from tf_adapt.comparison.comparing import compare
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.inputs import input_hashes
from tf_adapt.comparison.plan.dry_run import dry_run
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.errors import ConfigError
from tf_adapt.runs import ensemble_folder, run_schemas

pytestmark = pytest.mark.usefixtures("unmeasured")
TASKS = {"pairs": {"data": {"dataset": "mrpc", "data_dir": "mrpc"}}}
FASTER = {"training": {"learning_rate": 0.02}, "optimizer": {"decay": 0.9}}


@pytest.fixture
def write(write_config):
    def write(signals, **changes):
        changes = {"adaptations": ["fine_tuning"], "seeds": 1, "heads": None} | changes
        return write_config(signals=signals, **changes)

    return write


def runs_of(write, signals, tmp_path, **changes):
    """The final runs of each signal's cell."""
    comparison = load_comparison(write(signals, **changes))
    outcomes = Outcomes(comparison, tmp_path / "out")
    return {cell.signal: outcomes.final_runs(cell) for cell in comparison.cells}


def test_each_member_sets_its_own_keys(write, tiny_bert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "runs" / "a", "elmo_small", "classification")
    members = [{}, FASTER, {"encoder": {"handle": "elmo_small"}, "start": {"run": "runs/a"}}]
    signals = {"mixed": {"members": members}, "votes": {"ensemble": 2, "combine": "votes"}}
    found = runs_of(write, signals, tmp_path, seeds=2)
    first, second = found["mixed"]
    assert first.together == 3 and len({run.seed for run in first.members + second.members}) == 6
    plain, faster, other = (run.arguments() for run in first.members)
    assert 'encoder.handle="elmo_small"' in other
    (start,) = (text for text in other if text.startswith("start="))
    assert json.loads(start.removeprefix("start="))["run"] == str(tmp_path / "runs" / "a")
    assert faster[-4:-2] == ["--set", "optimizer.decay=0.9"] or "optimizer.decay=0.9" in faster
    rates = [text for text in faster if text.startswith("training.learning_rate=")]
    assert rates[-1] == "training.learning_rate=0.02" and len(rates) == 2  # the last one counts
    assert not any(text.startswith("optimizer") for text in plain)
    assert [run.folder.parts[-3] for run in first.members] == ["member_0", "member_1", "member_2"]
    assert first.cell.members.startswith("ensemble 3 of {}, {optimizer.decay: 0.9")
    votes = found["votes"][0]
    assert votes.arguments()[-2:] == ["--combine", "votes"]
    assert votes.cell.members == "ensemble 2, votes"
    assert [run.member for run in votes.members] == [None, None]


def test_a_members_own_epochs_hold_where_the_comparison_trains_further(write, tmp_path):
    signals = {"x": {"members": [{}, {"training": {"epochs": 3}}]}}
    (run,) = runs_of(write, signals, tmp_path)["x"]
    further = replace(run, cell=replace(run.cell, more_epochs=8))
    plain, own = (member.arguments() for member in further.members)
    assert [text for text in plain if "epochs=" in text] == ["training.epochs=8"]
    assert [text for text in own if "epochs=" in text][-1] == "training.epochs=3"


def test_weights_are_averaged_of_members_with_one_seed_where_they_differ_otherwise(write, tmp_path):
    signals = {
        "soup": {"members": [{}, FASTER], "combine": "weights"},
        "seeds": {"ensemble": 2, "combine": "weights"},
    }
    found = runs_of(write, signals, tmp_path, seeds=2)
    for run in found["soup"]:
        assert len({member.seed for member in run.members}) == 1
        assert len({member.folder for member in run.members}) == 2
        assert run.arguments()[-2:] == ["--average", "weights"]
    assert len({member.seed for run in found["seeds"] for member in run.members}) == 4


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        ({"members": [{}]}, "x.members: expected a list of sections"),
        ({"members": [{}, {}], "ensemble": 2}, "x.members: expected null together with ensemble"),
        (
            {"members": [{}, {"encoder": {"handle": "elmo_small"}}], "combine": "weights"},
            "encoder: expected the encoder of the cell together with combine: weights",
        ),
        (
            {"members": [{}, {"head_mixed": True}], "combine": "weights"},
            "1.head_mixed: expected the head_mixed of the cell together with combine: weights",
        ),
        (
            {"members": [{}, {"start": {"run": "a"}}], "combine": "weights"},
            "1.start: expected the start of the cell together with combine: weights",
        ),
        (
            {"members": [{}, {"start": {"run": "/nowhere"}}]},
            "start.run: expected the folder of",
        ),
        ({"members": [{}, {}], "tasks": TASKS}, "x.members: expected null together with tasks"),
        ({"combine": "votes"}, "x.combine: expected null without ensemble"),
        ({"members": [{}, {"start": {"config": "a.yaml"}}]}, "config: expected null, and the fol"),
        ({"members": [{}, {"training": {"warmup": 3}}]}, "warmup: expected"),
        ({"members": [{}, {"training": {"seed": 1}}]}, "1.training.seed: expected as compare.se"),
        (
            {"members": [{}, {"training": {"strategy": "multi_worker"}}]},
            "1.training.strategy: expected null in a comparison",
        ),
        ({"members": [{}, {"optimizer": {"decya": 0.9}}]}, "did you mean decay"),
        (
            {"members": [{}, {"encoder": {"handle": "elmo_small", "pairs": "joint", "long": {}}}]},
            r"member 1\).*: .*separate or null together with encoder.long",
        ),
    ],
)
def test_what_does_not_fit_is_refused(write, signal, message):
    with pytest.raises(ConfigError, match=message):
        load_comparison(write({"x": signal, "alone": {}}))


def test_random_layers_of_other_seeds_are_not_averaged(write):
    for changes in (
        {"adaptations": [{"name": "fine_tuning", "reinitialise": 1}]},
        {"encoders": [{"handle": "bert_small", "pretrained": False}]},
    ):
        path = write({"x": {"ensemble": 2, "combine": "weights"}}, **changes)
        with pytest.raises(ConfigError, match="x.combine: expected probabilities or votes with "):
            load_comparison(path)


def test_heads_with_batch_normalisation_are_not_averaged(write):
    soup = {"x": {"ensemble": 2, "combine": "weights"}}
    with pytest.raises(ConfigError, match="x.combine: .* with head: concat_pooling"):
        load_comparison(write(soup, heads=["concat_pooling"]))


def test_what_members_read_is_hashed_and_reported_as_theirs(write, tmp_path):
    make_run(tmp_path / "a", "elmo_small", "classification")
    other = {"encoder": {"handle": "elmo_small"}, "start": {"run": str(tmp_path / "a")}}
    signals = {"alone": {}, "x": {"members": [other, {}]}}
    comparison = load_comparison(write(signals, encoders=["bert_small"]))
    hashes = input_hashes(comparison)
    assert "encoder.handle: elmo_small" in hashes and f"start.run: {tmp_path / 'a'}" in hashes
    outcomes = Outcomes(comparison, tmp_path / "out")
    run = outcomes.final_runs(comparison.cells[1])[0]
    assert [one.encoder.handle for one in run.of_one_model] == ["elmo_small", "bert_small"]
    for one, family in zip(run.of_one_model, ("elmo", "bert"), strict=True):
        finished_runs.finish(one.folder, family=family, module=family)
    write_ensemble(run)
    metrics = outcomes.metrics(run)
    assert (metrics["family"], metrics["module"]) == ("bert", "bert")


def test_a_dry_run_plans_each_member(write):
    signals = {"x": {"members": [{}, {"encoder": {"keep_layers": [0, 40]}}]}}
    comparison = load_comparison(write(signals, heads=["linear"]))
    with pytest.raises(ConfigError, match="cell .*-x: member 1: .*keep_layers"):
        dry_run(comparison)


def write_ensemble(run):
    """The `ensemble.json` of a run whose members are finished."""
    task = run_schemas.TaskArguments(
        kind="classification", labels=["a", "b"], metric="accuracy", scheme="IOB2", label_range=None
    )
    scores = {"members": [0.5] * run.together, "ensemble": 0.5, "best": 0, "difference": 0.0}
    result = ensemble_folder.SplitResult(**scores, interval=None, p=None, items=8)
    members = [
        ensemble_folder.EnsembleMember(run=str(one.folder), sha256="0", weight=0.5)
        for one in run.members
    ]
    described = ensemble_folder.EnsembleFile(
        combine="probabilities",
        chosen_on_dev=False,
        thresholds_on_dev=False,
        task=task,
        members=members,
        results={"dev": result, "test": result},
    )
    ensemble_folder.write(run.folder, described)


@pytest.mark.large
def test_a_mixed_ensemble_and_a_soup_are_cells(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    members = [{}, {"training": {"learning_rate": 0.02}}]
    signals = {"alone": {}, "mixed": {"members": members, "combine": "votes"}}
    signals["soup"] = {"members": copy.deepcopy(members), "combine": "weights"}
    path, out = write(signals), tmp_path / "out"
    content = compare(load_comparison(path), out, jobs=1)
    shown = {cell.settings["signal"]: cell for cell in content.cells}
    for name, combine in (("mixed", "votes"), ("soup", "weights")):
        (folder,) = out.glob(f"runs/*-{name}/rate_*/seed_0")
        described = ensemble_folder.read(folder)
        assert described.combine == combine
        assert shown[name].results.scores == [described.results["test"].ensemble]
        trained = sorted(out.glob(f"runs/*-{name}/member_*/*/*/config.yaml"))
        rates = [yaml.safe_load(one.read_text())["training"]["learning_rate"] for one in trained]
        assert rates == [0.01, 0.02]
    alone = shown["alone"].costs.total_parameters
    assert shown["mixed"].costs.total_parameters == 2 * alone
    assert shown["soup"].costs.total_parameters == alone
    said = content.signals["mixed"][0]
    assert said == "members: [{}, {training: {learning_rate: 0.02}}], combine: votes"
    signals["soup"] = {"ensemble": 2}
    with pytest.raises(ConfigError, match="the ensembles have changed since"):
        compare(load_comparison(write(signals)), out, jobs=1)
