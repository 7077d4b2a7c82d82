"""Mutated configs and command lines end as one of our errors; for hours: `fuzz_configs.py`."""

import random
import runpy
from pathlib import Path

import pytest

FUZZ = runpy.run_path(str(Path(__file__).with_name("fuzz_configs.py")))


@pytest.mark.slow
def test_configs_and_command_lines():
    tried, offenders = FUZZ["fuzz"](seconds=600, seed=20, most=150)
    assert not offenders, "\n\n".join(offenders)
    assert tried == 150


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
