"""Two processes train to the same numbers as one.

(Two devices: test_losses_on_two_devices.py.)
"""

import csv
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from hub_modules.export import native_encoder, write_module
from hub_modules.sources import ModuleSource
from tf_adapt.config.reading import load_config
from tf_adapt.training.train import train

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
CONFIG = {
    "vocabulary_size": len(VOCABULARY),
    "width": 8,
    "num_layers": 1,
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
head: linear_tagger
head_dropout: 0.0
training: {{epochs: 2, batch_size: 4, learning_rate: 1.0e-2, clip_norm: 0.5}}
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
    train(load_config(config), run)
    return history(run)


def check_equal(one, other):
    assert len(one["loss"]) == 2 and one["loss"][1] < one["loss"][0]
    for name, values in one.items():
        np.testing.assert_allclose(other[name], values, rtol=2e-4, err_msg=name)


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
