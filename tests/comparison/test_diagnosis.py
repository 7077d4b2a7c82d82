"""Symptoms and counter-runs on made records; numbers of others for what is measured."""

import itertools
import json
import math
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import report_contents as contents
import simulated_comparisons as simulated
from click.testing import CliRunner
from finished_runs import finish
from sklearn.metrics import roc_auc_score

from hub_modules.storage.files import write_text
from tf_adapt.commands.main import cli
from tf_adapt.comparison.baselines.bag_of_words import features_like
from tf_adapt.comparison.diagnosis import diagnosing, texts
from tf_adapt.comparison.diagnosis.causes import CAUSES, overrides
from tf_adapt.comparison.diagnosis.counter_runs import counter_folder
from tf_adapt.comparison.diagnosis.evidence import Evidence
from tf_adapt.comparison.diagnosis.report_reading import content_from, read_content
from tf_adapt.config.reading import config_from, dump_config, load_config
from tf_adapt.data.formats import Record
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import to_json
from tf_adapt.report.diagnosis.causes import Cause, Diagnosis
from tf_adapt.report.diagnosis.section import diagnosis_lines, diagnosis_section
from tf_adapt.report.markdown import to_markdown
from tf_adapt.report.scored_cells import Trial
from tf_adapt.runs import run_folder

COLUMNS = {"text_a": "text", "label": "label"}
WORDS = {"good": ["fine", "great", "lovely", "sweet"], "bad": ["poor", "awful", "dull", "sour"]}


def records(count, seed=0, wrong=()):
    """Texts of three words of their label, the labels of some of them wrong."""
    random, found = np.random.default_rng(seed), []
    for number in range(count):
        label, other = ("good", "bad") if number % 2 else ("bad", "good")
        text = " ".join([*random.choice(WORDS[label], 3), f"w{seed}{number}"])
        found.append(Record(text, label=other if number in wrong else label))
    return found


def evidence(folder=None, tried=(), frozen=False, **changed):
    """A healthy run of 300 steps, with changes: keys of the config, or what was recorded."""
    recorded = {
        "losses": [0.69, 0.4, 0.2],
        "curve": [0.6, 0.8, 0.8],
        "one_answer": False,
        "baseline": 0.5,
        "distances": {"all": 0.02},
        "encoder_gradient": 0.9,
        "dev": 0.8,
        "labels": texts.LabelCheck(0.7, 0.72, 1.0),
        "domain_auc": (0.5, 0.4, 0.6),
    }
    recorded |= {name: changed.pop(name) for name in list(changed) if name in recorded}
    examples = changed.pop(
        "examples", {"train": records(800), "dev": records(40, 1), "test": records(40, 2)}
    )
    training = {"epochs": 3, "batch_size": 8, "learning_rate": 1e-2 if frozen else 1e-4}
    content = {
        "data": {"format": "tsv", "kind": "classification", "train": "t", "columns": COLUMNS},
        "encoder": {"handle": "bert_small"},
        "head": "linear",
        "adaptation": "feature_extraction" if frozen else "fine_tuning",
        "training": training | changed.pop("training", {}),
    }
    metrics = {"metric": "accuracy", "epochs": content["training"]["epochs"]}
    metrics |= {"family": changed.pop("family", "bert")}
    metrics |= {"head": "linear", "reads": changed.pop("reads", "the mean, standardised")}
    metrics |= {"dev": {"accuracy": recorded.pop("dev")}, "distances": recorded.pop("distances")}
    kind, labels = changed.pop("kind", "classification"), changed.pop("of", ["bad", "good"])
    splits = Splits("x", kind, labels, None, None, "IOB2", examples)
    run = Evidence(folder, config_from(content | changed, "test"), metrics, splits, tuple(tried))
    run.__dict__.update(recorded)
    return run


def suspected(run):
    return {name for name, row in CAUSES.items() if row.symptom(run)}


def trials(*scores, rates=(1e-5, 3e-5, 1e-4)):
    return [Trial(rate, score) for rate, score in zip(rates, scores, strict=True)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, set()),
        ({"frozen": True}, set()),
        ({"training": {"learning_rate": 1e-2}}, {"rate_too_high"}),
        ({"training": {"learning_rate": 1e-6}}, {"rate_too_low"}),
        ({"training": {"learning_rate": 1e-6}, "dev": 0.5}, {"rate_too_low"}),
        ({"training": {"learning_rate": 1e-2}, "losses": [0.6, 0.59]}, {"rate_too_high"}),
        ({"tried": trials(0.5, 0.6, 0.8)}, {"rate_too_low"}),
        ({"tried": trials(0.8, 0.7, 0.6, rates=(1e-4, 3e-4, 1e-3))}, {"rate_too_high"}),
        ({"losses": [0.69, 0.68, 0.67]}, {"rate_too_low"}),
        ({"losses": [0.69, 0.68, 0.69]}, {"rate_too_low"}),
        ({"losses": [0.69, 0.9, 0.8]}, {"rate_too_high"}),
        ({"losses": [0.69, 0.9, 0.8], "frozen": True}, {"rate_too_high"}),
        ({"losses": [0.0, 0.0]}, set()),
        ({"dev": 0.51}, {"rate_too_high"}),
        ({"curve": [0.6, 0.7, 0.8]}, {"too_few_steps"}),
        ({"training": {"epochs": 1, "batch_size": 16}, "losses": [0.6]}, {"too_few_steps"}),
        ({"one_answer": True}, {"rate_too_high", "collapsed"}),
        ({"encoder_gradient": 0.001}, {"collapsed"}),
        ({"encoder_gradient": 0.0, "frozen": True}, set()),
        ({"distances": {"all": 0.5}}, {"forgetting"}),
        ({"distances": None}, set()),
        ({"reads": "the pooled vector"}, set()),
        ({"reads": "the pooled vector", "frozen": True}, {"unscaled_states"}),
        ({"reads": None, "frozen": True}, {"unscaled_states"}),
        ({"frozen": True, "losses": [0.69, 0.55, 0.5]}, {"head_too_small"}),
        (
            {"frozen": True, "losses": [0.69, 0.6, 0.5], "training": {"learning_rate": 1e-4}},
            {"rate_too_low"},
        ),
        ({"labels": texts.LabelCheck(0.5, 0.7, 4.0)}, {"noisy_labels"}),
        ({"labels": texts.LabelCheck(0.5, 0.7, 2.0)}, set()),
        ({"labels": texts.LabelCheck(0.5, 0.7, 4.0), "of": None}, set()),  # texts to write
        ({"domain_auc": (0.9, 0.85, 0.95)}, {"other_domain"}),
        ({"domain_auc": (0.8, 0.7, 0.9)}, set()),
    ],
)
def test_what_is_suspected(changed, expected):
    assert suspected(evidence(**changed)) == expected


@pytest.mark.parametrize(
    ("name", "changed", "expected"),
    [
        ("rate_too_high", {"training": {"learning_rate": 1e-2}}, {"training.learning_rate": 3e-4}),
        ("rate_too_high", {}, {"training.learning_rate": 1e-5}),
        ("rate_too_low", {"training": {"learning_rate": 1e-6}}, {"training.learning_rate": 3e-5}),
        ("too_few_steps", {}, {"training.epochs": 12}),
        ("too_few_steps", {"training": {"epochs": 1, "batch_size": 80}}, {"training.epochs": 20}),
        ("too_few_steps", {"training": {"epochs": 2, "batch_size": 800}}, {"training.epochs": 50}),
        ("too_few_steps", {"training": {"epochs": 20}}, {"training.epochs": 80}),
        (
            "head_too_small",
            {"frozen": True},
            {
                "head": "default",
                "head_units": 64,
                "head_pooling": None,
                "head_scaled": None,
                "training.learning_rate": 3e-3,
            },
        ),
        ("head_too_small", {"head": "bcn", "head_units": 1}, {"head_units": 64}),
        ("head_too_small", {"head": "bcn"}, None),
        ("head_too_small", {"frozen": True, "family": "sentence"}, None),
        ("head_too_small", {"frozen": True, "kind": "span_extraction"}, None),
        ("unscaled_states", {"frozen": True}, {"head_scaled": True}),
    ],
)
def test_what_a_counter_run_has_otherwise(name, changed, expected, tmp_path):
    assert CAUSES[name].settings(evidence(**changed), tmp_path) == expected


def test_the_counter_run_of_noisy_labels_reads_what_is_left(tmp_path):
    run = evidence(examples={"train": records(60), "dev": records(6, 1)})
    run.__dict__["suspicious"] = np.isin(np.arange(60), (3, 20))
    settings = CAUSES["noisy_labels"].settings(run, tmp_path)
    text = Path(settings["data"]["train"]).read_text("utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    kept = [record.text_a for record in np.array(run.splits.examples["train"])[~run.suspicious]]
    assert [line["text_a"] for line in lines] == kept
    config = {"encoder": {"handle": "bert_small"}, "adaptation": "tune", "data": settings["data"]}
    config_from(config | {"training": {"epochs": 1, "batch_size": 1, "learning_rate": 1.0}}, "test")


def test_the_settings_of_each_counter_run_are_a_config(tmp_path):
    """Of a run with all that a cause has to take back."""
    changed = {"penalties": {"l2_sp": {}, "ewc": {"fisher": "f"}}, "slice_heads": True}
    changed |= {"slices": {"long": {"longer_than": 5}}}
    path, count = tmp_path / "config.yaml", 0
    for frozen, rate in itertools.product((False, True), (1e-4, 3e-5, 1e-6)):
        extra = {} if frozen else changed
        run = evidence(frozen=frozen, training={"learning_rate": rate}, **extra)
        path.write_text(dump_config(run.config), "utf-8")
        for name, row in CAUSES.items():
            if row.settings is None or (name, frozen) == ("unscaled_states", False):
                continue
            settings = row.settings(run, tmp_path / name)
            config = load_config(path, overrides(settings))
            wanted = settings.get("training.learning_rate", rate)
            assert config.training.learning_rate == wanted
            count += 1
    assert count == 45


def test_wrong_labels_are_found():
    wrong = {3, 20, 41, 58}
    train = records(80, wrong=wrong)
    found = texts.label_check(train, records(60, 1))
    assert set(np.flatnonzero(texts.suspicious_labels(train))) == wrong
    # One of words alone is right but where the label is wrong.
    assert (found.train, found.dev) == (76 / 80, 1.0)
    assert found.z == pytest.approx(0.05 / math.sqrt(0.05 * 0.95 / 80))
    assert texts.label_check(records(80)[::2], records(60, 1)).z == 0  # one label


def test_of_many_texts_a_sample_is_fitted(monkeypatch):
    monkeypatch.setattr(texts, "MOST_TEXTS", 60)
    train, fitted = records(200, wrong={3, 20, 141, 158}), []
    monkeypatch.setattr(
        texts, "features_like", lambda train: fitted.append(train) or features_like(train)
    )
    assert texts.label_check(train, records(60, 1)).dev == 1
    train[7] = replace(train[7], label="rare")
    assert set(np.flatnonzero(texts.suspicious_labels(train))) == {3, 20, 141, 158}
    assert [len(part) for part in fitted] == [60, 60] and train[7] not in fitted[1]


@pytest.mark.parametrize(
    "train",
    [
        records(2),
        [Record(f"w{number}", label=str(number)) for number in range(9)],
        [replace(record, group="one") for record in records(20)],
        [replace(record, group=record.label) for record in records(20)],
        [Record(" ", label=label) for label in ("good", "bad") * 10],
    ],
    ids=["one of each label", "as many labels", "one group", "a group for each label", "blank"],
)
def test_where_nothing_can_be_learnt_nothing_is_suspected(train):
    assert texts.label_check(train, records(9, 1)) == texts.LabelCheck(1.0, 1.0, 0.0)
    assert not texts.suspicious_labels(train).any()


@pytest.mark.parametrize(("some", "others"), [(1, 1), (1, 40), (3, 3)])
def test_few_texts_are_no_other_domain(some, others):
    assert texts.domain_auc(records(some), records(others, 1))[1] < 0.5
    blank = [Record(" ")] * some
    assert texts.domain_auc(blank, blank) == (0.5, 0.0, 1.0)


def test_the_error_of_an_area_is_the_published_one():
    """Hanley and McNeil 1982: 0.893 of 51 abnormal and 58 normal images has 0.032."""
    assert texts.auc_error(0.893, 51, 58) == pytest.approx(0.032, abs=1e-3)


def test_texts_of_one_source_cannot_be_told_apart_others_can():
    area, low, high = texts.domain_auc(records(200), records(200, 1))
    assert low < 0.5 < high and area == pytest.approx(0.5, abs=0.1)
    others = [Record(f"it is far off {number}") for number in range(100)]
    assert texts.domain_auc(records(200), others)[1] > 0.95
    random = np.random.default_rng(0)
    areas = [
        roc_auc_score([0] * 60 + [1] * 40, np.r_[random.normal(0, 1, 60), random.normal(1, 1, 40)])
        for _ in range(400)
    ]
    assert texts.auc_error(np.mean(areas), 40, 60) == pytest.approx(np.std(areas), rel=0.15)


class Fixed:
    """In place of trainings: writes what a counter-run answers on dev."""

    def __init__(self, answers):
        self.answers = answers

    def train(self, config, given, folder):
        if self.answers is None:
            return None
        _answer(folder, self.answers)
        return run_folder.finished_metrics(folder)


def _answer(folder, answers):
    rows = "".join(f"{answer}\tx\n" for answer in answers)
    gold = [record.label for record in records(40, 1)]
    score = float(np.mean([a == b for a, b in zip(answers, gold, strict=True)]))
    finish(folder, {"dev": f"prediction\tx\n{rows}"}, dev={"accuracy": score})


@pytest.mark.parametrize(("right", "named"), [(0, False), (4, False), (40, True), (None, False)])
def test_a_cause_is_named_where_its_counter_run_clearly_gains(right, named, tmp_path):
    gold = [record.label for record in records(40, 1)]
    folder = tmp_path / "run"
    _answer(folder, ["good"] * 40)
    run = evidence(folder, dev=0.5, training={"learning_rate": 1e-2})
    answers = None if right is None else gold[:right] + ["good"] * (40 - right)
    found = diagnosing._diagnosis(run, None, tmp_path, tmp_path / "home", Fixed(answers))
    (cause,) = found.causes
    assert (cause.name, cause.named) == ("rate_too_high", named)
    if right is not None:
        # McNemar's: of what the runs answer otherwise.
        difference = np.array(answers) != np.array(["good"] * 40)
        error = math.sqrt(np.var(difference.astype(float), ddof=1) / 40)
        expected = [difference.mean() + side * 1.96 * error for side in (0, -1, 1)]
        assert cause.gain == pytest.approx(expected, abs=1e-3)


def test_a_counter_run_at_the_baseline_names_nothing(tmp_path):
    gold = [record.label for record in records(40, 1)]
    _answer(tmp_path / "run", ["good"] * 40)
    run = evidence(tmp_path / "run", dev=0.5, baseline=1.0, training={"learning_rate": 1e-2})
    found = diagnosing._diagnosis(run, None, tmp_path, tmp_path / "home", Fixed(gold))
    assert [cause.gain[0] for cause in found.causes] == [0.5] and not found.named


class Refusing:
    """In place of trainings, of which each is refused."""

    def train(self, config, given, folder):
        raise ConfigError("head_units: expected fewer")


def test_a_refused_counter_run_leaves_its_cause_unchecked(tmp_path, caplog):
    run = evidence(tmp_path / "run", training={"learning_rate": 1e-2})
    (cause,) = diagnosing._diagnosis(run, None, tmp_path, tmp_path / "home", Refusing()).causes
    assert (cause.named, cause.gain, cause.run) == (False, None, None)
    assert "not checked: the learning rate is too high: head_units: expected" in caplog.text


def test_another_run_has_counter_runs_of_its_own(tmp_path):
    home, given = tmp_path / "home", ["training.epochs=12"]

    def folder(**changed):
        return counter_folder(home, "noisy_labels", evidence(**changed).config, given)

    before = folder()
    assert folder() == before != folder(training={"seed": 1})
    for text in ("a", "b"):
        write_text(home / "noisy_labels" / "train.tsv", text)
        assert folder() != before
        before = folder()


def with_runs(content, folder):
    """The content of a comparison whose cells have one run each; its folders."""
    runs = {cell.id: folder / "runs" / cell.id / "seed_0" for cell in content.cells}
    cells = [
        replace(cell, commands=[shlex.join(["tf-adapt", "train", "c", "--out", str(run)])])
        for cell, run in zip(content.cells, runs.values(), strict=True)
    ]
    return replace(content, cells=cells), runs


def test_cells_that_cannot_be_diagnosed_are_left_out(tmp_path, monkeypatch, caplog):
    content, runs = with_runs(contents.complete(), tmp_path)
    refused, kept = [cell.id for cell in content.cells if cell.pretrained][:2]
    gold = [record.label for record in records(40, 1)]
    for cell in (refused, kept):
        _answer(runs[cell], ["good"] * 40)

    def evidence_of(run, tried):
        if run == runs[refused]:
            raise ConfigError("expected the run of one task")
        return evidence(run, dev=0.5, training={"learning_rate": 1e-2})

    monkeypatch.setattr(diagnosing, "read_content", lambda folder: content)
    monkeypatch.setattr(diagnosing, "evidence_of", evidence_of)
    monkeypatch.setattr(diagnosing, "write_report", lambda *_: None)
    (found,) = diagnosing._of_cells(tmp_path, Fixed(gold))
    assert found.cell == kept and f"left out: {refused}: expected the run of" in caplog.text
    (cause,) = found.causes
    assert found.run == f"runs/{kept}/seed_0"
    assert cause.run.startswith(f"diagnosis/{kept}/rate_too_high-") and cause.named


def test_a_comparison_without_a_finished_run_is_refused(tmp_path, monkeypatch):
    content, _ = with_runs(contents.complete(), tmp_path)
    monkeypatch.setattr(diagnosing, "read_content", lambda folder: content)
    with pytest.raises(ConfigError, match="expected a comparison with a finished run .* got none"):
        diagnosing._of_cells(tmp_path, Fixed(None))


def test_noise_is_named_where_fewer_labels_lose_nothing():
    confirms = CAUSES["noisy_labels"].confirms
    assert confirms([-1, -6, 4]) and not confirms([-5, -10, 0])


def test_the_median_run_is_diagnosed_unless_a_seed_is_at_the_baseline(tmp_path):
    runs = [tmp_path / name for name in "abcd"]
    for folder, score in zip(runs, (0.9, 0.7, 0.8, 0.6), strict=True):
        finish(folder, dev={"accuracy": score})
    assert diagnosing._median_run(runs, 0.5, "accuracy") == runs[1]
    assert diagnosing._median_run(runs, 0.6, "accuracy") == runs[3]
    assert diagnosing._median_run([tmp_path / "none"], 0.5, "accuracy") is None


def test_other_folders_are_refused(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file.txt").touch()
    for name in ("no", "other"):
        result = CliRunner().invoke(cli, ["diagnose", str(tmp_path / name)])
        assert result.exit_code == 2
        assert "expected the folder of a finished run or of a comparison" in result.output


def test_what_is_read_of_a_report_is_its_content():
    plans = (contents.complete, contents.incomplete, contents.one_cell, *simulated.ALL)
    for plan in plans:
        plain = json.loads(json.dumps(to_json(plan())))
        found = content_from({key: value for key, value in plain.items() if key != "format"})
        assert json.loads(json.dumps(to_json(found))) == plain


def test_a_damaged_report_says_what_to_do(tmp_path):
    for text in ("{", "[]", '{"format": 3}', '{"format": 4}'):
        (tmp_path / "report.json").write_text(text, "utf-8")
        with pytest.raises(ArtifactError, match="give the command of the comparison again"):
            read_content(tmp_path)


def test_the_section_names_what_is_confirmed():
    content = contents.complete()
    causes = [
        Cause(
            name="rate_too_high",
            title="the learning rate is too high",
            seen="one answer to everything",
            otherwise=["training.learning_rate=0.0003"],
            after=0.812,
            gain=[0.3, 0.2, 0.4],
            named=True,
        ),
        Cause(name="too_few_steps", title="too few steps", seen="5 steps", otherwise=["x=1"]),
    ]
    entry = ranked(content.cells)[1]
    found = Diagnosis(cell=entry.cell.id, run="r", score=0.512, causes=causes, seconds=12.0)
    content = replace(content, diagnosis=[found])
    text = to_markdown(diagnosis_section(content, ranked(content.cells)))
    assert "The learning rate is too high (one answer to everything): with " in text
    assert "0.0003 dev has 81.2 instead of 51.2." in text
    assert "+30.0 (+20.0 to +40.0)" in text and "12 seconds" in text
    assert diagnosis_section(contents.complete(), ranked(content.cells)) == []
    healthy = replace(found, causes=causes[1:])
    assert diagnosis_lines(healthy) == ["No cause was confirmed; suspected: too few steps."]


def test_a_diagnosis_is_kept_as_long_as_its_run_is_of_the_cell(tmp_path):
    content = contents.complete()
    cell = content.cells[0]
    folder = f"runs/{cell.id}/rate_0.1/seed_0"
    commands = [shlex.join(["tf-adapt", "train", "c.yaml", "--out", f"/before/{folder}"])]
    content = replace(content, cells=[replace(cell, commands=commands)])
    assert diagnosing.kept_diagnosis(content, tmp_path) is None
    found = [
        Diagnosis(cell=cell.id, run=run, score=0.5, causes=[], seconds=0.0)
        for run in (folder, folder + "1")
    ]
    diagnosing._write(tmp_path, found)
    assert diagnosing.kept_diagnosis(content, tmp_path) == found[:1]
    (tmp_path / "diagnosis" / "diagnosis.json").write_text("[1]", "utf-8")
    with pytest.raises(ArtifactError, match="remove it, and the same command"):
        diagnosing.kept_diagnosis(content, tmp_path)


def test_a_trainer_tells_of_errors_and_makes_nothing_twice(tmp_path):
    with diagnosing.Trainer() as trainer:
        (tmp_path / "config.yaml").write_text("data: 1\n", "utf-8")
        with pytest.raises(ConfigError, match="counter-run .*data: expected"):
            trainer.train(tmp_path / "config.yaml", [], tmp_path / "run")
        finish(tmp_path / "done")
        assert trainer.train(tmp_path / "config.yaml", [], tmp_path / "done")["epochs"] == 1
        (tmp_path / "over.failed").touch()
        assert trainer.train(tmp_path / "config.yaml", [], tmp_path / "over") is None
