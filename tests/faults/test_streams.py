"""Exit codes and text where the streams are closed, full, or of another encoding, and programs in
the current folder."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tf_adapt.commands.main import cli
from tf_adapt.comparison.execution import local
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.plan.scored_split import settled
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.errors import ArtifactError
from tf_adapt.printing.streams import printable, printable_json

ADVISE = "advise --encoder bert --task tagging"
NAMES = Path(__file__).resolve().parents[2] / "configs/names.yaml"


def shell(command: str, **environment) -> subprocess.CompletedProcess:
    """`tf-adapt …` as a shell runs it."""
    program = f"{sys.executable} -P -m tf_adapt"
    return subprocess.run(
        ["sh", "-c", command.replace("tf-adapt", program)],
        capture_output=True,
        env=os.environ | environment,
    )


@pytest.mark.slow
def test_the_exit_code_does_not_depend_on_the_streams():
    lost = "ArtifactError: standard output: cannot be written"
    for command, code, message in (
        (f"tf-adapt {ADVISE} <&- 2>&-", 0, ""),
        (f"tf-adapt {ADVISE} 2> /dev/full", 0, ""),
        ("tf-adapt advise --encoder bert 2>&-", 2, ""),
        ("tf-adapt advise --encoder bert >&-", 2, "ConfigError: "),
        ("tf-adapt advise --encoder bert 2> /dev/full", 2, ""),
        # The result goes nowhere.
        (f"tf-adapt {ADVISE} > /dev/full", 4, f"{lost} (No space left on device)"),
        (f"tf-adapt {ADVISE} --json >&-", 4, f"{lost} (it is closed)"),
        (f"tf-adapt {ADVISE} <&- >&- 2>&-", 4, ""),
        (f"tf-adapt data check {NAMES} >&-", 4, f"{lost} (it is closed)"),
        ("tf-adapt --version >&-", 4, f"{lost} (it is closed)"),
        (f"{{ tf-adapt {ADVISE}; echo $? >&2; }} | :", 0, "1"),  # without a word
    ):
        done = shell(command)
        assert done.returncode == code, done
        assert done.stderr.decode().startswith(message), done
        assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_a_terminal_of_another_encoding():
    expected = json.loads(shell(f"tf-adapt {ADVISE} --json", PYTHONIOENCODING="utf-8").stdout)
    for encoding in ("ascii", "cp1252"):
        assert shell(f"tf-adapt {ADVISE}", PYTHONIOENCODING=encoding).returncode == 0
        as_json = shell(f"tf-adapt {ADVISE} --json", PYTHONIOENCODING=encoding)
        assert as_json.returncode == 0, as_json.stderr
        assert json.loads(as_json.stdout.decode(encoding)) == expected


def test_predictions_for_a_closed_standard_output_are_an_error(tmp_path):
    program = (
        "from tf_adapt.serving.prediction.output_files import write_output; write_output('-', b'x')"
    )
    program = f"from tf_adapt.printing.streams import open_streams; open_streams(); {program}"
    command = f'{sys.executable} -P -c "{program}" >&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True)
    assert done.returncode == 1
    assert b"<stdout>: cannot be written (it is closed); name a file" in done.stderr


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    result = CliRunner().invoke(cli, ["train", "a\x1b]0;title\x07\x9b2Jb\u202ec", "--out", "x"])
    assert result.exit_code == 2
    assert "\\x1b]0;title\\x07\\x9b2Jb\\u202ec" in result.stderr
    assert not set("\x1b\x07\x9b\u202e") & set(result.output)
    config = tmp_path / "config.yaml"
    config.write_text("data: {dataset: \x22a\\e[31mb\x22}\nencoder: {handle: x}\n")
    result = CliRunner().invoke(cli, ["train", str(config), "--out", "x"])
    assert result.exit_code == 2
    assert "\x1b" not in result.output
    assert printable("tab\tline\n\x00é\U0001f600") == "tab\tline\n\\x00é\U0001f600"
    text = json.dumps({"a": "\x1b\x9b\u202e"}, ensure_ascii=False)
    assert json.loads(printable_json(text)) == {"a": "\x1b\x9b\u202e"}
    assert "\x9b" not in printable_json(text)


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGTERM, 143, b"Terminated"), (signal.SIGINT, 130, b"Int")]
)
def test_a_signal_is_named(number, code, word, tmp_path):
    fifo = tmp_path / "config.yaml"
    os.mkfifo(fifo)
    program = [sys.executable, "-P", "-m", "tf_adapt", "train", str(fifo), "--out", "x"]
    process = subprocess.Popen(program, stderr=subprocess.PIPE)
    with open(fifo, "w"):  # opened once the command reads it
        time.sleep(0.2)
        process.send_signal(number)
        _, error = process.communicate(timeout=90)
    assert process.returncode == code
    assert error.lstrip().startswith(word)
    assert b"the same command goes on" in error


@pytest.mark.slow
def test_programs_in_the_current_folder_are_not_run(tmp_path, monkeypatch):
    """What a comparison starts: its workers, and the export of its winner."""
    marker = tmp_path / "marker"
    for name in ("click", "numpy", "json", "tf_adapt"):
        (tmp_path / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    config = tmp_path / "config.yaml"
    config.write_text(
        "data: {dataset: sample_classification, source: sample}\n"
        "compare: {encoders: [elmo_small], adaptations: [fine_tuning], learning_rates: [1.0e-3]}\n"
        "training: {epochs: 1, batch_size: 32}\n"
    )
    outcomes = Outcomes(settled(load_comparison(config)), tmp_path / "out")
    run = next(outcomes.waiting())
    monkeypatch.chdir(tmp_path)
    worker = local._start(run, 1)
    worker.stdin.close()
    assert worker.wait(60) == 0, run.log.read_text()
    from tf_adapt.comparison import winner_export

    with pytest.raises(ArtifactError):
        winner_export._export(run, tmp_path / "winner")
    assert not marker.exists()
