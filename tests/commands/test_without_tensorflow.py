"""Light exports on the command line, in a process that may not import TensorFlow."""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from openvino_engine import needs_openvino

import tf_adapt as ta
from tf_adapt.commands.main import cli
from tf_adapt.data.catalogue import SAMPLE_FOLDER

pytestmark = [pytest.mark.slow, needs_openvino]

DEV = SAMPLE_FOLDER / "classification" / "dev.tsv"
# Runs commands; says last what was asked for in vain, or was there all the same.
PROGRAM = """
import json, sys
from importlib.abc import MetaPathFinder

REFUSED = ("keras", "tensorflow", "tensorflow_hub", "tensorflow_text", "tf_keras")
tried = []

class Refusing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            tried.append(name)
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refusing())
from tf_adapt.commands.main import cli

codes = []
for arguments in json.loads(sys.argv[1]):
    try:
        cli.main(arguments)
    except SystemExit as end:
        codes.append(end.code)
there = [name for name in REFUSED if name in sys.modules]
sys.stdout.flush()
print(json.dumps([codes, tried, there]), file=sys.stderr)
"""


def started(*commands: list) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(Path(ta.__file__).parents[1])}
    arguments = json.dumps([[str(one) for one in command] for command in commands])
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def run(*arguments) -> str:
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def exports(finished_run, finished_export, tmp_path_factory) -> dict[str, Path]:
    """By format: the folder above the versions of a run's export."""
    light = tmp_path_factory.mktemp("exports") / "light"
    run("export", finished_run("classification"), "--out", light, "--format", "openvino")
    return {"saved_model": finished_export("classification").parent, "light": light}


def test_predict_and_evaluate(exports, tmp_path):
    """With the labels, scores and metrics of the SavedModel."""
    light, out = exports["light"], tmp_path / "light.jsonl"
    child = started(
        ["predict", light, "--input", DEV, "--output", out],
        ["evaluate", light, "--data", DEV, "--json", "--out", tmp_path / "answers"],
    )
    printed, errors = child.communicate(timeout=300)
    assert json.loads(errors.splitlines()[-1]) == [[0, 0], [], []], errors
    saved, other = exports["saved_model"], tmp_path / "saved_model.jsonl"
    run("predict", saved, "--input", DEV, "--output", other)
    rows = [list(map(json.loads, path.read_text("utf-8").splitlines())) for path in (out, other)]
    for found, expected in zip(*rows, strict=True):
        assert found["prediction"] == expected["prediction"]
        assert found["scores"] == pytest.approx(expected["scores"], abs=2e-5)
    reached = json.loads(run("evaluate", saved, "--data", DEV, "--json"))
    scores = json.loads(printed[printed.index("{") :])
    assert scores.pop("calibration")["ece"] == pytest.approx(
        reached.pop("calibration")["ece"], abs=1e-4
    )
    assert scores == reached and "macro_f1" in scores and "loss" not in scores
    assert (tmp_path / "answers" / "errors.csv").is_file()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen, str]]:
    with started(["serve", f"m={folder}", "--port", "0"]) as child:
        try:
            for line in child.stderr:
                if found := re.match(r"serving on (http://[0-9.:]+) ", line):
                    break
                assert not line.startswith("warning: "), line
            else:
                pytest.fail(f"it ended: {child.wait()}")
            yield child, found[1]
        finally:
            child.kill()


@pytest.mark.skipif(
    importlib.util.find_spec("uvicorn") is None, reason="the extra [serve] is not installed"
)
def test_s3_serve(exports, tmp_path):
    """A light version follows a light one; a SavedModel, which would need TensorFlow, does not."""
    folder = tmp_path / "m"
    shutil.copytree(exports["light"] / "1", folder / "1")
    with serving(folder) as (child, url):
        client = ta.Client(url)
        expected = client.predict(["Who ?", "Where is it ?"])
        assert expected[0].keys() == {"label", "scores"}
        for number, name in ((2, "saved_model"), (3, "light")):
            shutil.copytree(exports[name] / "1", tmp_path / "aside")
            (tmp_path / "aside").rename(folder / str(number))
            states = wait_for(client, number)
            assert states == {"2": "END", "3": "AVAILABLE"}[str(number)]
        assert client.predict(["Who ?", "Where is it ?"]) == expected
        child.send_signal(signal.SIGTERM)
        errors = child.stderr.read()
    assert json.loads(errors.splitlines()[-1]) == [[143], [], []], errors
    assert "version 2 is not served, version 1 stays" in errors
    assert "began without TensorFlow, got a SavedModel" in errors


def wait_for(client: ta.Client, number: int) -> str:
    """The state of a version, once it is known."""
    for _ in range(300):
        known = client._answer("/v1/models/m")["model_version_status"]
        states = {one["version"]: one["state"] for one in known}
        if states.get(str(number), "LOADING") != "LOADING":
            return states[str(number)]
        time.sleep(0.1)
    pytest.fail(f"version {number} is not known")


def test_a_saved_model_says_what_is_missing(exports, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    found = CliRunner().invoke(cli, ["serve", str(exports["saved_model"])])
    assert found.exit_code == 2
    assert "expected the package tensorflow, got none" in found.stderr


def test_a_wrong_path_is_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    for folder in (tmp_path, tmp_path / "absent"):
        for arguments in (
            ["serve", folder],
            ["predict", folder, "--input", DEV, "--output", tmp_path / "out"],
            ["evaluate", folder, "--data", DEV],
        ):
            found = CliRunner().invoke(cli, list(map(str, arguments)))
            assert found.exit_code == 4
            assert f"{folder}: expected the folder of a run or of an export" in found.stderr
