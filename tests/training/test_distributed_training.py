"""Two devices, and two processes, train to the same numbers as one device."""

import csv
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
import yaml

from hub_modules.export import native_encoder, write_module
from hub_modules.sources import ModuleSource

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
CONFIG = {
    "vocabulary_size": len(VOCABULARY),
    "width": 8,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_width": 16,
    "max_positions": 16,
    # Dropout draws other numbers on each device; without it the sums must agree.
    "dropout": 0.0,
    "attention_dropout": 0.0,
}
# 19 sentences in batches of 4: the last batch is uneven, and so are the words of each share.
TRAIN = [("a b c d", "O B-X I-X O"), ("e", "B-X"), ("f g h", "O O B-X")]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("distributed")
    encoder = native_encoder("bert", CONFIG)
    random = np.random.default_rng(5)
    weights = {
        name: random.normal(0, 0.3, weight.shape).astype("float32")
        for name, weight in encoder.weights_by_name().items()
    }
    write_module(ModuleSource("bert", CONFIG, weights, VOCABULARY, True), folder / "tiny")
    for split, count in (("train", 19), ("dev", 7)):
        sentences = []
        for number in range(count):
            words, tags = TRAIN[number % 3]
            pairs = list(zip(words.split(), tags.split(), strict=True)) * (1 + number % 2)
            sentences.append("".join(f"{word} {tag}\n" for word, tag in pairs))
        (folder / f"{split}.txt").write_text("\n".join(sentences))
    (folder / "config.yaml").write_text(
        f"""
data:
  format: conll
  kind: tagging
  train: {folder}/train.txt
  dev: {folder}/dev.txt
  columns: {{words: 0, tags: 1}}
encoder: {{handle: {folder}/tiny}}
adaptation: fine_tuning
head_dropout: 0.0
training: {{epochs: 3, batch_size: 4, learning_rate: 1.0e-2, clip_norm: 0.5}}
"""
    )
    return folder / "config.yaml"


def start(config, run, *overrides, environment=None):
    command = [sys.executable, "-m", "tf_adapt", "train", str(config), "--out", str(run)]
    for override in overrides:
        command += ["--set", override]
    return subprocess.Popen(
        command,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors


def history(run):
    with open(run / "history.csv") as file:
        rows = list(csv.DictReader(file))
    return {
        name: [float(row[name]) for row in rows] for name in ("loss", "dev_loss", "dev_span_f1")
    }


@pytest.fixture(scope="module")
def on_one_device(config):
    run = config.parent / "one"
    finish(start(config, run))
    return history(run)


def check_equal(one, other):
    assert len(one["loss"]) == 3 and one["loss"][2] < one["loss"][0]
    for name, values in one.items():
        np.testing.assert_allclose(other[name], values, rtol=2e-4, err_msg=name)


@pytest.mark.large
def test_two_devices_equal_one(config, on_one_device):
    run = config.parent / "two_devices"
    finish(start(config, run, "training.devices=cpu:2"))
    check_equal(on_one_device, history(run))
    assert (run / "predictions" / "dev.tsv").read_bytes() == (
        config.parent / "one" / "predictions" / "dev.tsv"
    ).read_bytes()


@pytest.mark.large
def test_phases_that_go_back_to_the_best_epoch(config):
    overrides = (
        "adaptation={name: gradual_unfreezing, patience: 1}",
        "training.epochs=6",
        "training.learning_rate=0.3",  # too high, so that phases end
    )
    runs = [config.parent / name for name in ("phases_one", "phases_two")]
    for run, devices in zip(runs, ([], ["training.devices=cpu:2"]), strict=True):
        finish(start(config, run, *overrides, *devices))
        newest = sorted((run / "checkpoint").glob("checkpoint_*"))[-1]
        state = json.loads((newest / "state.json").read_text())
        assert state["position"]["phase"] == 3 and state["best"]["epoch"] == 1
    one, two = (history(run) for run in runs)
    for name, values in one.items():
        np.testing.assert_allclose(two[name], values, rtol=2e-4, err_msg=name)


@pytest.mark.slow
def test_two_processes_equal_one(config, on_one_device):
    run = config.parent / "two_processes"
    with socket.socket() as first, socket.socket() as second:
        for one in (first, second):
            one.bind(("127.0.0.1", 0))
        workers = [f"127.0.0.1:{one.getsockname()[1]}" for one in (first, second)]
    processes = [
        start(
            config,
            run,
            "training.strategy=multi_worker",
            environment={
                "TF_CONFIG": json.dumps(
                    {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
                )
            },
        )
        for index in range(2)
    ]
    for process in processes:
        finish(process)
    check_equal(on_one_device, history(run))


@pytest.mark.large
def test_several_tasks_on_two_devices(config):
    """The tagging task, and one whose texts are its sentences, of other batch sizes a share."""
    folder = config.parent
    rows = [f"{'xy'[number % 2]}\ta{' b' * (number % 5)}" for number in range(13)]
    for split in ("train", "dev"):
        (folder / f"{split}.tsv").write_text("\n".join(["label\ttext", *rows]) + "\n")
    content = yaml.safe_load(config.read_text())
    tags = {"data": content.pop("data"), "head_dropout": content.pop("head_dropout")}
    columns = {"text": "text", "label": "label"}
    texts = {"format": "tsv", "kind": "classification", "columns": columns}
    texts |= {split: str(folder / f"{split}.tsv") for split in ("train", "dev")}
    content["tasks"] = {"tags": tags, "texts": {"data": texts, "head_dropout": 0.0, "weight": 2.0}}
    content |= {"target": "tags", "sampling": "uniform"}
    (folder / "tasks.yaml").write_text(yaml.safe_dump(content))
    runs = [folder / name for name in ("tasks_one", "tasks_two")]
    for run, devices in zip(runs, ([], ["training.devices=cpu:2"]), strict=True):
        finish(start(folder / "tasks.yaml", run, *devices))
    one, two = (list(csv.DictReader((run / "history.csv").open())) for run in runs)
    assert [row.keys() for row in one] == [row.keys() for row in two]
    for first, second in zip(one, two, strict=True):
        for name in ("loss", "tags/loss", "texts/loss", "dev_tags/span_f1", "dev_texts/loss"):
            assert float(second[name]) == pytest.approx(float(first[name]), rel=2e-4), name
