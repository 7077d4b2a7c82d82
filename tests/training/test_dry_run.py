"""`tf-adapt train --dry-run`: a table, JSON, and nothing trained or written."""

import json

import pytest
import tensorflow as tf
from click.testing import CliRunner

from tf_adapt.commands.main import cli
from tf_adapt.training import dry_run

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


# A small head: of the published one only the size would differ.
SMALL = ("--set", "head_units=4")
FROZEN = ("--set", "adaptation=feature_extraction", "--set", "optimizer.decay=1.0", *SMALL)


def test_what_is_kept_of_a_frozen_encoder(config):
    code, output, _ = call(config, "--dry-run", *FROZEN, "--set", "features.dtype=bfloat16")
    assert code == 0
    (line,) = (line for line in output.splitlines() if line.startswith("kept of"))
    assert line.startswith("kept of frozen layers: all in bfloat16 (train 0.")
    assert line.endswith(" MB in memory)") and "dev 0." in line


def test_what_no_budget_allows(config):
    budgets = ("--set", "features.limit_mb=0", "--set", "features.disk_limit_mb=0")
    code, output, _ = call(config, "--dry-run", *FROZEN, *budgets)
    assert code == 0
    assert "kept of frozen layers: all in float32 (nothing)\ntrain: features of 64 texts" in output
    assert "set features.disk_limit_mb: 1 to keep them" in output
    top = ("--set", "adaptation=top_layers")
    code, output, _ = call(config, "--dry-run", "--json", *budgets[:2], *top)
    kept = json.loads(output)["kept"]
    assert (kept["outputs"], kept["dtype"]) == (["lstm_0"], "float32")
    assert {one["home"] for one in kept["splits"].values()} == {"disk"}
    code, output, _ = call(config, "--dry-run", "--json", *top, "--set", "head_mixed=true")
    assert code == 0 and json.loads(output)["kept"] is None


def test_several_processes_keep_nothing_on_disk_without_a_cache(config, tmp_path, monkeypatch):
    monkeypatch.setattr(dry_run, "make_strategy", lambda *_: tf.distribute.get_strategy())
    workers = ("--set", "training.strategy=multi_worker", "--set", "features.limit_mb=0")
    code, output, _ = call(config, "--dry-run", *FROZEN, *workers)
    assert code == 0
    assert "set features.cache to keep them" in output and "disk_limit_mb" not in output
    cache = ("--set", f"features.cache={tmp_path / 'cache'}")
    code, output, _ = call(config, "--dry-run", *FROZEN, *workers, *cache)
    assert code == 0 and output.splitlines()[-1].endswith(" MB on disk)")


def test_either_a_folder_or_a_dry_run(config, tmp_path):
    for arguments, message in (
        ((), "Missing option '--out' (or '--dry-run'"),
        (("--dry-run", "--out", tmp_path / "run"), "leave out '--out'"),
    ):
        code, _, error = call(config, *arguments)
        assert code == 2 and message in error


def test_the_most_epochs_that_a_config_may_ask_for(config):
    code, output, _ = call(config, "--dry-run", "--set", "training.epochs=1000000")
    assert code == 0
    rows = [line.split() for line in output.splitlines() if line[0].isdecimal()]
    assert rows[0][:3] == ["1", "1–4", "head"]
    assert rows[-1][:2] == ["990001–1000000", "3960001–4000000"]
    assert len(rows) == 104  # the first four epochs are phases
    code, _, error = call(config, "--dry-run", "--set", f"training.epochs={10**30}")
    assert code == 2
    assert "training.epochs: expected a whole number from 1 to 1000000, or null" in error
