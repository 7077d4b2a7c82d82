"""Mutated configs and command lines end as one of our errors; for hours: `fuzz_configs.py`."""

import random
import runpy
from pathlib import Path

import pytest

from tf_adapt.comparison.cells import Comparison
from tf_adapt.comparison.settings import is_comparison, load_comparison
from tf_adapt.config.reading import load_config
from tf_adapt.config.sections import Config
from tf_adapt.errors import TfAdaptError

FUZZ = runpy.run_path(str(Path(__file__).with_name("fuzz_configs.py")))


@pytest.mark.slow
def test_configs_and_command_lines():
    tried, offenders = FUZZ["fuzz"](seconds=600, seed=20, most=150)
    assert not offenders, "\n\n".join(offenders)
    assert tried == 150


def test_mutated_configs_that_ship(tmp_path):
    shipped = sorted((Path(__file__).resolve().parents[2] / "configs").rglob("*.yaml"))
    chance, path, read = random.Random(20), tmp_path / "config.yaml", []
    for number in range(200):
        path.write_bytes(FUZZ["mutated"](chance.choice(shipped).read_text("utf-8"), chance))
        try:
            read.append(load_comparison(path) if is_comparison(path) else load_config(path))
        except TfAdaptError:
            pass
        except Exception as error:
            pytest.fail(f"config {number}, {path.read_bytes()!r}: {error!r}")
    assert {type(one) for one in read} == {Comparison, Config}


def test_what_is_mutated_is_good():
    for content in FUZZ["CONFIGS"]:
        command = "compare" if "compare:" in content else "train"
        with FUZZ["in_a_folder"]():
            words = [command, "config.yaml", "--out", "out"]
            assert FUZZ["offence"](words, content.encode()) is None
            assert FUZZ["mutated"](content, random.Random(1)) != content.encode()


def test_what_is_no_error_of_ours_is_an_offence(monkeypatch):
    for error, expected in ((KeyError("x"), "exit 70"), (SystemExit(1), "exit 1")):

        def fail(*arguments, error=error):
            raise error

        monkeypatch.setattr("tf_adapt.config.reading.load_config", fail)
        with FUZZ["in_a_folder"]():
            found = FUZZ["offence"](["train", "config.yaml", "--out", "out"], b"")
        assert found.startswith(expected)
