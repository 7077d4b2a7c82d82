"""`ta.compare`: a dict or a frame in, an object for scripts and notebooks out."""

import html
import json
import math
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import finished_runs
import numpy as np
import pandas as pd
import pytest
import yaml

import tf_adapt as ta
from tf_adapt.comparison import comparing, in_python, winner_export, written_report
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.report.content import to_json
from tf_adapt.runs import run_folder
from tf_adapt.training.resolving import run_config

COMPARE = {
    "encoders": ["elmo_small"],
    "adaptations": ["freeze", "tune"],
    "extend": False,
    "heads": ["linear"],
    "learning_rates": [1.0e-3],
    "seeds": 3,
}
TRAINING = {"epochs": 1, "batch_size": 32}
SAMPLE = {
    "data": {"dataset": "sample_classification", "source": "sample", "held_out": 0.2},
    "compare": COMPARE,
    "training": TRAINING,
}
OWN = {"compare": COMPARE, "training": TRAINING}
ONE_SPLIT = OWN | {"compare": COMPARE | {"folds": 0}}
TASK = {
    "kind": "classification",
    "labels": ["a", "b"],
    "metric": "accuracy",
    "scheme": "IOB2",
    "label_range": None,
}
COLUMNS = {"text": "review", "label": "stars"}


def frame(count=80, **changed) -> pd.DataFrame:
    """Reviews with 1, 2 or 3 stars, and a column that nobody reads."""
    columns = {
        "review": [f"the film number {number}" for number in range(count)],
        "stars": [1 + number % 3 for number in range(count)],
        "id": range(count),
    }
    return pd.DataFrame(columns | changed)


def finish_all(outcomes, *others):
    """Runs that are there at once: 🔥 is always right, ❄ never."""
    splits = load_splits(outcomes.comparison.cells[0].config.data)
    gold = [record.label for record in splits.examples["test"]]
    other = dict(zip(splits.labels, [*splits.labels[1:], splits.labels[0]], strict=True))
    while runs := list(outcomes.waiting()):
        for run in runs:
            right = run.cell.config.adaptation.name == "fine_tuning"
            said = gold if right else [other[label] for label in gold]
            run_config.start(run.folder, run.cell.config)
            run_folder.write_task(run.folder, TASK, "abc")
            run_folder.write_history(run.folder, [{"epoch": 1, "dev_accuracy": 0.9}])
            predictions = "".join(
                f"{line}{finished_runs.QUARTERS}\n" for line in ["prediction", *said]
            )
            scores = {"dev": {"accuracy": 0.9}, "test": {"accuracy": float(right)}}
            finished_runs.finish(run.folder, {"test": predictions}, head="linear", **scores)


@pytest.fixture(scope="module")
def compare():
    """`ta.compare` without processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "run_all", finish_all)
        patch.setattr(
            winner_export, "_export", lambda run, folder: (folder / "1").mkdir(parents=True)
        )
        yield ta.compare


@pytest.fixture(scope="module")
def found(compare, tmp_path_factory):
    """A comparison whose learning rates are tried."""
    rates = COMPARE | {"learning_rates": [1.0e-3, 1.0e-2]}
    return compare(SAMPLE | {"compare": rates}, tmp_path_factory.mktemp("compared") / "out")


@pytest.fixture
def unreported(monkeypatch):
    """Reports take a second to draw."""
    monkeypatch.setattr(written_report, "write_report", lambda content, out: None)


def test_the_verdict_and_where_things_are(found):
    assert found.decided
    assert found.headline.startswith("Use elmo_small with fine_tuning")
    assert found.winner == next(found.folder.glob("winner/elmo_small-fine_tuning-*/1"))
    assert found.candidate is None
    assert found.report == found.folder / "report.html"
    assert found.report.is_file()
    assert to_json(found.content) == json.loads((found.folder / "report.json").read_text())
    assert repr(found).splitlines()[0] == found.headline
    assert repr(found).splitlines()[-1] == f"report: {found.report}"


def test_what_is_not_decided_is_a_candidate(found):
    verdict = replace(found.content.verdict, decided=False, exported="candidate/x/1")
    open_one = replace(found, content=replace(found.content, verdict=verdict))
    assert (open_one.decided, open_one.winner) == (False, None)
    assert open_one.candidate == found.folder / "candidate/x/1"
    verdict = replace(verdict, exported=None)
    nothing = replace(found, content=replace(found.content, verdict=verdict))
    assert (nothing.winner, nothing.candidate) == (None, None)


def test_a_row_a_cell(found):
    frame = found.frame
    assert list(frame.columns) == [
        *("cell", "encoder", "pretrained", "adaptation", "head", "learning_rate"),
        *("mean", "deviation", "seeds", "p", "decided", "trainable_parameters", "seconds"),
    ]
    best, other = frame.to_dict("records")
    assert (best["cell"], other["adaptation"]) == (
        "elmo_small-fine_tuning-linear",
        "feature_extraction",
    )
    assert (best["mean"], best["deviation"], best["seeds"]) == (1, 0, 3)
    assert math.isnan(best["p"])
    (pair,) = found.content.pairs
    assert (other["p"], other["decided"]) == (pair.p_holm, True)
    assert (other["trainable_parameters"], other["seconds"]) == (1000, 10)
    assert (best["learning_rate"], best["head"], best["encoder"]) == (0.001, "linear", "elmo_small")


def test_a_row_a_run(found):
    runs = found.runs
    assert list(runs.columns) == [
        *("cell", "encoder", "adaptation", "head", "train_examples", "learning_rate", "seed"),
        *("trial", "dev", "test", "diverged", "seconds", "folder"),
    ]
    tuned = runs[runs.adaptation == "fine_tuning"].to_dict("records")
    assert [(run["learning_rate"], run["seed"], run["trial"]) for run in tuned] == [
        (0.001, 1000, True),
        (0.01, 1000, True),
        (0.001, 0, False),
        (0.001, 1, False),
        (0.001, 2, False),
    ]
    assert {(run["dev"], run["test"], run["diverged"]) for run in tuned} == {(0.9, 1.0, False)}
    for run in tuned:
        assert json.loads((Path(run["folder"]) / "metrics.json").read_text())["test"]


def test_frames_need_pandas(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match="`pip install pandas`, or read .*report.json"):
        _ = found.frame


def test_a_notebook_shows_the_report_in_a_frame_of_its_own(found):
    shown = found._repr_html_()
    inside = re.search(r'<iframe sandbox srcdoc="([^"]*)"', shown)[1]
    assert html.unescape(inside) == found.report.read_text("utf-8")
    assert shown.endswith(f"<p>report: <code>{found.report}</code></p>")


def test_the_config_is_kept_and_its_command_does_the_same(found, compare, unreported):
    command = shlex.split(found.content.command)
    path = str(found.folder / "compare.yaml")
    assert command == ["tf-adapt", "compare", path, "--out", str(found.folder)]
    again = comparing.compare(load_comparison(path), found.folder, command=shlex.join(command))
    assert again == found.content


def test_a_file_and_more_seeds(compare, unreported, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(SAMPLE))
    first = compare(path, tmp_path / "out")
    more = compare(str(path), tmp_path / "out", seeds=4, export_anyway=True)
    assert [list(one.frame.seeds) for one in (first, more)] == [[3, 3], [4, 4]]
    assert not (tmp_path / "out" / "compare.yaml").exists()
    command = ["tf-adapt", "compare", str(path), "--out", str(tmp_path / "out"), "--seeds", "4"]
    assert shlex.split(more.content.command) == [*command, "--export-anyway"]


def test_a_frame_is_a_file_of_the_comparison(compare, unreported, tmp_path):
    out, columns = tmp_path / "out", COLUMNS | {"group": "id"}
    given = {"kind": "classification", "columns": columns}
    found = compare(OWN, out, train=frame(), test=frame(30), **given)
    lines = (out / "data" / "train.jsonl").read_text().splitlines()
    expected = {"text_a": "the film number 0", "label": "1", "group": "0"}
    assert (json.loads(lines[0]), len(lines)) == (expected, 80)
    assert found.content.labels == ["1", "2", "3"]
    assert found.content.examples == {"train": 72, "dev": 8, "test": 30}
    config = yaml.safe_load((out / "compare.yaml").read_text())
    assert config == OWN | {
        "data": {
            "format": "jsonl",
            "kind": "classification",
            "train": str(out / "data" / "train.jsonl"),
            "test": str(out / "data" / "test.jsonl"),
            "columns": {name: name for name in ("text_a", "label", "group")},
        }
    }
    again = compare(OWN, out, train=frame(), test=frame(30), **given)
    assert again.content == found.content
    with pytest.raises(DataError, match=r"the data have changed since .* \(test\)"):
        compare(OWN, out, train=frame(), test=frame(31), **given)
    with pytest.raises(DataError, match=r"the data have changed since .* \(dev\)"):
        compare(OWN, out, train=frame(), dev=frame(9), test=frame(30), **given)
    with pytest.raises(ConfigError, match=r"data.test \(was .*test.jsonl, now None\)"):
        compare(OWN, out, train=frame(), **given)
    (out / "data" / "train.jsonl").write_text("{}\n")
    with pytest.raises(ArtifactError, match="train.jsonl: its size is not the one in record.json"):
        compare(OWN, out, train=frame(), test=frame(30), **given)


def test_what_is_left_of_data_goes_into_the_config(compare, unreported, tmp_path):
    rows = list(zip(frame().review, map(str, frame().stars), strict=True))
    config = ONE_SPLIT | {"data": {"train_examples": 30, "labels": ["1", "2", "3", "4"]}}
    found = compare(config, tmp_path / "out", train=rows, kind="classification")
    assert found.content.examples == {"train": 30, "dev": 4, "test": 40}
    assert found.content.labels == ["1", "2", "3", "4"]


def test_tagged_sentences_are_columns_of_words_and_tags(monkeypatch, tmp_path):
    asked = []
    compared = SimpleNamespace(folds=None, seeds=[0])

    def compare(asked_for, *given, **more):
        asked.append(asked_for)
        return compared

    monkeypatch.setattr(comparing, "compare", compare)
    monkeypatch.setattr(in_python, "outcomes_of", lambda *given: None)
    monkeypatch.setattr(in_python.record, "as_begun", lambda comparison, out: comparison)
    words = [["Ann", "saw", f"town{number}"] for number in range(60)]
    tags = [["S-PER", "O", "S-LOC"]] * 60
    given = {"train": (words, tags), "kind": "tagging"}
    config = OWN | {"data": {"scheme": "BIOES"}, "compare": COMPARE | {"heads": ["crf"]}}
    ta.compare(config, tmp_path / "out", **given)
    splits = load_splits(asked[0].cells[0].config.data)
    assert splits.labels == ["O", "B-LOC", "B-PER"]
    found = [one for examples in splits.examples.values() for one in examples]
    assert {one.words[2] for one in found} == {f"town{number}" for number in range(60)}
    with pytest.raises(DataError, match="train: example 1, word 1: tag 'S-PER' is not legal in"):
        ta.compare(config | {"data": {}}, tmp_path / "other", **given)


def test_data_that_were_too_few_can_be_given_again(compare, unreported, tmp_path):
    given = {"kind": "classification", "columns": COLUMNS}
    with pytest.raises(DataError, match="train.jsonl: expected at least 50 examples"):
        compare(OWN, tmp_path / "out", train=frame(20), **given)
    found = compare(ONE_SPLIT, tmp_path / "out", train=frame(), **given)
    assert found.content.examples == {"train": 36, "dev": 4, "test": 40}


WRONG_CONFIGS = [
    ({"trainin": {}}, "config: trainin: unknown key; did you mean training"),
    ({"compare": COMPARE | {"seed": 3}}, "config: compare.seed: unknown key; did you mean see"),
    ({"compare": COMPARE | {"seeds": "3"}}, "config: compare.seeds: expected a whole number"),
    ({"training": {"epochs": 0}}, "config: training.epochs: expected a whole number from 1"),
    ({"training": {1: 2}}, "config: training: expected keys that are text, got 1"),
    ({"about": {3}}, r"config: about: expected text, a number, .* got set \{3\}"),
    ({"objective": "a\0b"}, "config: objective: expected printable text"),
]


def test_a_dict_is_checked_as_a_file_is(compare, tmp_path):
    for changed, message in WRONG_CONFIGS:
        with pytest.raises(ConfigError, match=message):
            compare(SAMPLE | changed, tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_numbers_and_paths_of_python_are_those_of_yaml(compare, unreported, tmp_path):
    values = {"learning_rates": (np.float64(1e-3),), "seeds": np.int64(1)}
    data = SAMPLE["data"] | {"data_dir": None}
    given = SAMPLE | {"data": data, "compare": COMPARE | values}
    cache = {"features": {"cache": tmp_path / "cache"}}
    assert list(compare(given | cache, tmp_path / "out").frame.seeds) == [1, 1]


WRONG_ARGUMENTS = [
    ({"seeds": 0}, "seeds: compare.seeds: expected a whole number from 1 to 1000, .*got 0"),
    ({"jobs": 0}, "jobs: expected a whole number from 1, or None, got 0"),
    ({"cluster": "auto", "slurm": {}}, "^cluster: expected no slurm beside it"),
    ({"minutes": 5, "slurm": {"time": 5}}, "^minutes: .*without slurm, whose queue"),
    ({"kind": "classification"}, "kind: expected None without train="),
    ({"columns": COLUMNS}, "columns: expected None without train="),
    ({"dev": frame()}, "train: expected data as for dev, got none"),
    ({"train": frame()}, "kind: expected one of classification, .* got None"),
    ({"train": frame(), "kind": "clasification"}, "did you mean classification"),
    (
        {"train": frame(), "kind": "classification", "columns": COLUMNS},
        "config: data.dataset: unknown key",
    ),
]


def test_arguments(compare, tmp_path):
    for arguments, message in WRONG_ARGUMENTS:
        with pytest.raises(ConfigError, match=message):
            compare(SAMPLE, tmp_path / "out", **arguments)
        assert not (tmp_path / "out").exists()


def test_a_key_of_data_that_is_given_in_python(compare, tmp_path):
    given = {"train": frame(), "kind": "classification", "columns": COLUMNS}
    for data in ({"train": "x.csv"}, {"dev": "x.csv"}, {"kind": "classification"}):
        with pytest.raises(ConfigError, match=f"config: data.{next(iter(data))}: expected no such"):
            compare(OWN | {"data": data}, tmp_path / "out", **given)
    with pytest.raises(ConfigError, match="config: data: expected a section, got 'x.csv'"):
        compare(OWN | {"data": "x.csv"}, tmp_path / "out", **given)


WRONG_FRAMES = [
    (frame().assign(stars=float("nan")), "train: example 1: expected a label, .* 80 examples"),
    (frame(0), "train: data: expected at least one example, got none"),
    (frame().drop(columns="stars"), "train: expected one column 'stars', got .* 'review', 'id'"),
]


def test_a_frame_that_cannot_be_used_begins_no_folder(compare, tmp_path):
    for train, message in WRONG_FRAMES:
        with pytest.raises(DataError, match=message):
            compare(OWN, tmp_path / "out", train=train, kind="classification", columns=COLUMNS)
        assert not (tmp_path / "out").exists()


def test_dev_has_what_train_has(compare, tmp_path):
    data = {"text": list(frame().review), "label": list(frame().stars)}
    groups = data | {"group": list(range(80))}
    with pytest.raises(DataError, match="dev: expected text_a, label, group as in train, got te"):
        compare(OWN, tmp_path / "out", train=groups, dev=data, kind="classification")


def test_other_configs(compare, tmp_path):
    for config in (3, None):
        with pytest.raises(ConfigError, match="config: expected the path of a YAML file or a dict"):
            compare(config, tmp_path / "out")
    with pytest.raises(ConfigError, match="config: expected the sections .* one called compare"):
        compare({}, tmp_path / "out")


def test_folders_of_others_stay_as_they_are(compare, found, tmp_path):
    out, given = tmp_path / "out", {"kind": "classification", "columns": COLUMNS}
    (out / "data").mkdir(parents=True)
    (out / "data" / "train.jsonl").write_text("mine")
    with pytest.raises(ArtifactError, match="expected the folder of a comparison or an empty one"):
        compare(OWN, out, train=frame(), **given)
    assert (out / "data" / "train.jsonl").read_text() == "mine"
    assert [path.name for path in out.iterdir()] == ["data"]
    with pytest.raises(DataError, match=r"the data have changed .* \(train\)"):
        compare(OWN, found.folder, train=frame(), **given)
    assert not (found.folder / "data").exists()
    with pytest.raises(ConfigError, match="begun with another config .* training.epochs"):
        compare(SAMPLE | {"training": TRAINING | {"epochs": 2}}, found.folder)
    assert yaml.safe_load((found.folder / "compare.yaml").read_text())["training"]["epochs"] == 1


@pytest.mark.slow
def test_a_script_without_a_guard_for_its_processes(shallow_bert, tmp_path):
    """Real runs, of a script whose whole text would run again in a process that imports it."""
    two_runs = {"adaptations": ["freeze"], "seeds": 1, "folds": 2}
    compare = COMPARE | two_runs | {"encoders": [str(shallow_bert)]}
    script = f"""
import pandas as pd
import tf_adapt as ta
texts = [f"the film number {{number}}" for number in range(60)]
frame = pd.DataFrame({{"review": texts, "stars": [number % 2 for number in range(60)]}})
found = ta.compare({OWN | {"compare": compare}!r}, "out", train=frame, kind="classification",
                   columns={COLUMNS!r})
print(found.frame["mean"].notna().all())
"""
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n", done.stderr
