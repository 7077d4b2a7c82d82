"""Ensembles of runs against NumPy from the members' own predictions, and what is refused."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner
from made_runs import make_run

import tf_adapt as ta
from hub_modules.storage import records
from tf_adapt.commands.main import cli
from tf_adapt.config.signal_sections import SliceConfig
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.runs import ensemble_folder, run_folder
from tf_adapt.tasks.spans import span_scores
from tf_adapt.training.ensembles.ensemble_scores import split_result
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file
from tf_adapt.training.resolving import run_config


def dev_of(run: Path) -> list:
    return load_splits(run_config.saved_config(run).data).examples["dev"]


def of_members(runs: list[Path], records: list) -> list[list]:
    """What each run predicts on its own."""
    found = []
    for run in runs:
        length, cut, context = run_config.saved_config(run).training.limits
        options = {"max_length": length, "truncate": cut, "document_context": context}
        found.append(ta.predict(ta.load_run(run), records, **options))
    return found


def scores_of(predictions: list[list]) -> np.ndarray:
    """`[members, examples, labels]`"""
    return np.array([[one.scores for one in found] for found in predictions])


@pytest.fixture(scope="module")
def texts(shallow_bert, tiny_elmo, tmp_path_factory) -> list[Path]:
    """Two BERTs of other seeds and an ELMo, which reads words."""
    folder = tmp_path_factory.mktemp("texts")
    return [
        make_run(folder / "bert_0", shallow_bert, "classification", 0),
        make_run(folder / "bert_1", shallow_bert, "classification", 1, training={"batch_size": 7}),
        make_run(folder / "elmo", tiny_elmo, "classification", 2, head="linear"),
    ]


@pytest.fixture(scope="module")
def alone(texts) -> list[list]:
    return of_members(texts, dev_of(texts[0]))


@pytest.fixture(scope="module")
def equal(texts, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "equal"
    ta.ensemble(texts, folder)
    return folder


@pytest.fixture(scope="module")
def votes(texts, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "votes"
    ta.ensemble(texts, folder, combine="votes")
    return folder


@pytest.fixture(scope="module")
def made_pair(texts, tmp_path_factory) -> Path:
    """The folder of two runs and of their ensemble `both`."""
    folder = tmp_path_factory.mktemp("pair")
    runs = [shutil.copytree(run, folder / run.name) for run in texts[:2]]
    ta.ensemble(runs, folder / "both")
    return folder


@pytest.fixture
def pair(made_pair, tmp_path) -> Path:
    """A copy of the folder, to be changed."""
    return Path(shutil.copytree(made_pair, tmp_path / "pair"))


@pytest.fixture(scope="module")
def taggers(shallow_bert, tmp_path_factory) -> list[Path]:
    """Without a CRF, one in parts of at most twelve pieces; with a CRF."""
    folder = tmp_path_factory.mktemp("taggers")
    short = {"max_length": 12, "truncate": True}
    return [
        make_run(
            folder / "short", shallow_bert, "tagging", 0, head="linear_tagger", training=short
        ),
        make_run(folder / "long", shallow_bert, "tagging", 1, head="linear_tagger"),
        make_run(folder / "crf", shallow_bert, "tagging", 2, head="crf"),
    ]


@pytest.fixture(scope="module")
def with_crf(taggers, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "with_crf"
    ta.ensemble([taggers[0], taggers[2]], folder)
    return folder


@pytest.mark.slow
def test_the_mean_of_the_members_probabilities(texts, alone, equal):
    found = ta.load_ensemble(equal).predict(dev_of(texts[0]))
    mean = scores_of(alone).mean(0)
    np.testing.assert_allclose([one.scores for one in found], mean, atol=1e-6)
    labels = ta.load_ensemble(equal).task.labels
    assert [one.label for one in found] == [labels[best] for best in mean.argmax(-1)]
    assert len({tuple(one.label for one in said) for said in alone}) == 3  # they disagree


def test_the_table_is_that_of_numpy_and_scipy(texts, alone, equal):
    gold = np.array([one.label for one in dev_of(texts[0])])
    right = np.array([[one.label for one in said] for said in alone]) == gold
    written = json.loads((equal / "ensemble.json").read_text("utf-8"))
    result = written["results"]["dev"]
    assert result["members"] == pytest.approx(right.mean(1).tolist())
    labels = written["task"]["labels"]
    ours = np.array(labels)[scores_of(alone).mean(0).argmax(-1)] == gold
    assert result["ensemble"] == pytest.approx(ours.mean())
    best = int(right.mean(1).argmax())
    assert result["best"] == best and result["items"] == len(gold)
    if (ours == right[best]).all():  # as may happen with random weights: nothing to test
        assert (result["p"], result["interval"]) == (None, None)
    else:
        test = scipy.stats.ttest_rel(ours.astype(float), right[best].astype(float))
        assert result["p"] == pytest.approx(test.pvalue)
        assert result["interval"] == pytest.approx(list(test.confidence_interval()))
    assert [one["weight"] for one in written["members"]] == pytest.approx([1 / 3] * 3)


@pytest.mark.slow
def test_its_files_are_the_ensembles_answers(equal, tmp_path):
    dev = SAMPLE_FOLDER / "classification" / "dev.tsv"
    assert predict_file(equal, dev, tmp_path / "dev.tsv") == 60
    assert (tmp_path / "dev.tsv").read_bytes() == (equal / "predictions" / "dev.tsv").read_bytes()
    written = json.loads((equal / "ensemble.json").read_text("utf-8"))
    reached = evaluate_file(equal, dev)
    assert reached["accuracy"] == pytest.approx(written["results"]["dev"]["ensemble"])
    of_labels = {"labels", "calibration"}
    assert reached.keys() - of_labels == {"accuracy", "matthews", "macro_f1", "balanced_accuracy"}
    assert sum(one["support"] for one in reached["labels"].values()) == 60
    assert sum(reached["calibration"]["counts"]) == 60


@pytest.mark.slow
def test_slices_are_scored_for_an_ensemble_too(texts, pair):
    """Those of its first member; and a member may get others without becoming another run."""
    first, both = pair / texts[0].name, pair / "both"
    dev = SAMPLE_FOLDER / "classification" / "dev.tsv"
    before = (first / "config.yaml").read_text("utf-8")
    long = {"long": SliceConfig(longer_than=8), "gone": SliceConfig(file="absent.txt")}
    run_folder.write_slices(first, {name: one.model_dump() for name, one in long.items()})
    assert list(run_config.saved_config(first).slices) == ["long", "gone"]

    found = evaluate_file(both, dev)
    records = dev_of(first)
    said = [one.label for one in ta.load_ensemble(both).predict(records)]
    word = r"n't|'[a-z]+|[a-z0-9]+"  # clitics stand apart in the sample
    inside = [len(re.findall(word, record.text_a.lower())) > 8 for record in records]
    right = np.array([a == b.label for a, b in zip(said, records, strict=True)])
    assert 0 < sum(inside) < len(inside)
    assert found["accuracy"] == pytest.approx(right.mean())
    assert found["slices"]["long"]["examples"] == sum(inside)
    assert found["slices"]["long"]["score"] == pytest.approx(right[np.array(inside)].mean())
    assert found["slices"]["gone"] is None
    run_folder.write_slices(first, {})
    assert (first / "config.yaml").read_text("utf-8") == before


def test_an_unknown_label_is_refused(equal, tmp_path):
    (tmp_path / "new.tsv").write_text("sentence\tlabel\nrain\t7\n", "utf-8")
    with pytest.raises(DataError, match=r"new\.tsv"):
        evaluate_file(equal, tmp_path / "new.tsv")


@pytest.mark.slow
def test_votes(texts, alone, votes):
    ensemble = ta.load_ensemble(votes)
    labels = list(ensemble.task.labels)
    counts = np.zeros((len(alone[0]), len(labels)))
    for said in alone:
        counts[np.arange(len(said)), [labels.index(one.label) for one in said]] += 1 / 3
    found = ensemble.predict(dev_of(texts[0]))
    np.testing.assert_allclose([one.scores for one in found], counts, atol=1e-6)
    tied = np.isclose(counts, counts.max(-1, keepdims=True))
    best = np.where(tied, scores_of(alone).mean(0), -1).argmax(-1)
    assert [one.label for one in found] == [labels[number] for number in best]


def reweighed(folder: Path, weights: list[float], to: Path) -> Path:
    """A copy of an ensemble beside it, with other weights."""
    shutil.copytree(folder, to)
    content = json.loads((folder / "ensemble.json").read_text("utf-8"))
    for member, weight in zip(content["members"], weights, strict=True):
        member["weight"] = weight
    records.write(to, "ensemble.json", json.dumps(content))
    return to


@pytest.mark.slow
def test_a_weight_of_1_gives_the_members_answers(texts, alone, equal):
    ensemble = ta.load_ensemble(reweighed(equal, [0.0, 1.0, 0.0], equal.with_name("only_1")))
    assert len(ensemble.members) == 1  # the others are not loaded
    found, said = ensemble.predict(dev_of(texts[0])), alone[1]
    assert [one.label for one in found] == [one.label for one in said]
    # In batches of another size, rounding differs.
    scores = [[one.scores for one in some] for some in (found, said)]
    np.testing.assert_allclose(*scores, atol=1e-6)


def test_the_test_is_scipys_paired_one():
    random = np.random.default_rng(0)
    best, ensemble = random.random(60) < 0.6, random.random(60) < 0.8
    sums = [np.stack([one, np.ones(60)], axis=1).astype(float) for one in (best, ensemble)]
    found = split_result("accuracy", sums[:1], sums[1], best=0)
    test = scipy.stats.ttest_rel(ensemble.astype(float), best.astype(float))
    assert found.p == pytest.approx(test.pvalue) and 0 < found.p < 1
    assert found.interval == pytest.approx(list(test.confidence_interval()))


def test_few_items_and_equal_answers_are_not_tested():
    right = np.array([[1.0, 1.0]] * 20 + [[0.0, 1.0]] * 4)
    other = right[::-1]
    found = split_result("accuracy", [right, other], other, best=0)
    assert found.p == pytest.approx(1) and found.interval is not None
    for ensemble, best in ((right, 0), (other, 1)):
        found = split_result("accuracy", [right, other], ensemble, best)
        assert (found.difference, found.p, found.interval) == (0, None, None)
    found = split_result("accuracy", [right[:19], other[:19]], other[:19], best=0)
    assert found.p is None and found.items == 19


@pytest.mark.slow
def test_words_are_averaged_whatever_the_pieces_and_parts(taggers, tmp_path):
    """Two taggers without a CRF: a word has its mean, though one reads it in another part."""
    made = ta.ensemble(taggers[:2], tmp_path / "both")
    ensemble = ta.load_ensemble(tmp_path / "both")
    own = [ensemble.members[number].answer(dev_of(taggers[0])) for number in range(2)]
    mean = np.mean([one["probabilities"].astype("float64") for one in own], axis=0)
    tags = np.array(ensemble.task.labels)[mean.argmax(-1)]
    dev = dev_of(taggers[0])
    found = ensemble.predict(dev)
    assert [tag for one in found for tag in one.label] == tags.tolist()
    gold = [one.tags for one in dev]
    expected = span_scores(gold, [one.label for one in found], "IOB2")
    assert made.results["dev"].ensemble == pytest.approx(expected["span_f1"])


@pytest.mark.slow
def test_a_tagger_of_weight_1_gives_its_own_tags_beside_a_crf(taggers, with_crf):
    """Within the limits of both: a sentence is in one part."""
    sentences = [["Ann", "met", "Bo"], ["rain"]]
    for number, run in enumerate((taggers[0], taggers[2])):
        weights = [float(one == number) for one in range(2)]
        folder = reweighed(with_crf, weights, with_crf.with_name(f"only_{number}"))
        found = ta.load_ensemble(folder).predict(sentences)
        ((one, two),) = [of_members([run], sentences)[0]]
        for mine, expected in zip(found, (one, two), strict=True):
            assert mine.label == expected.label
            np.testing.assert_allclose(mine.scores, expected.scores, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("data", "name"), [("texts", "votes"), ("taggers", "with_crf")])
def test_the_exports_answers_are_those_of_predict(data, name, tmp_path, request):
    first, made = request.getfixturevalue(data)[0], request.getfixturevalue(name)
    export = export_run(made, tmp_path / "export")
    assert export.name == "1"
    card = (export / "README.md").read_text("utf-8")
    assert f"| {first.name} |" in card and "tf-adapt predict" in card
    dev = SAMPLE_FOLDER / ("tagging/dev.txt" if data == "taggers" else "classification/dev.tsv")
    for folder, name in ((made, "made.jsonl"), (export, "export.jsonl")):
        assert predict_file(folder, dev, tmp_path / name) == 60
    lines = [
        [json.loads(line) for line in (tmp_path / name).read_text("utf-8").splitlines()]
        for name in ("made.jsonl", "export.jsonl")
    ]
    for ours, served in zip(*lines, strict=True):
        scores = [one.pop("scores") for one in (ours, served)]
        assert ours == served
        scores = [list(one.values()) if isinstance(one, dict) else one for one in scores]
        np.testing.assert_allclose(*scores, atol=2e-6)


@pytest.mark.slow
def test_thresholds_are_chosen_for_the_ensemble(shallow_bert, tmp_path):
    kind = "multilabel_classification"
    thresholds = [0.3] * 4
    runs = [
        make_run(tmp_path / str(seed), shallow_bert, kind, seed, thresholds=thresholds)
        for seed in (0, 1)
    ]
    found = ta.ensemble(runs, tmp_path / "both")
    ensemble = ta.load_ensemble(tmp_path / "both")
    dev = dev_of(runs[0])
    models = [ta.load_run(run) for run in runs]
    mean = np.mean([[one.scores for one in ta.predict(model, dev)] for model in models], axis=0)
    said = ensemble.predict(dev)
    np.testing.assert_allclose([one.scores for one in said], mean, atol=1e-6)
    chosen = mean >= np.array(ensemble.task.thresholds) - 1e-7
    for one, row in zip(said, chosen, strict=True):
        assert one.label == tuple(np.array(ensemble.task.labels)[row])
    assert found.thresholds_on_dev and ensemble.task.thresholds != tuple(thresholds)
    with pytest.raises(ConfigError, match="expected probabilities for multilabel_classification"):
        ta.ensemble(runs, tmp_path / "votes", combine="votes")


@pytest.mark.slow
def test_the_mean_of_scores(shallow_bert, tmp_path):
    runs = [make_run(tmp_path / str(seed), shallow_bert, "regression", seed) for seed in (0, 1)]
    # A member may show scores in another range.
    described = run_folder.saved_task(runs[1])
    task = described.task.model_copy(update={"label_range": [-1000.0, 1000.0]})
    run_folder.write_task(runs[1], task.model_dump(), described.module)
    found = ta.ensemble(runs, tmp_path / "both")
    dev = dev_of(runs[0])
    own = np.array([[one.label for one in said] for said in of_members(runs, dev)])
    said = [one.label for one in ta.load_ensemble(tmp_path / "both").predict(dev)]
    np.testing.assert_allclose(said, own.mean(0), atol=1e-5)
    gold = [one.label for one in dev]
    expected = [np.corrcoef(one, gold)[0, 1] for one in (*own, own.mean(0))]
    reached = found.results["dev"]
    np.testing.assert_allclose([*reached.members, reached.ensemble], expected, atol=1e-5)


def test_members_of_other_tasks_and_data_are_refused(texts, taggers, shallow_bert, tmp_path):
    def refused(other: Path, message: str) -> None:
        with pytest.raises(ConfigError, match=message) as error:
            ta.ensemble([texts[0], other], tmp_path / "out")
        assert str(texts[0]) in str(error.value) and str(other) in str(error.value)
        assert not (tmp_path / "out").exists()

    refused(taggers[0], "task kind: expected classification.*got tagging")
    other = Path(shutil.copytree(texts[1], tmp_path / "labels"))
    described = json.loads((other / "task.json").read_text("utf-8"))
    reverse = described["task"] | {"labels": described["task"]["labels"][::-1]}
    records.write(other, "task.json", json.dumps(described | {"task": reverse}))
    refused(other, "task labels: expected .*with the labels in one order")
    metric = described["task"] | {"metric": "matthews"}
    records.write(other, "task.json", json.dumps(described | {"task": metric}))
    refused(other, "task metric: expected accuracy.*got matthews")
    data = {"held_out": 0.2}
    held_out = make_run(tmp_path / "held_out", shallow_bert, "classification", 3, data=data)
    refused(held_out, "expected the dev examples of .*got others")


def test_one_member_and_one_twice_are_refused(texts, tmp_path):
    with pytest.raises(ConfigError, match="at least two runs, got 1"):
        ta.ensemble(texts[:1], tmp_path / "out")
    copy = shutil.copytree(texts[0], tmp_path / "copy")
    for other in (texts[0], copy):
        with pytest.raises(ConfigError, match="got the same one twice"):
            ta.ensemble([texts[0], other], tmp_path / "out")


def test_what_is_no_finished_run_is_refused(texts, equal, tmp_path):
    def refused(other: Path, message: str) -> None:
        with pytest.raises(ArtifactError, match=message):
            ta.ensemble([texts[0], other], tmp_path / "out")

    refused(tmp_path, "neither config.yaml nor manifest.json")
    refused(equal, "got that of an ensemble.*name one of its members")
    unfinished = Path(shutil.copytree(texts[1], tmp_path / "unfinished"))
    (unfinished / "metrics.json").unlink()
    refused(unfinished, "expected a finished run; end it")
    damaged = Path(shutil.copytree(texts[1], tmp_path / "damaged"))
    weights = damaged / "checkpoint" / "best_0002" / "model.npz"
    weights.write_bytes(weights.read_bytes()[:-9] + b"123456789")
    refused(damaged, "finished, but not whole.*model.npz")
    with pytest.raises(ArtifactError, match="expected a folder that does not exist yet"):
        ta.ensemble(texts, equal)


def test_arguments_are_checked(texts, tmp_path):
    for wrong in ({"combine": "mean"}, {"weights": "best"}, {"average": "all"}):
        ((name, value),) = wrong.items()
        with pytest.raises(ConfigError, match=f"{name}: expected .* or .*, got '{value}'"):
            ta.ensemble(texts, tmp_path / "out", **wrong)
    with pytest.raises(ConfigError, match="combine: expected none with average: weights"):
        ta.ensemble(texts, tmp_path / "out", combine="votes", average="weights")


@pytest.mark.slow
def test_an_ensemble_whose_members_changed_is_refused(shallow_bert, texts, pair, tmp_path):
    moved, first, second = pair / "both", pair / texts[0].name, pair / texts[1].name
    assert len(ta.load_ensemble(moved).members) == 2  # moved together
    text = (first / "config.yaml").read_text("utf-8")
    records.write(first, "config.yaml", text.replace("head: default", "head: linear"))
    with pytest.raises(ArtifactError, match="is another run than the one that it was made of"):
        ta.load_ensemble(moved)
    records.write(first, "config.yaml", text)
    shutil.rmtree(second)
    with pytest.raises(ArtifactError, match="expected its member in .*got no run there"):
        ta.load_ensemble(moved)
    make_run(second, shallow_bert, "classification", 7)
    with pytest.raises(ArtifactError, match="is another run than the one that it was made of"):
        predict_file(moved, SAMPLE_FOLDER / "classification" / "dev.tsv", tmp_path / "out.tsv")
    shutil.rmtree(second)
    shutil.copytree(texts[1], second)
    found = ensemble_folder.read(moved)
    task = found.task.model_copy(update={"labels": found.task.labels[1:]})
    ensemble_folder.write(moved, found.model_copy(update={"task": task}))
    with pytest.raises(ArtifactError, match=r"expected the task of its member .*, got another"):
        ta.load_ensemble(moved)
    content = (moved / "ensemble.json").read_text("utf-8")
    (moved / "ensemble.json").write_text(content.replace("0.5", "0.4"), "utf-8")
    with pytest.raises(ArtifactError, match="its SHA-256 is not the one in record.json"):
        export_run(moved, tmp_path / "export")


def test_runs_and_ensembles_are_not_mistaken(texts, equal, tmp_path):
    with pytest.raises(ArtifactError, match="got that of an ensemble.*tf_adapt.load_ensemble"):
        ta.load_run(equal)
    with pytest.raises(ArtifactError, match="got that of a run; load it with tf_adapt.load_run"):
        ta.load_ensemble(texts[0])
    with pytest.raises(ArtifactError, match=r"no ensemble\.json in it"):
        ta.load_ensemble(tmp_path)
    with pytest.raises(ConfigError, match="expected no --signature"):
        predict_file(equal, "-", tmp_path / "out.tsv", signature="a")


@pytest.mark.slow
def test_a_text_too_long_for_one_member_names_it(texts, shallow_bert, tmp_path):
    short = make_run(
        tmp_path / "s", shallow_bert, "classification", 5, training={"max_length": 200}
    )
    ta.ensemble([texts[0], short], tmp_path / "both")
    with pytest.raises(DataError, match=rf"at most 200 tokens.*read by the member .*{short}"):
        ta.load_ensemble(tmp_path / "both").predict(["a " * 220])


@pytest.mark.slow
def test_weights_of_dev_are_never_below_the_best_alone(texts, alone, tmp_path):
    arguments = ["ensemble", *map(str, texts), "--weights", "dev", "--out", str(tmp_path / "dev")]
    found = CliRunner().invoke(cli, [*arguments, "--json"])
    assert found.exit_code == 0, found.output
    result = json.loads(found.stdout)
    reached = result["results"]["dev"]
    assert reached["ensemble"] >= max(reached["members"]) and "p" in reached
    weights = [member["weight"] for member in result["members"]]
    assert sum(weights) == pytest.approx(1) and result["chosen_on_dev"]
    gold, labels = [one.label for one in dev_of(texts[0])], result["task"]["labels"]
    mean = np.average(scores_of(alone), axis=0, weights=weights).argmax(-1)
    right = np.mean([labels[best] == one for best, one in zip(mean, gold, strict=True)])
    assert reached["ensemble"] == pytest.approx(right)


@pytest.mark.slow
def test_the_command_shows_a_table_and_what_it_is_worth(texts, tmp_path):
    runs = [str(run) for run in texts[:2]]
    arguments = ["ensemble", *runs, "--weights", "dev", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(cli, arguments)
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0].split() == ["weight", "dev"]
    assert [line.split()[0] for line in lines[1:4]] == [*runs, "ensemble"]
    # Weights chosen on dev may leave one run alone, which differs from itself in no item.
    assert "points over the best single run (" in found.stdout
    assert "chosen on dev: the score and the test there are too good" in found.stdout
    assert "There is no test split" in found.stdout
    assert lines[-1] == f"ensemble: {tmp_path / 'out'}"
    found = CliRunner().invoke(cli, arguments)
    assert found.exit_code == 4
    assert found.stderr.splitlines()[-1].startswith("ArtifactError: ")
    found = CliRunner().invoke(cli, ["ensemble", runs[0], "--out", str(tmp_path / "one")])
    assert found.exit_code == 2 and "at least two runs" in found.stderr.splitlines()[-1]
