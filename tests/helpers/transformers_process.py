"""What transformers computes of a folder, in an environment of its own."""

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

CHILD = Path(__file__).parents[1] / "children" / "transformers_states.py"


class Found(NamedTuple):
    """Ids and mask `[texts, time]` of its tokenizer, states `[layers, texts, time, width]`."""

    ids: np.ndarray
    mask: np.ndarray
    states: np.ndarray
    messages: str


def transformers_states(folder, texts: list[str], work: Path, *lora) -> Found:
    """States of texts; with a folder of PEFT's, with its LoRA. Skips without the environment."""
    python = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_ORACLES_PYTHON does not name an interpreter with transformers, peft")
    (work / "texts.json").write_text(json.dumps(texts))
    command = [python, CHILD, folder, work / "texts.json", work / "out.npz", *lora]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(work / "out.npz", allow_pickle=False) as theirs:
        return Found(theirs["ids"], theirs["mask"], theirs["states"], done.stderr)
