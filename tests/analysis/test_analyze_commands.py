"""The commands `tf-adapt analyze …`: their files, and what they refuse."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from scipy.stats import pearsonr

from tf_adapt import run_folder
from tf_adapt.cli import cli
from tf_adapt.config import config_from
from tf_adapt.training import train

HEADER = "genre\tgold_label\tsentence1\tsentence2"
LABELS = ("entailment", "neutral", "contradiction")
WORDS = {"fiction": "he said nothing", "slate": "the press writes", "travel": "the hotel is old"}


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


@pytest.fixture(scope="module")
def mnli(tmp_path_factory) -> Path:
    """A tiny MultiNLI: three genres with words of their own, in dev more of them in travel."""
    folder = tmp_path_factory.mktemp("mnli")
    for split, name in (("train", "train.tsv"), ("dev", "dev_matched.tsv")):
        lines = [HEADER]
        for genre, words in WORDS.items():
            for number in range(12):
                other = "quite new words" if split == "dev" and genre == "travel" else words
                label = LABELS[number % 3]
                lines.append(f"{genre}\t{label}\t{words} {number}\t{other} {number} ({split})")
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    return folder


@pytest.fixture
def genres(mnli, tmp_path) -> Path:
    data = {"dataset": "mnli", "source": "files", "data_dir": str(mnli)}
    return write(tmp_path / "mnli.yaml", content(data, "bert_small"))


def finished_run(folder: Path, mnli: Path, adaptation: str, right: dict[str, int]) -> Path:
    """What a run leaves behind, with so many right predictions in each genre."""
    data = {"dataset": "mnli", "source": "files", "data_dir": str(mnli)}
    folder.mkdir()
    run_folder.start(folder, config_from(content(data, "bert_small", adaptation), "test"))
    rows = ["prediction"]
    for genre in WORDS:
        for number in range(12):
            rows.append(LABELS[(number if number < right[genre] else number + 1) % 3])
    (folder / "predictions").mkdir()
    (folder / "predictions" / "dev.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    run_folder.write_metrics(folder, {"dev": {}})
    return folder


def read(path: Path) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


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


@pytest.mark.slow
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


def test_genres_beside_the_accuracy_of_runs(genres, mnli, tmp_path):
    frozen = finished_run(
        tmp_path / "frozen", mnli, "feature_extraction", {"fiction": 6, "slate": 9, "travel": 3}
    )
    tuned = finished_run(
        tmp_path / "tuned", mnli, "fine_tuning", {"fiction": 12, "slate": 9, "travel": 6}
    )
    out = tmp_path / "out"
    result = run("domains", genres, "--run", frozen, "--run", tuned, "--out", out)
    assert result.exit_code == 0, result.output
    found = json.loads((out / "domains.json").read_text("utf-8"))
    assert found["corpora"] == sorted(WORDS)
    assert found["accuracies"] == {
        "feature_extraction": {"fiction": 0.5, "slate": 0.75, "travel": 0.25},
        "fine_tuning": {"fiction": 1.0, "slate": 0.75, "travel": 0.5},
    }
    divergences = [found["train_dev"][genre]["divergence"] for genre in found["corpora"]]
    assert divergences[2] > 2 * max(divergences[:2])
    assert found["train_dev"]["travel"]["chance"] < divergences[2] / 2
    assert found["correlations"].keys() == {
        "feature_extraction", "fine_tuning", "fine_tuning − feature_extraction",
    }  # fmt: skip
    expected = pearsonr(divergences, [1.0, 0.75, 0.5])
    tuned = found["correlations"]["fine_tuning"]
    assert (tuned["pearson"], tuned["p_value"]) == pytest.approx(
        (expected.statistic, expected.pvalue)
    )
    assert "fine_tuning: no significant correlation" in result.stdout
    assert (out / "domains.png").is_file()


def test_some_genres_only(genres, tmp_path):
    out = tmp_path / "out"
    options = ["--genre", "travel", "--genre", "fiction", "--json"]
    found = json.loads(run("domains", genres, *options, "--out", out).stdout)
    assert found["corpora"] == ["travel", "fiction"]
    refused(2, "--genre letters: expected one of fiction, slate, travel",
            "domains", genres, "--genre", "letters", "--out", out)  # fmt: skip


def test_corpora_from_files(tmp_path):
    (tmp_path / "a.txt").write_text("Red red\n\nblue\n", "utf-8")
    (tmp_path / "b.txt").write_text("green\n", "utf-8")
    result = run("domains", tmp_path / "a.txt", tmp_path / "b.txt", "--out", tmp_path, "--json")
    found = json.loads(result.stdout)
    assert found["terms"] == [3, 1]
    assert found["vocabulary"] == [2, 1]
    np.testing.assert_allclose(found["matrix"], [[0, np.log(2)], [np.log(2), 0]], atol=1e-12)


def test_a_run_on_other_examples_is_refused(genres, mnli, tmp_path):
    out = ["--out", tmp_path / "out"]
    other = finished_run(tmp_path / "run", mnli, "fine_tuning", dict.fromkeys(WORDS, 1))
    data = {"dataset": "mnli", "source": "files", "data_dir": str(tmp_path)}
    lines = (mnli / "train.tsv").read_text("utf-8")
    (tmp_path / "train.tsv").write_text(lines, "utf-8")
    (tmp_path / "dev_matched.tsv").write_text(lines, "utf-8")
    changed = write(tmp_path / "changed.yaml", content(data, "bert_small"))
    refused(2, "scored on the dev split of the given config",
            "domains", changed, "--run", other, *out)  # fmt: skip
    (other / "predictions" / "dev.tsv").write_text("prediction\nneutral\n", "utf-8")
    refused(4, "expected 36 predictions.*got 1", "domains", genres, "--run", other, *out)
    (other / "metrics.json").unlink()
    refused(4, "expected a finished run", "domains", genres, "--run", other, *out)


def test_what_a_domain_cannot_be(config, genres, tmp_path):
    (tmp_path / "empty.txt").touch()
    (tmp_path / "some.txt").write_text("words\n", "utf-8")
    out = ["--out", tmp_path / "out"]
    refused(2, "whose examples have a genre", "domains", config, *out)
    refused(3, r"empty\.txt: no examples",
            "domains", tmp_path / "some.txt", tmp_path / "empty.txt", *out)  # fmt: skip
    refused(2, "two text files with different names",
            "domains", tmp_path / "some.txt", tmp_path / "some.txt", *out)  # fmt: skip
    refused(2, "need one config", "domains", genres, genres, "--genre", "slate", *out)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["probes", "information"])
def test_tagging_is_refused(command, tiny_bert, tmp_path):
    tagging = write(tmp_path / "t.yaml", content(sample("tagging", None), tiny_bert))
    refused(2, "one label for each text or pair.*got tagging",
            command, tagging, "--out", tmp_path / "out")  # fmt: skip


def own_files(folder: Path, handle, train_labels: str, dev_labels: str) -> Path:
    for split, labels in (("train", train_labels), ("dev", dev_labels)):
        rows = [f"the {number}\t{label}" for number, label in enumerate(labels)]
        (folder / f"{split}.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n", "utf-8")
    data = {"format": "tsv", "kind": "classification", "labels": ["a", "b"]}
    data |= {split: str(folder / f"{split}.tsv") for split in ("train", "dev")}
    data |= {"columns": {"text_a": "text", "label": "label"}}
    return write(folder / "own.yaml", content(data, handle))


@pytest.mark.parametrize(
    ("command", "train_labels", "dev_labels", "message"),
    [
        ("probes", "ab" * 9, "ab", "train: expected at least 20 examples.*got 18"),
        ("probes", "a" * 30, "ab", "at least two labels with 5 examples each"),
        ("information", "ab" * 20, "ab" * 9, "dev: expected at least 20 examples.*got 18"),
        ("information", "ab" * 20, "b" * 25, "dev: expected at least two different labels"),
        ("information", "ab" * 20, "", "no examples"),
    ],
)
def test_too_little_data_is_refused(
    command, train_labels, dev_labels, message, tiny_bert, tmp_path
):
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


def test_domains_need_no_tensorflow(genres, tmp_path):
    program = (
        "import sys\n"
        "from tf_adapt.cli import cli\n"
        f"sys.argv = ['', 'analyze', 'domains', {str(genres)!r}, '--out', {str(tmp_path)!r}]\n"
        "try:\n    cli()\n"
        "finally:\n    print('tensorflow' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False"
