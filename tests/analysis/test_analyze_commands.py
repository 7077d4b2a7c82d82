"""The commands `tf-adapt analyze …`: their files, and what they refuse."""

import csv
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from click.testing import CliRunner

from tf_adapt.analysis import sources
from tf_adapt.commands.main import cli
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError
from tf_adapt.training.train import train


def run(*arguments):
    return CliRunner().invoke(cli, ["analyze", *map(str, arguments)])


def refused(code: int, message: str, *arguments) -> None:
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert re.search(message, result.stderr.splitlines()[-1]), result.stderr


def content(data: dict, handle, adaptation: str = "fine_tuning") -> dict:
    training = {"epochs": 1, "batch_size": 16, "learning_rate": 0.01}
    encoder = {"handle": str(handle)}
    return {"data": data, "encoder": encoder, "adaptation": adaptation, "training": training}


def sample(kind: str, examples: int | None = 60) -> dict:
    return {"dataset": f"sample_{kind}", "source": "sample", "train_examples": examples}


def write(path: Path, config: dict) -> Path:
    path.write_text(yaml.safe_dump(config), "utf-8")
    return path


@pytest.fixture(scope="module")
def config(tiny_bert, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("configs")
    return write(folder / "c.yaml", content(sample("classification"), tiny_bert))


def read(path: Path) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_a_panel_for_each_dataset_and_a_line_for_each_encoder(config, tiny_elmo, tmp_path):
    pairs = write(tmp_path / "pairs.yaml", content(sample("pair_regression"), tiny_elmo))
    out = tmp_path / "out"
    result = run("information", config, pairs, config, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    files = sorted(path.name for path in out.iterdir())
    assert files == [f"information.{end}" for end in ("csv", "json", "png", "svg")]
    found = json.loads((out / "information.json").read_text("utf-8"))
    assert found == json.loads(result.stdout)
    assert found["estimator"] == "EDGE 4.3.1"
    assert {"tensorflow", "scikit-learn", "matplotlib"} <= found["versions"].keys()
    panels = found["panels"]
    assert [panel["examples"] for panel in panels] == [{"dev": 60}, {"dev": 60}]
    assert [panel["entropy"] for panel in panels] == [pytest.approx(2.0, abs=0.1), None]
    assert [series["label"] for panel in panels for series in panel["series"]] == [
        "tiny_bert, pretrained",
        "tiny_elmo, pretrained",
    ]
    layers = [layer for panel in panels for layer in panel["series"][0]["layers"]]
    assert [layer["layer"] for layer in layers] == [0, 1, 2, 0, 1, 2]
    for layer in layers:
        assert layer["bits"] >= 0.001
        assert len(layer["random_labels"]) == len(layer["random_representations"]) == 5
    rows = read(out / "information.csv")
    assert [float(row["bits"]) for row in rows] == [layer["bits"] for layer in layers]


@pytest.mark.large
def test_probes_of_a_run_draw_the_pretrained_encoder_beside_it(tiny_bert, config, tmp_path):
    tuned, out = tmp_path / "tuned", tmp_path / "out"
    train(config_from(content(sample("classification"), tiny_bert), "test"), tuned)
    result = run("probes", tuned, config, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    (panel,) = json.loads(result.stdout)["panels"]  # the pretrained module is drawn once
    assert panel["examples"] == {"train": 60, "dev": 60}
    assert panel["metric"] == "accuracy"
    assert [series["label"] for series in panel["series"]] == ["pretrained", "fine_tuning"]
    before, after = ([one["score"] for one in s["layers"]] for s in panel["series"])
    assert before != after
    assert [float(row["score"]) for row in read(out / "probes.csv")] == [*before, *after]
    assert (out / "probes.png").read_bytes().startswith(b"\x89PNG")
    refused(2, "expected a key of the section data",
            "probes", tuned, "--out", out, "--set", "encoder.handle=bert_small")  # fmt: skip
    fewer = run("probes", tuned, "--out", out, "--set", "data.train_examples=40", "--json")
    assert json.loads(fewer.stdout)["panels"][0]["examples"]["train"] == 40


def test_tagging_is_refused(tiny_bert, tmp_path):
    tagging = write(tmp_path / "t.yaml", content(sample("tagging", None), tiny_bert))
    refused(2, "expected data of the kind .*, pair_classification or pair_regression, got tagging",
            "information", tagging, "--out", tmp_path / "out")  # fmt: skip


@pytest.mark.slow
def test_probes_of_words(tiny_bert, tmp_path):
    tagging = write(tmp_path / "t.yaml", content(sample("tagging"), tiny_bert))
    scores = {}
    for pieces in ("first", "max"):
        out = tmp_path / pieces
        result = run("probes", tagging, "--out", out, "--word-pieces", pieces, "--json")
        assert result.exit_code == 0, result.output
        (panel,) = json.loads(result.stdout)["panels"]
        assert (panel["metric"], panel["word_pieces"]) == ("accuracy", pieces)
        assert panel["examples"] == {"train": 60, "dev": 60}
        assert 0.5 < panel["constant"] < 1
        scores[pieces] = [layer["score"] for layer in panel["series"][0]["layers"]]
        assert all(panel["constant"] <= score < 1 for score in scores[pieces])
    assert scores["max"] != scores["first"]


def test_other_names_of_poolings_and_other_tasks_are_refused(config, tiny_bert, tmp_path):
    tagging = write(tmp_path / "t.yaml", content(sample("tagging", 40), tiny_bert))
    out = ("--out", tmp_path / "out")
    refused(2, "--word-pieces: expected none for classification, got mean; it is for tagging",
            "probes", config, *out, "--word-pieces", "mean")  # fmt: skip
    refused(2, "--pooling: expected none for tagging, whose items are words, got max",
            "probes", tagging, *out, "--pooling", "max")  # fmt: skip
    assert run("probes", config, *out, "--pooling", "sum").exit_code == 2


def test_kinds_of_an_analysis_are_named(monkeypatch):
    splits = SimpleNamespace(kind="span_extraction", name="squad")
    monkeypatch.setattr(sources, "load_splits", lambda *given: splits)
    source = sources.Source(SimpleNamespace(data=None, weak=None), None)
    kinds = "classification, regression, pair_classification, pair_regression or tagging"
    for analysis in ("probes", "estimate"):
        with pytest.raises(ConfigError, match=f"squad: .* of the kind {kinds}, got span"):
            sources.source_data(source, analysis)


def test_sets_of_labels_are_refused(tiny_bert, tmp_path):
    for command in ["probes", "information"]:
        for split in ("train", "dev"):
            (tmp_path / f"{split}.tsv").write_text("text\tlabel\na\tx|y\nb\t\n", "utf-8")
        data = {"format": "tsv", "kind": "multilabel_classification"}
        data |= {split: str(tmp_path / f"{split}.tsv") for split in ("train", "dev")}
        data["columns"] = {"text_a": "text", "label": "label"}
        config = write(tmp_path / "sets.yaml", content(data, tiny_bert))
        refused(2, "expected data of the kind classification.*got multilabel_classification",
                command, config, "--out", tmp_path / "out")  # fmt: skip


def own_files(folder: Path, handle, train_labels: str, dev_labels: str) -> Path:
    for split, labels in (("train", train_labels), ("dev", dev_labels)):
        rows = [f"the {number}\t{label}" for number, label in enumerate(labels)]
        (folder / f"{split}.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n", "utf-8")
    data = {"format": "tsv", "kind": "classification", "labels": ["a", "b"]}
    data |= {split: str(folder / f"{split}.tsv") for split in ("train", "dev")}
    data |= {"columns": {"text_a": "text", "label": "label"}}
    return write(folder / "own.yaml", content(data, handle))


TOO_LITTLE = [
    ("probes", "ab" * 9, "ab", "train: expected at least 20 examples.*got 18"),
    ("probes", "a" * 30 + "b", "ab", "at least two labels with 5 examples each"),
    ("information", "ab" * 20, "ab" * 9, "dev: expected at least 20 examples.*got 18"),
    ("information", "ab" * 20, "b" * 25, "dev: expected at least two different labels"),
    ("information", "ab" * 20, "", "no examples"),
]


def test_too_little_data_is_refused(tiny_bert, tmp_path):
    for command, train_labels, dev_labels, message in TOO_LITTLE:
        path = own_files(tmp_path, tiny_bert, train_labels, dev_labels)
        refused(3, message, command, path, "--out", tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_what_is_no_source_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    refused(2, "got an empty folder", "probes", tmp_path / "empty", "--out", tmp_path / "out")
    refused(2, "cannot be read", "probes", tmp_path / "absent.yaml", "--out", tmp_path / "out")
    refused(4, "expected a folder that can be written, got a file",
            "information", tmp_path / "x", "--out", tmp_path / "file")  # fmt: skip
