"""Runs that somebody else made: what their weights and their task cannot be."""

import keras
import numpy as np
import pytest

import tf_adapt as ta
from tf_adapt.analysis.sources import Source, encoders
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import checkpoints
from tf_adapt.serving.prediction.predict import to_predictions
from tf_adapt.training.resolving import run_config


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a8_weights_that_are_not_finite(value):
    weights = [keras.Variable([1.0, 2.0]), keras.Variable([3])]
    arrays = {"0": np.array([0.0, value], "float32"), "1": weights[1].numpy()}
    with pytest.raises(ArtifactError, match="best: .*: expected finite numbers, got others"):
        checkpoints.assign(weights, arrays, "best")
    np.testing.assert_array_equal(weights[0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (
            ta.Task("classification", ["a", "b"]),
            {"label": np.array([0]), "probabilities": np.full((1, 2), np.nan)},
        ),
        (ta.Task("multilabel_classification", ["a"]), {"probabilities": np.array([[np.nan]])}),
        (ta.Task("regression"), {"score": np.array([np.nan])}),
    ],
)
def test_n1_answers_that_are_no_numbers_have_no_label(task, answer):
    with pytest.raises(ArtifactError, match=r"expected numbers, got .* that are none \(NaN\)"):
        to_predictions(task, ["a text"], answer)


@pytest.mark.parametrize("label", ["a\tb", "a\nb", "a\r", "a\0"])
def test_a_label_that_would_break_a_table(label):
    with pytest.raises(ConfigError, match=r"labels\[1\]: expected a text without tabs and line"):
        ta.Task("classification", ["x", label])


@pytest.mark.slow
def test_a_module_that_only_a_run_names_is_not_fetched(finished_run, tmp_path, monkeypatch):
    config = run_config.saved_config(finished_run())
    encoder = config.encoder.model_copy(update={"handle": "https://localhost:9/bert/4"})
    config = config.model_copy(update={"encoder": encoder})
    monkeypatch.setattr(run_config, "saved_config", lambda folder: config)
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    with pytest.raises(ArtifactError, match="it is not on this machine.* --trust"):
        ta.load_run(finished_run())
    with pytest.raises(ArtifactError, match="cannot be fetched"):
        ta.load_run(finished_run(), trust=True)
    with pytest.raises(ArtifactError, match="it is not on this machine"):
        next(encoders(Source(config, finished_run())))
    with pytest.raises(ArtifactError, match="cannot be fetched"):
        next(encoders(Source(config, None)))
