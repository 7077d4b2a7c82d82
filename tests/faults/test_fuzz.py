"""Mutated configs and command lines end as one of our errors; for hours: `fuzz_configs.py`."""

import random
import runpy
from pathlib import Path

import pytest

FUZZ = runpy.run_path(str(Path(__file__).with_name("fuzz_configs.py")))


@pytest.mark.slow
def test_configs_and_command_lines():
    tried, offenders = FUZZ["fuzz"](seconds=60, seed=20, most=500)
    assert not offenders, "\n\n".join(offenders)
    assert tried == 500


@pytest.mark.parametrize("content", FUZZ["CONFIGS"])
def test_what_is_mutated_is_good(content):
    command = "compare" if "compare:" in content else "train"
    with FUZZ["in_a_folder"]():
        words = [command, "config.yaml", "--out", "out"]
        assert FUZZ["offence"](words, content.encode()) is None
        assert FUZZ["mutated"](content, random.Random(1)) != content.encode()


@pytest.mark.parametrize(
    ("error", "expected"), [(KeyError("x"), "exit 70"), (SystemExit(1), "exit 1")]
)
def test_what_is_no_error_of_ours_is_an_offence(monkeypatch, error, expected):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("tf_adapt.config.reading.load_config", fail)
    with FUZZ["in_a_folder"]():
        found = FUZZ["offence"](["train", "config.yaml", "--out", "out"], b"")
    assert found.startswith(expected)
