"""Heads that are too wide are refused before they are built."""

import pytest

import tf_adapt as ta
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.heads import size
from tf_adapt.heads.names import LSTM_HEADS
from tf_adapt.heads.table import build_head
from tf_adapt.models.kinds import KINDS

TASKS = {
    "bcn": ta.Task("classification", ["a", "b", "c"]),
    "esim": ta.Task("pair_regression"),
    "bilstm": ta.Task("tagging", ["O", "B-X", "I-X"]),
    "bilstm_crf": ta.Task("tagging", ["O", "B-X", "I-X"]),
}


@pytest.fixture(scope="module")
def encoder(shallow_bert):
    return HubEncoder(shallow_bert, pairs="separate", trainable=False)


def test_the_number_of_weights_is_that_of_the_built_head(encoder):
    assert set(TASKS) == set(LSTM_HEADS)
    for name, task in TASKS.items():
        inputs = KINDS[task.kind].inputs(encoder)
        encoded = [encoder(inputs[column]) for column in sorted(inputs)]
        head = build_head(name, task, "bert", True, units=7, joint=False)
        expected = size.weights_of_width(7, head, encoded, inputs["a"])
        head(encoded, inputs["a"])
        assert head.count_params() == expected, name


def test_a_head_that_does_not_fit_is_refused(encoder, monkeypatch):
    monkeypatch.setattr(size, "free_memory", lambda: 10**9)
    task = TASKS["bcn"]
    with pytest.raises(ConfigError, match=r"head_units: .* the 1.0 GB .* got 10,000, whose"):
        ta.build_model(task, encoder, head="bcn", head_units=10_000)
    with (
        size.at_most_weights(1_000),
        pytest.raises(ConfigError, match="at most the 1,000 weights that the run has, got 301"),
    ):
        ta.build_model(task, encoder, head="bcn", head_units=301)
