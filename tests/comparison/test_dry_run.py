"""`tf-adapt compare --dry-run`: what would run, what cannot work; nothing is trained."""

import json
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from step_costs import COSTS

from tf_adapt.commands.main import cli
from tf_adapt.comparison.execution import executors
from tf_adapt.comparison.plan import dry_run as planned
from tf_adapt.comparison.plan.expected_costs import (
    ENDING,
    WRITING,
    CellCosts,
    costs_lines,
    expected_costs,
)
from tf_adapt.training.measured_costs import measured_costs

pytestmark = pytest.mark.usefixtures("unmeasured")


def call(path, *more):
    result = CliRunner().invoke(cli, ["compare", str(path), "--dry-run", *map(str, more)])
    assert "Traceback" not in result.output
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def measured(monkeypatch):
    """Steps and passes are run, as for a user."""
    monkeypatch.setattr(planned, "measured_costs", measured_costs)


@pytest.fixture
def config(write_config, tiny_bert):
    return write_config(
        encoders=[str(tiny_bert)],
        adaptations=["feature_extraction", "fine_tuning", {"name": "top_layers", "layers": 1}],
        learning_rates=[1.0e-2, 3.0e-3],
        epochs={"feature_extraction": 9},
        seeds=3,
        threads=2,
    )


@pytest.mark.slow
def test_cells_runs_and_splits(config, tmp_path, measured):
    before = sorted(tmp_path.iterdir())
    code, output, _ = call(config, "--json")
    found = json.loads(output)
    assert code == 0
    assert [cell["cell"] for cell in found["cells"]] == [
        "tiny_bert-feature_extraction-linear",
        "tiny_bert-fine_tuning-linear",
        "tiny_bert-top_layers-linear",
    ]
    frozen, tuned, top = found["cells"]
    assert frozen["trains"] == ["head"]
    assert tuned["trains"] == ["embeddings", "layer_0", "layer_1", "pooler", "head"]
    assert top["trains"] == ["layer_1", "pooler", "head"]
    assert [cell["trains_everything"] for cell in found["cells"]] == [False, True, False]
    # A weight for each of 16 units and 4 labels, and 4 biases.
    # Frozen, also the mix of three states: a weight each and a scale.
    head, layer, pooler = 16 * 4 + 4, 4 * (16 * 16 + 16) + 2 * 16 * 32 + 32 + 16 + 4 * 16, 17 * 16
    assert frozen["parameters"]["trainable"] == head + 4
    assert top["parameters"]["trainable"] == head + pooler + layer
    assert tuned["parameters"]["trainable"] == tuned["parameters"]["total"]
    assert [cell["epochs"] for cell in found["cells"]] == [9, 2, 2]
    assert frozen["learning_rates"] == [1.0e-2, 3.0e-3]
    assert (found["trials"], found["seeds"], found["threads"]) == (2, [0, 1, 2], 2)
    assert found["runs"] == 3 * (2 + 3)
    assert found["examples"] == {"train": 32, "dev": 15, "test": 60}
    assert found["splits"]["dev"].startswith("held out of sample_classification train")
    assert (found["chosen_on"], found["scored_on"]) == ("dev", "test")
    assert sorted(tmp_path.iterdir()) == before
    assert (frozen["kept"]["outputs"], frozen["kept"]["dtype"]) == (["all_mean"], "float32")
    assert {one["home"] for one in frozen["kept"]["splits"].values()} == {"disk"}
    assert tuned["kept"] is None
    assert top["kept"]["outputs"] == ["layer_0"]
    costs = found["costs"]
    assert costs["unknown"] == []
    assert costs["cpu_seconds"] > 20
    assert costs["cpu_seconds"] / found["jobs"] / 2 <= 1.01 * costs["seconds"]
    assert 300 < costs["memory_mb"] < 3000
    assert {one["home"] for one in top["kept"]["splits"].values()} == {"memory"}


@pytest.mark.slow
def test_the_table_and_what_no_budget_allows(config):
    budgets = ("--set", "features.limit_mb=0", "--set", "features.disk_limit_mb=0")
    code, output, _ = call(config, *budgets)
    assert code == 0
    table, lines = output.splitlines()[:4], output.splitlines()[4:]
    frozen = ["tiny_bert-feature_extraction-linear", "linear", "head", "72", "0.01,", "0.003", "9"]
    assert [row.split() for row in table[:2]] == [
        ["cell", "head", "trains", "parameters", "learning", "rates", "epochs"],
        frozen,
    ]
    assert table[2].split()[2] == "everything"
    assert table[3].split()[1:5] == ["linear", "head,", "pooler,", "layer_1"]
    assert lines[0].startswith(
        "trains on 32 examples: sample_classification train (file train.tsv)"
    )
    assert lines[1].startswith("chooses epochs and learning rates on 15 examples: held out of ")
    assert lines[2].startswith("scores 60 examples: sample_classification dev (file dev.tsv), in ")
    assert lines[3].startswith("would decide a true difference of 1, 2, 5 and 10 points in 0, ")
    assert lines[4].startswith("5 points in four of five comparisons: 5 seeds on about")
    reads = "the head reads the mean of the states of all layers in a learned mix, standardised"
    assert lines[5] == f"tiny_bert-feature_extraction-linear: {reads}"
    said = [line for line in lines if "set features.disk_limit_mb: 1" in line]
    assert len(said) == 6  # three splits of two cells
    assert said[0].startswith("tiny_bert-feature_extraction-linear, train: features of 32 texts")
    assert said[3].startswith("tiny_bert-top_layers-linear, train: states of 32 texts at each")
    chosen = "(2 learning rates to choose from + 3 seeds with the chosen one)"
    (runs,) = (n for n, line in enumerate(lines) if line == f"runs: 15 = 3 cells × {chosen}")
    assert re.match(r"2 threads a run; \d+ process.* at a time, on this", lines[runs + 1])


@pytest.mark.slow
def test_the_default_head_is_named_and_settings_count(write_config):
    path = write_config(
        heads=["default"],
        settings={"feature_extraction": {"training": {"max_length": 64, "truncate": True}}},
    )
    code, output, _ = call(path, "--json", "--seeds", "1")
    found = json.loads(output)
    assert code == 0
    assert [cell["head"] for cell in found["cells"]] == ["bcn", "linear"]
    assert (found["seeds"], found["runs"]) == ([0], 2)


@pytest.mark.slow
def test_what_cannot_work_ends_with_its_error(write_config, tmp_path):
    (tmp_path / "empty").mkdir()
    path = write_config()
    for override, code, message in [
        (
            "compare.heads=[crf]",
            2,
            "ConfigError: cell shallow_bert-feature_extraction-crf: head: expected one of default",
        ),
        (
            "compare.settings.fine_tuning={training: {weight_decay: 0.1}, head_dropout: 0.2}",
            0,
            "",
        ),
        (
            "compare.settings.fine_tuning.optimizer.factors={layer_7: 0.5}",
            2,
            "ConfigError: cell shallow_bert-fine_tuning-linear: optimizer.factors",
        ),
        (
            "compare.settings.fine_tuning.training.max_length=8",
            3,
            "DataError: cell shallow_bert-fine_tuning-linear: ",
        ),
        ("compare.encoders=[no_such_module]", 2, "ConfigError: CONFIG: encoder.handle: expected"),
        ("compare.encoders=[EMPTY]", 4, "ArtifactError: cell empty-feature_extraction-linear: "),
        ("data={dataset: sst2, data_dir: nowhere}", 3, "DataError: "),
    ]:
        found, _, error = call(path, "--set", override.replace("EMPTY", str(tmp_path / "empty")))
        assert found == code, error
        assert error.startswith(message.replace("CONFIG", str(path)))


def test_either_a_folder_or_a_dry_run(write_config):
    for arguments, message in [
        ([], "Missing option '--out' (or '--dry-run', which writes nothing)"),
        (["--dry-run", "--out", "x"], "Option '--dry-run' writes nothing; leave out '--out'"),
    ]:
        result = CliRunner().invoke(cli, ["compare", str(write_config()), *arguments])
        assert result.exit_code == 2
        assert message in result.stderr


def test_where_it_would_run_is_checked_and_planned(write_config, tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "gpus", list)
    path = write_config()
    assert call(path, "--jobs", 3)[1].count("1 thread a run; 3 processes at a time") == 1
    code, _, error = call(path, "--slurm", "time=5", "--cluster", "auto")
    assert (code, "expected no --slurm beside it" in error) == (2, True)
    code, _, error = call(path, "--gpus-per-run", 1)
    assert (code, "expected visible NVIDIA GPUs, got 1" in error) == (2, True)
    # Refused before anything is written.
    out = ["--out", str(tmp_path / "out"), "--gpus-per-run", "1"]
    assert CliRunner().invoke(cli, ["compare", str(path), *out]).exit_code == 2
    assert not (tmp_path / "out").exists()


def test_numbers_of_training_examples_are_counted(write_config):
    path = write_config(train_examples=[8, 20, "all"], data={"train_examples": None})
    code, output, _ = call(path)
    assert code == 0
    lines = output.splitlines()
    assert "with parts of train, drawn anew with each seed: 8, 20, 135 of 135 examples" in lines
    assert "runs: 12 = 2 cells × 3 numbers of training examples × 2 seeds" in lines
    assert re.match("keeps about 0.0 GB on disk: two checkpoints and the best weights", lines[-1])
    code, _, said = call(path, "--set", "compare.train_examples=[8, 136]")
    assert code == 2
    assert "ConfigError: compare.train_examples: expected numbers up to 135" in said


def a_cell(name, reading, **changes):
    measured = replace(COSTS, **changes)
    return CellCosts(name, (reading,), epochs=3, batch_size=10, building=1.0, measured=measured)


def test_trials_cost_at_most_their_minutes():
    cell, sizes = a_cell("cold", "a", features=0.0), {"train": 95, "dev": 20, "test": 50}
    given = {"train": [95], "examples": sizes, "starting": 6.0, "threads": 1, "jobs": 1}
    few = expected_costs([cell], [], runs=3, **given)
    run = (expected_costs([cell], [], runs=4, **given).cpu_seconds - few.cpu_seconds) / 1
    found = expected_costs([cell], [], runs=903, trials=900, minutes=2.0, **given)
    assert found.cpu_seconds == pytest.approx(few.cpu_seconds + 120.0 + run)


def test_costs_are_the_sum_over_runs():
    frozen, same = a_cell("cold", "a"), a_cell("colder", "a", memory_mb=700.0)
    tuned = a_cell("warm", "b", features=0.0, memory_mb=900.0)
    found = expected_costs(
        [frozen, same, tuned],
        ["taught"],
        train=[95],
        examples={"train": 95, "dev": 20, "test": 50},
        runs=4,
        starting=6.0,
        threads=1,
        jobs=2,
    )
    # Building, writing, 3 epochs of 10 steps, dev 4 times and test twice, serving of dev twice.
    run = 1.0 + WRITING + 30 * 0.1 + (4 * 20 + 2 * 50) * 0.01 + 40 * 0.03
    cell = 6.0 + 5.0 + 4 * run
    features = 0.02 * 165  # once for both cells that share them
    assert found.cpu_seconds == pytest.approx(3 * cell + features + ENDING)
    assert found.seconds == pytest.approx((3 * cell + features) / 2 + ENDING)
    assert (found.memory_mb, found.unknown) == (900.0, ["taught"])
    (line,) = costs_lines(found, 2)
    assert line.startswith("takes about 81 seconds on idle cores (3 minutes of CPU time in 2 proc")
    assert line.endswith("with up to 900 MB each, by a timed step and pass of each cell; without "
                         "taught")  # fmt: skip
