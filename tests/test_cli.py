import json
import subprocess
import sys
import time
from pathlib import Path

import click
import h5py
import pytest
from click.testing import CliRunner

from tf_adapt import console
from tf_adapt.cli import cli
from tf_adapt.errors import ArtifactError, ConfigError, DataError, TrainingError

HEAVY = ("tensorflow", "keras", "pydantic", "pandas", "numpy", "rich")
COMMANDS = [
    [],
    ["train"],
    ["evaluate"],
    ["predict"],
    ["export"],
    ["encode"],
    ["compare"],
    ["advise"],
    ["analyze"],
    ["analyze", "probes"],
    ["analyze", "information"],
    ["analyze", "domains"],
    ["analyze", "pairs"],
    ["module"],
    ["module", "convert"],
    ["module", "inspect"],
    ["data"],
    ["data", "check"],
]


def run(*arguments):
    return CliRunner().invoke(cli, list(arguments))


def last_line(result) -> str:
    assert "Traceback" not in result.output
    return result.stderr.splitlines()[-1]


def test_help_starts_in_less_than_a_second():
    program = (
        "import sys\n"
        "sys.argv = ['tf-adapt', '--help']\n"
        "import atexit\n"
        f"atexit.register(lambda: print([m for m in {HEAVY!r} if m in sys.modules]))\n"
        "from tf_adapt.cli import cli\n"
        "cli()\n"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert time.monotonic() - started < 1
    assert "Usage" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "tf_adapt", "--version"], capture_output=True, text=True
    )
    assert done.stdout.startswith("tf-adapt, version ")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output


@pytest.mark.parametrize("command", [["train"], ["evaluate"], ["compare"], ["advise"],
                                     ["analyze", "probes"], ["analyze", "domains"],
                                     ["module", "inspect"], ["data", "check"]],
                         ids=" ".join)  # fmt: skip
def test_json_where_results_are_printed(command):
    assert "--json" in run(*command, "--help").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "ConfigError: Missing argument 'CONFIG'"),
        (["train", "c.yaml"], "ConfigError: Missing option '--out'"),
        (["trian"], "ConfigError: No such command 'trian'"),
        (["train", "absent.yaml", "--out", "x"], "ConfigError: absent.yaml: cannot be read"),
        (["module", "convert", "--from", "x", "y", "--out", "z"], "ConfigError: Invalid value"),
        (["train", "c.yaml", "--out", "x", "--seed", "x"], "ConfigError: Invalid value"),
        (["compare", "c.yaml"], "ConfigError: Missing option '--out'"),
        (["compare", "absent.yaml", "--out", "x"], "ConfigError: absent.yaml: cannot be read"),
        (["compare", "c.yaml", "--out", "x", "--seeds", "0"], "ConfigError: Invalid value"),
        (["compare", "c.yaml", "--out", "x", "--jobs", "0"], "ConfigError: Invalid value"),
    ],
)
def test_usage_errors_are_config_errors(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert last_line(result).startswith(message)


@pytest.fixture
def failing(monkeypatch):
    """A command that raises what the test says."""

    def install(error: BaseException):
        @click.command()
        def fail():
            raise error

        monkeypatch.setitem(cli.commands, "fail", fail)

    return install


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError, 2), (DataError, 3), (ArtifactError, 4), (TrainingError, 5)],
)
def test_exit_code_and_last_line_of_each_error(failing, error, code):
    failing(error("train.tsv:3: first line\nsecond line"))
    result = run("fail")
    assert result.exit_code == code
    assert last_line(result) == f"{error.__name__}: train.tsv:3: first line second line"


def test_interrupted(failing):
    failing(KeyboardInterrupt())
    result = run("fail")
    assert result.exit_code == 130
    assert last_line(result).startswith("Interrupted: ")
    failing(SystemExit(143))
    assert run("fail").exit_code == 143


def test_a_bug_is_named_as_one(failing, monkeypatch):
    monkeypatch.delenv("TF_ADAPT_DEBUG", raising=False)
    failing(ZeroDivisionError("division by zero"))
    result = run("fail")
    assert result.exit_code == 70
    assert last_line(result).startswith("ZeroDivisionError: division by zero — this is a bug")
    assert "TF_ADAPT_DEBUG=1" in last_line(result)


def test_debug_shows_where(failing, monkeypatch):
    monkeypatch.setenv("TF_ADAPT_DEBUG", "1")
    failing(ZeroDivisionError("division by zero"))
    result = run("fail")
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("ZeroDivisionError: ")


def test_tensorflow_is_silent_until_the_command_ends():
    program = (
        "import os, sys, click\n"
        "from tf_adapt.cli import cli\n"
        "from tf_adapt.console import start_tensorflow\n"
        "@cli.command()\n"
        "def quiet():\n"
        "    start_tensorflow()\n"
        "    import keras, tensorflow\n"
        "    keras.Sequential([keras.layers.Dense(1)])(tensorflow.zeros([1, 1]))\n"
        "    os.write(2, b'chatter')\n"
        "    click.echo('ours', err=True)\n"
        "    raise ValueError('last')\n"
        "cli(['quiet'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    ours, last = done.stderr.splitlines()
    assert ours == "ours"
    assert last.startswith("ValueError: last — this is a bug")


def test_leaves_at_once_but_lets_libraries_clean_up():
    program = (
        "import atexit, sys\n"
        "from tf_adapt.cli import cli, run\n"
        "class Slow:\n"
        "    def __del__(self):\n"
        "        print('taken apart', flush=True)\n"
        "@cli.command()\n"
        "def quick():\n"
        "    atexit.register(print, 'temporary files removed')\n"
        "    sys.slow = Slow()\n"
        "    raise KeyboardInterrupt\n"
        "sys.argv = ['tf-adapt', 'quick']\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stdout == "temporary files removed\n"
    assert done.stderr.strip().startswith("Interrupted: ")


def test_flat_and_scores():
    report = {"a": {"b": 1, "c": {}}, "d": None}
    assert list(console.flat(report)) == [("a b", 1), ("a c", {}), ("d", None)]
    assert console.score_line({"accuracy": 0.5, "matthews": None}) == (
        "accuracy 0.5000, matthews undefined"
    )


def test_convert_and_inspect(tmp_path, shared):
    source = shared / "reference" / "bilm_tf"
    if not Path(source).is_dir():
        pytest.skip("no small weights to convert")
    out = tmp_path / "module"
    result = run("module", "convert", "--from", "bilm-tf", str(source), "--out", str(out))
    assert result.exit_code == 0, result.output
    result = run("module", "inspect", str(out), "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["family"] == "elmo"
    assert list(found["groups"]) == ["char_cnn", "lstm_0", "lstm_1"]
    assert found["parameters"] == sum(found["groups"].values())
    assert found["recognised"] is True
    assert "encoder/saved_model.pb" in found["files"]


def test_encode_writes_one_data_set_a_line(tiny_bert, tmp_path):
    (tmp_path / "texts").write_text("the\nwhat is the\n", encoding="utf-8")
    output = tmp_path / "features.hdf5"
    result = run(
        "encode", str(tiny_bert), "--input", str(tmp_path / "texts"), "--output", str(output)
    )
    assert result.exit_code == 0, result.output
    with h5py.File(output) as file:
        shapes = {name: file[name].shape for name in file}
    assert shapes == {"0": (3, 3, 16), "1": (3, 5, 16)}  # layers, [CLS] … [SEP], width
    (tmp_path / "texts").write_text("")
    result = run(
        "encode", str(tiny_bert), "--input", str(tmp_path / "texts"), "--output", str(output)
    )
    assert result.exit_code == 3
    assert "no examples in this file" in last_line(result)


def test_data_check(tiny_bert, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(
        "data: {dataset: sample_classification, source: sample}\n"
        f"encoder: {{handle: {tiny_bert}}}\n"
        "adaptation: fine_tuning\n"
        "training: {epochs: 1, batch_size: 8, learning_rate: 0.01}\n"
    )
    result = run("data", "check", str(config), "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["train"]["examples"] == 150
    assert sum(report["train"]["labels"].values()) == 150
    assert report["duplicates"]["in both train and dev"] == 0
    result = run("data", "check", str(config), "--set", "training.max_length=20")
    assert result.exit_code == 3
    assert "dev longer than the limit: " in result.stdout
    assert last_line(result).startswith("DataError: expected examples within the encoder's limit")


def test_data_check_of_a_comparison(tiny_bert, tiny_elmo, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(
        "data: {dataset: sample_pair_classification, source: sample}\n"
        "compare:\n"
        f"  encoders: [{tiny_elmo}, {tiny_bert}, {{handle: {tiny_bert}, pairs: separate}},\n"
        f"    {{handle: {tiny_bert}, pretrained: false}}]\n"
        "  adaptations: [feature_extraction, fine_tuning]\n"
        "  heads: [esim]\n"
        "  learning_rates: [0.01]\n"
        "training: {epochs: 1, batch_size: 8}\n"
    )
    result = run("data", "check", str(config), "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["train"]["examples"] == 135
    assert "units" not in report["train"]
    assert report["test"]["what"].endswith("in the place of test")
    assert list(report["encoders"]) == ["tiny_elmo", "tiny_bert", "tiny_bert-separate"]
    elmo, joint, separate = report["encoders"].values()
    assert (elmo["limit"], joint["limit"], separate["limit"]) == (1000, 256, 256)
    # In one row stand all pieces of both texts, apart the longer one counts.
    assert joint["test"]["units"]["longest"] > separate["test"]["units"]["longest"]
    assert joint["test"]["longer than the limit"] == 0
    result = run("data", "check", str(config), "--set", "training.max_length=60")
    assert result.exit_code == 3
    assert last_line(result).startswith(
        "DataError: expected examples within tiny_bert-max_length_60's limit"
    )
    result = run("train", str(config), "--dry-run")
    assert result.exit_code == 2
    assert last_line(result) == (
        f"ConfigError: {config}:2: compare: expected the config of a run, got that of a "
        "comparison; use `tf-adapt compare`"
    )


def test_data_check_reads_pairs_as_the_config_says(tiny_bert, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(
        "data: {dataset: sample_pair_classification, source: sample}\n"
        f"encoder: {{handle: {tiny_bert}}}\n"
        "adaptation: fine_tuning\n"
        "training: {epochs: 1, batch_size: 8, learning_rate: 0.01}\n"
    )
    joint, separate = (
        json.loads(
            run("data", "check", str(config), "--json", "--set", f"encoder.pairs={pairs}").stdout
        )
        for pairs in ("joint", "separate")
    )
    assert joint["dev"]["units"]["mean"] > 1.5 * separate["dev"]["units"]["mean"]
