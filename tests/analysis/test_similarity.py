"""The cosine of two texts against NumPy on the states of single texts, and its command.

(A process that fails: comparison/test_baselines.py.)
"""

import json

import numpy as np
import pytest

from tf_adapt.analysis.similarity import text_similarities
from tf_adapt.commands.similarity import write_similarities
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.serving.prediction.predict import encode

FIRST, SECOND = ["who is ann?", "the", "is the a"], ["the", "who is ann?", "is the a"]


@pytest.mark.parametrize("module, ends", [("shallow_bert", 1), ("tiny_elmo", 0)])
def test_the_cosine_of_mean_states(module, ends, request):
    encoder = HubEncoder(request.getfixturevalue(module), trainable=False)
    # Without [CLS] and [SEP].
    states = [
        [text[ends : len(text) - ends].mean(0) for text in encode(encoder, side, layer=-1)]
        for side in (FIRST, SECOND)
    ]
    expected = [u @ v / np.sqrt(u @ u * (v @ v)) for u, v in zip(*states, strict=True)]
    found = text_similarities(encoder, FIRST, SECOND)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found[2] == pytest.approx(1)


@pytest.mark.slow
def test_the_command_writes_them(shallow_bert, tmp_path):
    config, out = tmp_path / "config.yaml", tmp_path / "out.json"
    config.write_text(
        "data: {dataset: sample_pair_regression, source: sample}\n"
        f"encoder: {{handle: {shallow_bert}}}\nadaptation: fine_tuning\n"
        "training: {epochs: 1, batch_size: 8, learning_rate: 1.0e-3}\n",
        "utf-8",
    )
    write_similarities(str(config), "dev", str(out))
    values = json.loads(out.read_text("utf-8"))
    assert len(values) > 10 and np.ptp(values) > 0 and np.abs(values).max() <= 1
