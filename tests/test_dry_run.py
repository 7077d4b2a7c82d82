"""`tf-adapt train --dry-run`: a table, JSON, and nothing trained or written."""

import json

import pytest
from click.testing import CliRunner

from tf_adapt.cli import cli

CONFIG = """\
data: {{dataset: sample_classification, source: sample, train_examples: 64}}
encoder: {{handle: {module}}}
adaptation: {{name: chain_thaw, every: 1}}
optimizer: {{decay: 0.5}}
training: {{epochs: 3, batch_size: 16, learning_rate: 1.0, warmup: 0.0}}
"""


@pytest.fixture
def config(tiny_elmo, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.format(module=tiny_elmo))
    return path


def call(*arguments):
    result = CliRunner().invoke(cli, ["train", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_the_table(config, tmp_path):
    code, output, _ = call(config, "--dry-run")
    assert code == 0
    lines = output.splitlines()
    assert lines[0].split() == [
        "epoch",
        "steps",
        "trains",
        "parameters",
        "mean",
        "learning",
        "rate",
    ]
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["1", "1–4", "head"], ["2", "5–8", "char_cnn"], ["3", "9–12", "lstm_0"]
    ]  # fmt: skip
    # Factors 0.5, 0.25, 0.125 from the top down; the line from 1 to 0 has 7/12 + 6/12 … in between.
    assert "char_cnn × 0.125, lstm_0 × 0.25, lstm_1 × 0.5, head × 1" in output
    assert f"char_cnn\u00a0{0.125 * (8 + 7 + 6 + 5) / 48:.1e}" in lines[2]
    assert "the run ends before these train: lstm_1" in output
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.yaml"]


def test_as_json(config):
    code, output, _ = call(config, "--dry-run", "--json", "--set", "training.epochs=5")
    found = json.loads(output)
    assert code == 0 and found["steps_per_epoch"] == 4 and found["never"] == []
    assert [row["groups"] for row in found["plan"]] == [
        ["head"], ["char_cnn"], ["lstm_0"], ["lstm_1"], ["char_cnn", "lstm_0", "lstm_1", "head"]
    ]  # fmt: skip
    assert found["plan"][-1]["parameters"] == found["parameters"]


def test_either_a_folder_or_a_dry_run(config, tmp_path):
    for arguments, message in (
        ((), "Missing option '--out' (or '--dry-run'"),
        (("--dry-run", "--out", tmp_path / "run"), "leave out '--out'"),
    ):
        code, _, error = call(config, *arguments)
        assert code == 2 and message in error
