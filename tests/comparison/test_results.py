"""Run folders to the content of a report, and to the report itself."""

import json
import shutil
from dataclasses import replace

import finished_runs
import numpy as np
import pytest

from hub_modules.manifest import write_manifest
from hub_modules.storage import records
from tf_adapt.comparison import comparing, winner_export, written_report
from tf_adapt.comparison.baseline import baseline_of
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import remember_failure
from tf_adapt.comparison.kept.answers import FILE, read_answers, write_answers
from tf_adapt.comparison.kept.scores import rescored
from tf_adapt.comparison.results import results
from tf_adapt.comparison.verdict.interim_analyses import analyses_at
from tf_adapt.comparison.verdict.phrases import answer_text
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.report.content import BaselineScores, to_json
from tf_adapt.report.scored_cells import FailedSeeds, Forgetting, LackingLabels, Spread
from tf_adapt.runs import run_folder
from tf_adapt.training.resolving import run_config

CUT = {"train": 0, "dev": 0, "test": 2}


@pytest.fixture
def comparison(comparison_of):
    return comparison_of({"held_out": 0.2}, seeds=3)


def results_of(outcomes, splits):
    """The results of a first look."""
    looks = analyses_at(outcomes, ())
    content, answers = results(outcomes, splits, looks, data={}, machine="", command="")
    write_answers(answers[FILE], outcomes.out / "answers")
    again = rescored(content, read_answers(outcomes.out / "answers"))
    assert replace(again, cells=content.cells) == content  # the scores here are made up
    return content


def finish(run, predictions: str, test: float, dev=(0.4, 0.6), metric="accuracy", **more):
    """A run folder as `tf-adapt train` leaves it; `more` is in its metrics."""
    scores = {"dev": {metric: max(dev)}, "test": {metric: test}, "metric": metric}
    rows = [{"epoch": epoch, f"dev_{metric}": score} for epoch, score in enumerate(dev, start=1)]
    run_config.start(run.folder, run.cell.config)
    task = {"kind": "classification", "labels": ["a", "b"], "metric": metric, "scheme": "IOB2"}
    run_folder.write_task(run.folder, task | {"label_range": None}, "abc")
    run_folder.write_history(run.folder, rows)
    finished_runs.finish(run.folder, {"test": predictions}, truncated=CUT, **scores, **more)


def table(labels) -> str:
    return "".join(f"{line}{finished_runs.QUARTERS}\n" for line in ["prediction", *labels])


def test_scores_costs_and_curves(comparison, tmp_path):
    splits = load_splits(comparison.data)
    data = comparison.data.model_copy(update={"genre": "news"})
    configs = [cell.config.model_copy(update={"data": data}) for cell in comparison.cells]
    cells = map(lambda cell, config: replace(cell, config=config), comparison.cells, configs)
    comparison = replace(comparison, seeds=(0, 1), cells=tuple(cells))
    labels = splits.labels
    gold = [record.label for record in splits.examples["test"]]
    other = {label: labels[index - 1] for index, label in enumerate(labels)}
    outcomes = Outcomes(comparison, tmp_path / "out")
    for cell, counts in zip(comparison.cells, [[5, 5], [0, 1]], strict=True):
        for seed, count in enumerate(counts):
            said = [other[label] if n < count else label for n, label in enumerate(gold)]
            finish(outcomes.run(cell, 1e-3, seed), table(said), 1 - count / len(gold))
    content = results_of(outcomes, splits)
    json.dumps(to_json(content), allow_nan=False)
    assert content.genre == "news"
    frozen, tuned = content.cells
    size = len(gold)
    assert frozen.results.scores == [1 - 5 / size] * 2
    assert tuned.results.mean == pytest.approx(1 - 0.5 / size)
    assert tuned.results.deviation == pytest.approx(np.std([1, 1 - 1 / size], ddof=1))
    assert frozen.curves == [[0.4, 0.6]] * 2
    assert frozen.layer_weights == [0.2, 0.3, 0.5]
    assert frozen.costs.task_megabytes == pytest.approx(0.004)
    assert np.trace(frozen.confusion) == 2 * (size - 5)
    assert np.sum(frozen.confusion) == 2 * size
    (pair,) = content.pairs
    assert (pair.a, pair.b) == (frozen.id, tuned.id)
    assert pair.difference == pytest.approx(-4.5 / size)
    assert [one.label for one in content.disagreements] == gold[:5]
    assert content.disagreements[0].answers[frozen.id] == other[gold[0]]
    assert content.disagreements[0].right == [tuned.id]
    assert content.modules == {"elmo_small": "abc"}
    assert content.truncated == {frozen.id: CUT, tuned.id: CUT}
    assert (frozen.module, frozen.results.trained, frozen.results.outcomes) == (
        "abc",
        2,
        ["trained"] * 2,
    )
    assert content.items.count == size
    assert content.look == 1
    assert "--seed 1" in frozen.commands[1]


def test_layers_that_are_kept_are_a_module_of_their_own(comparison_of, tmp_path):
    encoders = [{"handle": "bert_small"}, {"handle": "bert_small", "keep_layers": [0, 2]}]
    comparison = comparison_of(
        {"held_out": 0.2}, encoders=encoders, adaptations=["fine_tuning"], seeds=1
    )
    splits = load_splits(comparison.cells[0].config.data)
    gold = table(record.label for record in splits.examples["test"])
    outcomes = Outcomes(comparison, tmp_path / "out")
    for cell, module in zip(comparison.cells, ["abc", "def"], strict=True):
        run = outcomes.run(cell, 1e-3, 0)
        finish(run, gold, 1.0)
        finished_runs.finish(run.folder, dev={"accuracy": 0.6}, truncated=CUT, module=module)
    found = results_of(Outcomes(comparison, tmp_path / "out"), splits).modules
    assert found == {"bert_small": "abc", "bert_small (keep_layers 0, 2)": "def"}


def test_what_the_seeds_of_a_cell_forgot(comparison, tmp_path):
    splits = load_splits(comparison.cells[0].config.data)
    said = table([record.label for record in splits.examples["test"]])
    outcomes = Outcomes(comparison, tmp_path / "out")
    frozen, tuned = comparison.cells
    for seed, after in enumerate((5.0, 5.5)):
        found = {
            "task": "bidirectional_language_model",
            "before": 4.75,
            "after": after,
            "distances": {"lstm_0": 0.25 * seed, "all": 0.125},
            "texts": 3,
            "targets": 40,
            "truncated": 0,
        }
        finish(outcomes.run(frozen, 1e-3, seed), said, 1.0)
        finish(outcomes.run(tuned, 1e-3, seed), said, 1.0, forgetting=found)
    first, second = results_of(outcomes, splits).cells
    assert first.forgetting is None
    assert second.forgetting == Forgetting(
        task="bidirectional_language_model",
        texts=3,
        targets=40,
        before=4.75,
        after=Spread(5.25, pytest.approx(np.std([5.0, 5.5], ddof=1))),
        distances={
            "lstm_0": Spread(0.125, pytest.approx(np.std([0, 0.25], ddof=1))),
            "all": Spread(0.125, 0.0),
        },
    )


def test_each_number_of_training_examples_is_a_point_of_the_curves(comparison, tmp_path):
    comparison = replace(comparison, sizes=(2, None))
    splits = load_splits(comparison.cells[0].config.data)
    gold = [record.label for record in splits.examples["test"]]
    outcomes = Outcomes(comparison, tmp_path / "out")
    wrong = {"feature_extraction": (40, 20), "fine_tuning": (45, 5)}
    for number, one in enumerate(outcomes.of_sizes()):
        for cell in comparison.cells:
            for seed in comparison.seeds:
                count = wrong[cell.config.adaptation.name][number] + seed
                said = ["x" if n < count else label for n, label in enumerate(gold)]
                finish(one.run(cell, 1e-3, seed), table(said), 1 - count / len(gold))
    content = results_of(outcomes, splits)
    json.dumps(to_json(content), allow_nan=False)
    small, whole = content.learning_curves.points
    assert (small.examples, whole.examples) == (2, len(splits.examples["train"]))
    frozen, tuned = content.cells
    assert small.cells[frozen.id].results.scores == [1 - n / len(gold) for n in (40, 41, 42)]
    assert whole.cells[tuned.id].results.mean == tuned.results.mean
    assert small.difference == pytest.approx(-5 / len(gold))
    assert whole.p == content.pairs[0].p
    assert (whole.ahead, small.frozen, small.tuned) == (
        "tuning", frozen.id, tuned.id,
    )  # fmt: skip
    # Two examples have two labels at most, of the four of train.
    assert small.lacking.seeds == 3
    assert set(small.lacking.labels) <= set(splits.labels)
    assert whole.lacking == LackingLabels(0, [])


def test_the_most_frequent_label_of_train_scores_its_share_of_test(comparison, tmp_path):
    """Of train's labels a is the most frequent one, of test's b."""
    splits = load_splits(comparison.cells[0].config.data)
    record = splits.examples["test"][0]
    labels = {"train": "aaab", "dev": "ab", "test": "abbbb"}
    examples = {
        name: [
            replace(record, label=label, text_a=f"{name} {number}")
            for number, label in enumerate(said)
        ]
        for name, said in labels.items()
    }
    splits = replace(splits, examples=examples, labels=["a", "b"])
    found = results_of(Outcomes(comparison, tmp_path), splits)
    assert found.baseline == BaselineScores(answer="a", score=0.2, chosen_on=0.5, cells={})


def test_the_baseline_of_tags_and_scores_has_nothing(comparison, tmp_path):
    for kind, metric, answer in [("tagging", "span_f1", "O"), ("pair_regression", "pearson", 2.5)]:
        splits = load_splits(comparison.cells[0].config.data)
        examples = {
            "tagging": [TaggedSentence(("Ann", "in"), ("B-PER", "O"))] * 2,
            "pair_regression": [Record("a", "b", 1.0), Record("c", "d", 4.0)],
        }[kind]
        splits = replace(
            splits,
            kind=kind,
            metric=None,
            labels=None,
            examples=dict.fromkeys(splits.examples, examples),
        )
        found = results_of(Outcomes(comparison, tmp_path), splits)
        assert found.metric == metric
        assert found.baseline == BaselineScores(answer=answer, score=0, chosen_on=0, cells={})


def test_the_baseline_of_parts_of_speech_is_the_most_frequent(comparison, tmp_path):
    splits = load_splits(comparison.cells[0].config.data)
    sentences = [TaggedSentence(("a", "dog"), ("DT", "NN")), TaggedSentence(("it",), ("NN",))]
    changed = {"kind": "tagging", "scheme": "words", "metric": None, "labels": ["DT", "NN"]}
    splits = replace(splits, **changed, examples=dict.fromkeys(splits.examples, sentences))
    found = results_of(Outcomes(comparison, tmp_path), splits)
    assert (found.metric, found.baseline.answer) == ("accuracy", "NN")
    assert found.baseline.score == pytest.approx(2 / 3)
    assert answer_text("NN", "tagging").startswith("answering 'NN', train's most frequent label")


def test_seeds_that_fail_are_counted_at_the_baseline_in_tests_of_their_own(comparison, tmp_path):
    """A seed fails where it diverges or gives one answer to everything, whatever it scores."""
    comparison = replace(comparison, seeds=range(5))
    splits = load_splits(comparison.cells[0].config.data)
    gold = [record.label for record in splits.examples["test"]]
    baseline = baseline_of(splits, "accuracy", "dev", "test")
    outcomes = Outcomes(comparison, tmp_path / "out")
    frozen, tuned = comparison.cells
    wrong = [splits.labels[splits.labels.index(label) - 1] for label in gold]
    for seed in comparison.seeds:
        finish(outcomes.run(frozen, 1e-3, seed), table(gold), 1.0)
    finish(outcomes.run(tuned, 1e-3, 0), table(wrong), 0.0, dev=(0.0,))
    share = baseline.scores["test"]
    finish(outcomes.run(tuned, 1e-3, 1), table([baseline.answer] * len(gold)), share, dev=(0.9,))
    remember_failure(outcomes.run(tuned, 1e-3, 2), "not finite")
    for seed in (3, 4):
        finish(outcomes.run(tuned, 1e-3, seed), table(wrong), 0.0, dev=(0.9,))
    content = results_of(outcomes, splits)
    found = content.cells[1].results
    assert found.outcomes == ["trained", "one_answer", "diverged", "trained", "trained"]
    assert (found.trained, found.failed) == (3, FailedSeeds(diverged=1, one_answer=1))
    assert found.scores == [0.0, share, None, 0.0, 0.0]
    assert (found.mean, found.max) == (0, 0)
    assert found.mean_of_all == pytest.approx(2 * share / 5)
    (pair,), (with_failed,) = content.pairs, content.pairs_with_failed
    assert (pair.difference, pair.decided) == (pytest.approx(1), True)
    assert with_failed.difference == pytest.approx(1 - 2 * share / 5)
    assert content.baseline.cells[frozen.name].above
    assert not content.baseline.cells[tuned.name].above


def test_an_untrained_network_that_learns_nothing_has_not_failed(comparison, tmp_path):
    """Seen: 72.7 ± 3.4 "not shown to be ahead" of an untrained network at 0.6, for it was not
    tested."""
    frozen, tuned = comparison.cells
    encoder = tuned.config.encoder.model_copy(update={"pretrained": False})
    config = tuned.config.model_copy(update={"encoder": encoder})
    cells = (frozen, replace(tuned, name="noise", config=config))
    comparison = replace(comparison, cells=cells)
    splits = load_splits(frozen.config.data)
    gold = [record.label for record in splits.examples["test"]]
    outcomes = Outcomes(comparison, tmp_path / "out")
    constant = baseline_of(splits, "accuracy", "dev", "test")
    for seed in comparison.seeds:
        finish(outcomes.run(cells[0], 1e-3, seed), table(gold), 1.0, dev=(0.9,))
        said = table([constant.answer] * len(gold))
        low = constant.scores
        finish(outcomes.run(cells[1], 1e-3, seed), said, low["test"], dev=(low["dev"],))
    content = results_of(outcomes, splits)
    assert content.cells[1].results.outcomes == ["trained"] * 3
    assert [pair.decided for pair in content.pairs] == [True]


def test_a_cell_whose_rates_all_diverge_failed_with_every_seed(comparison, tmp_path):
    cells = [replace(cell, rates=(1e30, 1e29)) for cell in comparison.cells]
    comparison = replace(comparison, cells=tuple(cells))
    outcomes = Outcomes(comparison, tmp_path / "out")
    for run in outcomes.trials(comparison.cells[0]):
        remember_failure(run, "not finite")
    splits = load_splits(comparison.cells[0].config.data)
    found = results_of(outcomes, splits).cells[0]
    assert found.results.outcomes == ["diverged"] * 3
    assert (found.results.mean, found.results.failed.diverged) == (None, 3)


def test_examples_that_share_a_text_are_one_item(comparison, tmp_path):
    splits = load_splits(comparison.cells[0].config.data)
    test = [
        replace(record, text_a=f"text {n // 2}") for n, record in enumerate(splits.examples["test"])
    ]
    splits = replace(splits, examples=splits.examples | {"test": test})
    found = results_of(Outcomes(comparison, tmp_path), splits).items
    assert found.count == len(test) // 2
    assert "groups" in found.text


def test_unfinished_cells_have_no_scores_and_no_tests(comparison, tmp_path):
    splits = load_splits(comparison.cells[0].config.data)
    outcomes = Outcomes(comparison, tmp_path / "out")
    content = results_of(outcomes, splits)
    assert [cell.results.scores for cell in content.cells] == [[None] * 3] * 2
    assert content.pairs == []
    assert content.cells[0].results.mean is None
    json.dumps(to_json(content), allow_nan=False)


@pytest.mark.parametrize("text", ["", "prediction\n", table(["number"])])
def test_predictions_that_are_not_whole(comparison, tmp_path, text):
    splits = load_splits(comparison.cells[0].config.data)
    outcomes = Outcomes(comparison, tmp_path / "out")
    finish(outcomes.run(comparison.cells[0], 1e-3, 0), text, 0.5)
    with pytest.raises(ArtifactError, match="expected predictions of"):
        results_of(outcomes, splits)


def test_tagged_sentences(comparison, tmp_path):
    splits = load_splits(comparison.cells[0].config.data)
    sentences = [
        TaggedSentence(("Ann", "Lee"), ("B-PER", "I-PER")),
        TaggedSentence(("in", "New\u00a0York"), ("O", "B-LOC")),
    ]
    splits = replace(
        splits, kind="tagging", labels=["O", "B-PER", "I-PER", "B-LOC"], metric="span_f1"
    )
    splits.examples.update(train=sentences, dev=sentences, test=sentences)
    outcomes = Outcomes(comparison, tmp_path / "out")
    tags = {
        "feature_extraction": "Ann\tB-PER\nLee\tI-PER\n\nin\tO\nNew\u00a0York\tO\n",
        "fine_tuning": "Ann\tB-PER\t0.9\nLee\tI-PER\t0.8\n\nin\tO\t1\nNew\u00a0York\tB-LOC\t0.7\n",
    }
    for cell in comparison.cells:
        for seed in comparison.seeds:
            run = outcomes.run(cell, 1e-3, seed)
            finish(run, tags[cell.config.adaptation.name], 1.0, dev=(0.5,), metric="span_f1")
    content = results_of(outcomes, splits)
    (pair,) = content.pairs
    assert pair.difference == pytest.approx(2 / 3 - 1)  # F1 of one of two entities, and of both
    assert content.cells[0].confusion is None
    assert content.disagreements[0].text_a == "in New\u00a0York"
    assert content.disagreements[0].label == "O B-LOC"
    runs = [outcomes.run(cell, 1e-3, 0) for cell in comparison.cells]
    # The first by an earlier version.
    found = [written_report._probabilities(run, splits) for run in runs]
    assert found == [None, [[0.9, 0.8], [1.0, 0.7]]]


@pytest.fixture
def reports(comparison, monkeypatch):
    """What is reported of a comparison whose runs are there at once: 🔥 is always right."""
    splits = load_splits(comparison.cells[0].config.data)
    gold = [record.label for record in splits.examples["test"]]
    first, second, *_ = splits.labels
    wrong = [second if label == first else first for label in gold]

    def run_all(outcomes, *others):
        for cell, said in zip(comparison.cells, (wrong, gold), strict=True):
            for seed in comparison.seeds:
                if not outcomes.is_over(outcomes.run(cell, 1e-3, seed)):
                    finish(outcomes.run(cell, 1e-3, seed), table(said), float(said is gold))

    written = []
    monkeypatch.setattr(comparing, "run_all", run_all)
    monkeypatch.setattr(
        written_report,
        "write_report",
        lambda content, out: written.append(json.dumps(to_json(content))),
    )
    return written


@pytest.fixture
def exports(monkeypatch):
    """Folders that exports were asked for."""
    made = []

    def export(run, folder):
        made.append(folder)
        (folder / "1").mkdir(parents=True)

    monkeypatch.setattr(winner_export, "_export", export)
    return made


def test_the_export_is_in_the_report(comparison, tmp_path, reports, exports):
    content = comparing.compare(comparison, tmp_path / "out")
    winner = f"{comparison.cells[1].name}-rate_0.001-seed_0"
    assert content.verdict.exported == f"winner/{winner}/1"
    assert [json.loads(text) for text in reports] == [to_json(content)]
    examples = load_splits(comparison.cells[0].config.data).examples
    assert content.data == {split: fingerprint(found) for split, found in examples.items()}


def test_v4_what_is_not_decided_is_a_candidate_and_no_winner_stays(
    comparison, tmp_path, reports, exports, monkeypatch
):
    out = tmp_path / "out"
    comparing.compare(comparison, out)
    verdict = comparing.verdict
    monkeypatch.setattr(comparing, "verdict", lambda found: replace(verdict(found), decided=False))
    (out / "winner" / "notes.txt").write_text("mine")
    content = comparing.compare(comparison, out)
    name = f"{comparison.cells[1].name}-rate_0.001-seed_0"
    assert content.verdict.exported == f"candidate/{name}/1"
    assert [path.name for path in (out / "winner").iterdir()] == ["notes.txt"]
    monkeypatch.setattr(comparing, "verdict", verdict)
    assert comparing.compare(comparison, out).verdict.exported == f"winner/{name}/1"
    assert not (out / "candidate").exists()


def test_nothing_at_the_baseline_is_exported_unless_asked_for(
    comparison, tmp_path, reports, exports, monkeypatch
):
    verdict = comparing.verdict
    at_baseline = {"decided": False, "above_baseline": False}
    monkeypatch.setattr(comparing, "verdict", lambda found: replace(verdict(found), **at_baseline))
    content = comparing.compare(comparison, tmp_path / "out")
    assert (content.verdict.exported, exports) == (None, [])
    content = comparing.compare(comparison, tmp_path / "out", export_anyway=True)
    assert content.verdict.exported.startswith("candidate/")


def test_looks_are_remembered(comparison, tmp_path, reports, exports, monkeypatch):
    """The same runs are the same look; what a look has decided stands."""
    out, cells = tmp_path / "out", comparison.cells
    first = comparing.compare(comparison, out)
    assert comparing.compare(comparison, out).look == 1
    more = replace(comparison, seeds=(0, 1, 2, 3))
    monkeypatch.setattr(comparing, "run_all", lambda outcomes, *others: finish_seed(outcomes, 3))
    second = comparing.compare(more, out)
    assert (first.look, second.look) == (1, 2)
    assert [first.pairs[0].level, second.pairs[0].level] == [0.97, 0.995]
    (look, _) = json.loads((out / "comparison.json").read_text())["looks"]
    assert look["decided"] == [[cells[1].name, cells[0].name]]
    assert look["runs"][cells[0].name] == {"rate": 0.001, "seeds": [0, 1, 2]}
    monkeypatch.setattr(comparing, "run_all", lambda *others: None)
    assert comparing.compare(comparison, out).look == 1
    assert comparing.compare(more, out).look == 2


def finish_seed(outcomes, seed):
    """One more seed of each cell: this one is wrong on half of the examples."""
    splits = load_splits(outcomes.comparison.cells[0].config.data)
    gold = [record.label for record in splits.examples["test"]]
    for cell in outcomes.comparison.cells:
        finish(outcomes.run(cell, 1e-3, seed), table(gold), 1.0)


@pytest.mark.parametrize("looks", [3, [3], [{}], [{"runs": {}}], [{"runs": 3, "decided": []}]])
def test_looks_that_cannot_be_read(comparison, tmp_path, reports, exports, looks):
    out = tmp_path / "out"
    comparing.compare(comparison, out)
    record = json.loads((out / "comparison.json").read_text())
    (out / "comparison.json").write_text(json.dumps(record | {"looks": []}))
    with pytest.raises(ArtifactError, match=r"comparison\.json: its size is not the one in"):
        comparing.compare(comparison, out)
    records.write(out, "comparison.json", json.dumps(record | {"looks": looks}))
    with pytest.raises(ArtifactError, match=r"comparison\.json: looks"):
        comparing.compare(comparison, out)


@pytest.mark.parametrize("changed", ["module", "fisher"])
def test_i5_another_module_or_file_at_the_same_path(
    tiny_bert, comparison_of, tmp_path, monkeypatch, changed
):
    """I5: more seeds go on with what the first ones read, or not at all."""
    shutil.copytree(tiny_bert, tmp_path / "module")
    (tmp_path / "fisher.npz").write_bytes(b"one")
    one = {"encoders": [str(tmp_path / "module")], "adaptations": ["fine_tuning"], "seeds": 1}
    ewc = {"weight": 1.0, "fisher": str(tmp_path / "fisher.npz")}
    comparison = comparison_of({"held_out": 0.2}, {"ewc": ewc}, **one)

    def stopped(*others):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "run_all", stopped)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            comparing.compare(comparison, tmp_path / "out")
    if changed == "fisher":
        (tmp_path / "fisher.npz").write_bytes(b"two")
        key = r"penalties\.ewc\.fisher: .*fisher\.npz"
    else:
        manifest = json.loads((tmp_path / "module" / "manifest.json").read_text("utf-8"))
        manifest["lower_case"] = not manifest["lower_case"]
        write_manifest(tmp_path / "module", {k: v for k, v in manifest.items() if k != "files"})
        key = r"encoder\.handle: .*/module"
    with pytest.raises(ArtifactError, match=f"modules or files have changed.*{key}"):
        comparing.compare(replace(comparison, seeds=(0, 1)), tmp_path / "out")


def test_an_export_that_fails_leaves_the_report(comparison, tmp_path, reports, monkeypatch):
    def export(run, folder):
        raise ArtifactError("no space left")

    monkeypatch.setattr(winner_export, "_export", export)
    with pytest.raises(ArtifactError, match="no space left"):
        comparing.compare(comparison, tmp_path / "out")
    (content,) = map(json.loads, reports)
    assert content["verdict"]["recommended"] == comparison.cells[1].name
    assert content["verdict"]["exported"] is None


def test_a_final_analysis_has_the_whole_level_and_nothing_comes_before_or_after(
    comparison, tmp_path, reports, exports, monkeypatch
):
    out = tmp_path / "out"
    first = comparing.compare(comparison, out, final=True)
    assert (first.look, first.pairs[0].level) == (0, 0.95)
    again = comparing.compare(comparison, out)
    assert (again.look, again.pairs[0].level) == (0, 0.95)
    added = replace(comparison.cells[0], name="added")
    before = sorted(out.rglob("*"))
    for changes in (
        {"seeds": (0, 1, 2, 3)},
        {"seeds": (0, 1)},
        {"cells": (*comparison.cells, added)},
    ):
        with pytest.raises(ConfigError, match="was ended by --final.*choose another --out"):
            comparing.compare(replace(comparison, **changes), out)
    assert sorted(out.rglob("*")) == before  # no config of the cell that was refused
    other = tmp_path / "other"
    comparing.compare(comparison, other)
    with pytest.raises(ConfigError, match="--final: expected a comparison without a report"):
        comparing.compare(comparison, other, final=True)
