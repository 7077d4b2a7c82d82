import contextlib
import io
import json
import logging
import resource
import signal
import subprocess
import sys

import click
import h5py
import pytest
import report_contents
from click.testing import CliRunner

from hub_modules.programs.program_check import ProgramCheck
from tf_adapt.commands import console, modules
from tf_adapt.commands.main import cli
from tf_adapt.comparison import comparing
from tf_adapt.errors import ArtifactError, ConfigError, DataError, TrainingError
from tf_adapt.printing import streams
from tf_adapt.printing.progress import progress_console

HEAVY = ("tensorflow", "keras", "pydantic", "pandas", "numpy", "rich")
# The commands, and of those that print results or take long what else they take.
COMMANDS = {
    "": "",
    "train": "--json --quiet",
    "evaluate": "--json --quiet",
    "predict": "--quiet",
    "chat": "",
    "export": "--quiet",
    "serve": "--quiet",
    "encode": "--quiet",
    "ensemble": "--quiet",
    "fisher": "--quiet",
    "init": "",
    "compare": "--json --quiet",
    "diagnose": "--json --quiet",
    "advise": "--json",
    "analyze": "",
    "analyze probes": "--json",
    "analyze information": "",
    "analyze domains": "--json",
    "analyze pairs": "",
    "module": "",
    "module convert": "--quiet",
    "module distill": "--quiet",
    "module export": "--quiet",
    "module inspect": "--json",
    "data": "",
    "data check": "--json",
    "config": "",
    "config schema": "",
}


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
        "from tf_adapt.commands.main import cli\n"
        "cli()\n"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of the processor, since other tests run beside it.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1
    assert "Usage" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "tf_adapt", "--version"], capture_output=True, text=True
    )
    assert done.stdout.startswith("tf-adapt, version ")


def test_every_command_has_help_and_its_options():
    for command, options in COMMANDS.items():
        result = run(*command.split(), "--help")
        assert result.exit_code == 0, command
        for word in ("Usage", *options.split()):
            assert word in result.output, command


def test_usage_errors_are_config_errors():
    for arguments, message in (
        ("train", "Missing argument 'CONFIG'"),
        ("train c.yaml", "Missing option '--out'"),
        ("trian", "No such command 'trian'"),
        ("train absent.yaml --out x", "absent.yaml: cannot be read"),
        ("module convert --from x y --out z", "Invalid value"),
        ("train c.yaml --out x --seed x", "Invalid value"),
        ("compare c.yaml", "Missing option '--out'"),
        ("compare absent.yaml --out x", "absent.yaml: cannot be read"),
        ("compare c.yaml --out x --seeds 0", "Invalid value"),
        ("compare c.yaml --out x --jobs 0", "Invalid value"),
    ):
        result = run(*arguments.split())
        assert result.exit_code == 2, arguments
        assert last_line(result).startswith(f"ConfigError: {message}"), arguments


def test_all_problems_of_a_config_are_in_the_last_line(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("data: {dataset: mrpc, sorce: tfds}\nadaptation: thaw\nepochs: 3\n")
    result = run("train", str(path), "--out", str(tmp_path / "run"))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert last_line(result).startswith("ConfigError: ")
    for problem in (
        "config.yaml:1: data.sorce: unknown key; did you mean source?",
        "config.yaml:3: epochs: unknown key; did you mean training.epochs?",
        "config.yaml: encoder: expected a section, but the key is missing",
        "config.yaml:2: adaptation.name: expected one of feature_extraction",
    ):
        assert problem in last_line(result)


@pytest.mark.parametrize("quiet", [True, False])
def test_quiet_prints_nothing_but_errors_and_the_result(monkeypatch, quiet):
    @click.command()
    @console.quiet_option
    def talk():
        progress_console().print("step 1 of 2")
        assert logging.getLogger("tf_adapt.data").isEnabledFor(logging.INFO) is not quiet
        console.print_result({}, ["dev: accuracy 1.0"], as_json=False)

    monkeypatch.setitem(cli.commands, "talk", talk)
    result = run("talk", *["--quiet"] * quiet)
    assert (result.exit_code, result.stdout) == (0, "dev: accuracy 1.0\n")
    assert result.stderr == ("" if quiet else "step 1 of 2\n")
    # Nor does it stay quiet where the command line is wrong.
    run("talk", "--quiet", "--loud")
    assert not streams.quiet.get()


@pytest.fixture
def failing(monkeypatch):
    """A command that raises what the test says."""

    def install(error: BaseException):
        @click.command()
        def fail():
            raise error

        monkeypatch.setitem(cli.commands, "fail", fail)

    return install


def test_exit_code_and_last_line_of_each_error(failing):
    errors = {ConfigError: 2, DataError: 3, ArtifactError: 4, TrainingError: 5}
    for error, code in errors.items():
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


def test_interrupted_within_tensorflow_which_raises_an_error_of_its_own(monkeypatch):
    @click.command()
    def fail():
        with contextlib.suppress(SystemExit):
            signal.raise_signal(signal.SIGTERM)
        raise AssertionError("Nesting violated")

    monkeypatch.setitem(cli.commands, "fail", fail)
    result = run("fail")
    assert result.exit_code == 143
    assert last_line(result).startswith("Terminated: the same command goes on")


def test_a_bug_is_named_as_one_and_debug_shows_where(failing, monkeypatch):
    monkeypatch.delenv("TF_ADAPT_DEBUG", raising=False)
    failing(ZeroDivisionError("division by zero"))
    result = run("fail")
    assert result.exit_code == 70
    assert last_line(result).startswith("ZeroDivisionError: division by zero — this is a bug")
    assert "TF_ADAPT_DEBUG=1" in last_line(result)
    monkeypatch.setenv("TF_ADAPT_DEBUG", "1")
    result = run("fail")
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("ZeroDivisionError: ")


@pytest.mark.slow
def test_tensorflow_is_silent_until_the_command_ends_and_keras_loads_no_package_for_nothing():
    program = (
        "import os, sys, click\n"
        "from tf_adapt.commands.main import cli, run\n"
        "from tf_adapt.commands.console import start_tensorflow\n"
        "@cli.command()\n"
        "def quiet():\n"
        "    start_tensorflow()\n"
        "    import keras, tensorflow\n"
        "    keras.Sequential([keras.layers.Dense(1)])(tensorflow.zeros([1, 1]))\n"
        "    os.write(2, b'chatter')\n"
        "    for_nothing = {'matplotlib', 'sklearn'} & {*sys.modules}\n"
        "    import matplotlib, sklearn\n"
        "    click.echo(f'ours, {len(for_nothing)}', err=True)\n"
        "    raise ValueError('last')\n"
        "sys.argv = ['tf-adapt', 'quiet']\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    ours, last = done.stderr.splitlines()
    assert ours == "ours, 0"
    assert last.startswith("ValueError: last — this is a bug")


def test_leaves_at_once_but_lets_libraries_clean_up():
    program = (
        "import atexit, sys\n"
        "from tf_adapt.commands.main import cli, run\n"
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


@pytest.mark.slow
def test_a_tf1_elmo_is_inspected_and_verified(reference, monkeypatch):
    source = str(reference / "tf1_hub_elmo" / "module")
    result = run("module", "inspect", source, "--verify", "--trust", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["family"], found["recognised"], found["left_out"]) == ("elmo", True, [])
    assert found["parameters"] == sum(found["groups"].values())
    assert found["sizes"]["num_layers"] == found["layers"] - 1
    assert found["assumed"]["cell_clip"] == 3.0
    assert found["verified"]["agrees"] is True
    assert list(found["verified"]["largest_difference"]) == ["char_cnn", "lstm_0", "lstm_1", "mix"]

    other = ProgramCheck({"char_cnn": 0.0, "lstm_0": 0.5}, {"skip_connections": True}, ())
    checked = "tf_adapt.training.finished.inspect.check_program"
    monkeypatch.setattr(checked, lambda *given: other)
    result = run("module", "inspect", source, "--verify", "--trust")
    assert result.exit_code == 4
    assert "largest difference" in result.stdout
    assert f"convert --from tf1-elmo {source} --assume skip_connections=true" in last_line(result)


def test_a_wrong_assumption_that_is_not_found_is_suspected(capsys):
    check = {
        "largest_difference": {"char_cnn": 1e-6, "lstm_0": 0.5},
        "tolerance": 1e-4,
        "agrees": False,
        "undecided": [],
        "fitting": {},
        "suspects": "cell_clip or the forget bias",
    }
    message = (
        r"module m: native encoder and program differ by 5.0e-01 \(lstm_0\), expected at most "
        "1e-04; what may be wrong: cell_clip or the forget bias; run it as it is"
    )
    with pytest.raises(ArtifactError, match=message):
        modules._report("m", check, as_json=False)
    assert "5.0e-01" in capsys.readouterr().out
    agreeing = check | {"agrees": True, "undecided": ["cell_clip", "activation"]}
    modules._report("m", agreeing, as_json=False)
    assert "no difference in these sentences: cell_clip, activation" in capsys.readouterr().out


def test_a_tf1_elmo_is_converted_with_other_assumptions(reference, tmp_path, monkeypatch):
    def write(weights, folder, **how):
        written.append((weights.config, folder, how))

    written = []
    monkeypatch.setattr("hub_modules.export.write_module", write)
    source, out = str(reference / "tf1_hub_elmo" / "module"), str(tmp_path / "ours")
    said = ("--assume", "skip_connections=false", "--assume", "cell_clip=null")
    result = run("module", "convert", "--from", "tf1-elmo", source, "--out", out, *said)
    assert result.exit_code == 0, result.output
    [(config, folder, how)] = written
    assert (folder, how) == (out, {"stored_as": "float32"})
    assert (config["skip_connections"], config["cell_clip"]) == (False, None)


def test_a_module_of_ours_is_inspected(tiny_elmo):
    found = json.loads(run("module", "inspect", str(tiny_elmo), "--json").stdout)
    assert (found["family"], found["recognised"]) == ("elmo", True)
    assert list(found["groups"])[:2] == ["char_cnn", "lstm_0"]
    assert found["parameters"] == sum(found["groups"].values())
    assert "encoder/saved_model.pb" in found["files"]


def test_assumptions_are_checked(tmp_path):
    for source, said, message in (
        ("bilm-tf", "cell_clip=1", "only --from tf1-elmo assumes anything; leave it out"),
        ("tf1-elmo", "cell_clip", "--assume cell_clip: expected KEY=VALUE such as cell_clip=null"),
        ("tf1-elmo", "cell_clip=[", "ConfigError"),
    ):
        out = str(tmp_path / "out")
        result = run("module", "convert", "--from", source, "x", "--out", out, "--assume", said)
        assert result.exit_code == 2, result.output
        assert message in last_line(result)


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
        "data: {dataset: sample_pair_classification, source: sample}\n"
        f"encoder: {{handle: {tiny_bert}}}\n"
        "adaptation: fine_tuning\n"
        "training: {epochs: 1, batch_size: 8, learning_rate: 0.01}\n"
    )

    check = ["data", "check", str(config), "--set"]
    joint, separate = (
        json.loads(run(*check, f"encoder.pairs={pairs}", "--json").stdout)
        for pairs in ("joint", "separate")
    )
    assert joint["train"]["examples"] == sum(joint["train"]["labels"].values()) == 150
    assert joint["duplicates"]["in both train and dev"] == 0
    # In one row stand all pieces of both texts.
    assert joint["dev"]["tokens"]["mean"] > 1.5 * separate["dev"]["tokens"]["mean"]
    result = run(*check, "training.max_length=20")
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
    assert "tokens" not in report["train"]
    assert report["test"]["what"].endswith("in the place of test")
    assert list(report["encoders"]) == ["tiny_elmo", "tiny_bert", "tiny_bert-separate"]
    elmo, joint, separate = report["encoders"].values()
    assert (elmo["limit"], joint["limit"], separate["limit"]) == (1000, 256, 256)
    # In one row stand all pieces of both texts, apart the longer one counts.
    assert joint["test"]["tokens"]["longest"] > separate["test"]["tokens"]["longest"]
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


def test_encode_from_standard_input_and_never_over_what_it_reads(tiny_bert, tmp_path):
    texts, output = tmp_path / "texts", tmp_path / "features.hdf5"
    texts.write_text("the\n", "utf-8")
    for target in (texts, tiny_bert / "vocab.txt", tiny_bert / "new.hdf5"):
        result = run("encode", str(tiny_bert), "--input", str(texts), "--output", str(target))
        assert result.exit_code == 2, result.output
        assert "choose another name for the output" in last_line(result)
    assert texts.read_text("utf-8") == "the\n" and not (tiny_bert / "new.hdf5").exists()
    arguments = ["encode", str(tiny_bert), "--input", "-", "--output"]
    result = CliRunner().invoke(cli, [*arguments, str(output)], input="the\nwhat\n")
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(cli, [*arguments, "-"], input="the\nwhat\n")
    assert last_line(result) == "features of 2 texts: -"
    with h5py.File(io.BytesIO(result.stdout_bytes)) as written, h5py.File(output) as file:
        assert list(written) == list(file) == ["0", "1"]
    result = CliRunner().invoke(cli, [*arguments, "-"], input="the\n\n")
    assert last_line(result).startswith("DataError: <stdin>:2: ")


NO_NAMES = {"a NUL": "a\0b", "300 characters": "x" * 300, "a path": "x/" * 5000, "nothing": ""}
PATHS = [
    "train c.yaml --out",
    "train --out x",
    "compare c.yaml --out",
    "compare c.yaml --out x --cache",
    "evaluate run --data",
    "evaluate --data x",
    "predict run --input x --output",
    "predict run --output x --input",
    "predict --input x --output y",
    "export run --out",
    "export --out x",
    "fisher run --out",
    "encode tiny --input x --output",
    "encode tiny --output x --input",
    "encode --output x --input y",
    "ensemble run other --out",
    "ensemble other --out x",
    "init x --out",
    "init",
    "serve",
    "module distill tiny --keep-layers 0 --text x --steps 1 --out",
    "module distill tiny --keep-layers 0 --steps 1 --out y --text",
    "module convert --from bilm-tf x --out",
    "module convert --from bilm-tf --out x",
    "module export run --out",
    "module inspect",
    "data check",
    "analyze probes x --out",
    "analyze information x --out",
    "analyze domains x --out",
    "analyze pairs x --out",
    "analyze pairs --out x",
    "analyze probes --out x",
]


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_cannot_be_the_name_of_a_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in PATHS:
        result = run(*command.split(), NO_NAMES[name])
        assert result.exit_code in (2, 3, 4), (command, last_line(result))
        assert last_line(result).split(":")[0] in ("ConfigError", "DataError", "ArtifactError")
        assert list(tmp_path.iterdir()) == [], command


@pytest.mark.parametrize(("decided", "code"), [(True, 0), (False, 6)])
def test_strict_tells_by_the_exit_code_whether_it_is_decided(decided, code, monkeypatch, tmp_path):
    content = report_contents.complete()
    content = report_contents.with_verdict(content, decided=decided)
    monkeypatch.setattr(comparing, "compare", lambda *arguments: content)
    command = ["compare", "configs/quickstart.yaml", "--out", str(tmp_path / "out")]
    assert run(*command, "--strict").exit_code == code
    assert run(*command).exit_code == 0
