"""Greedy and beam search against transformers, on other prompts than the recorded ones."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from generation_cases import continued, random_cases, up_to_the_end

from hub_modules.native.causal import CausalEncoder
from hub_modules.sources import huggingface
from tf_adapt.generation.generator import TokenGenerator

TESTS = Path(__file__).parents[1]
MODEL = TESTS / "parity" / "recorded" / "huggingface_gpt2" / "model"


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(2, 6))
def test_tokens_of_random_prompts(tmp_path, seed):
    python = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_ORACLES_PYTHON does not name an interpreter with transformers")
    source = huggingface.read(MODEL)
    cases = random_cases(seed, source.config["vocabulary_size"], 36)
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    child = TESTS / "children" / "transformers_generation.py"
    command = [python, child, MODEL, tmp_path / "cases.json", tmp_path / "out.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    encoder = CausalEncoder(**source.config)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    tokens = TokenGenerator(encoder)
    theirs = json.loads((tmp_path / "out.json").read_text())
    for case, expected in zip(cases, theirs, strict=True):
        found = up_to_the_end(continued(tokens, case), case["ends"])
        assert found == up_to_the_end(expected, case["ends"]), case
