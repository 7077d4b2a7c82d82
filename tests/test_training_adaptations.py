"""What a config says of adaptation, optimizer, schedule and penalties reaches a run."""

import csv

import numpy as np
import pytest

from tf_adapt import checkpoints
from tf_adapt.config import config_from
from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.trained import fisher_of_run
from tf_adapt.training import train


@pytest.fixture(scope="module")
def make_config(tiny_elmo):
    def make(adaptation="fine_tuning", epochs=2, rate=1e-2, encoder=tiny_elmo, **sections):
        content = {
            "data": {
                "dataset": "sample_classification",
                "source": "sample",
                "train_examples": 64,
            },
            "encoder": {"handle": str(encoder)},
            "head": "linear",
            "adaptation": adaptation,
            "training": {"epochs": epochs, "batch_size": 16, "learning_rate": rate, "warmup": 0.0},
        }
        return config_from(content | sections, "test")

    return make


def moved(run, handle) -> dict[str, float]:
    """How far each layer group is from its module after the last epoch."""
    newest = sorted((run / "checkpoint").glob("checkpoint_*"))[-1]
    arrays = list(checkpoints.read(newest).arrays["model"].values())
    encoder = HubEncoder(handle)
    # The encoder's weights come first in the model's.
    after = dict(zip([id(w) for w in encoder.weights], arrays, strict=False))
    return {
        name: float(np.sqrt(sum(np.sum((after[id(w)] - w.numpy()) ** 2) for w in weights)))
        for name, weights in encoder.layer_groups
    }


def test_a_run_goes_through_its_phases(make_config, tiny_elmo, tmp_path, capsys):
    config = make_config({"name": "chain_thaw", "every": 1}, epochs=3)
    metrics = train(config, tmp_path / "run")
    assert metrics["adaptation"] == "chain_thaw"
    # What ever trains, although the run ended before all of it did.
    assert metrics["parameters"]["trainable"] == metrics["parameters"]["total"]
    printed = capsys.readouterr().err
    said = [line for line in printed.splitlines() if line.startswith("now training")]
    assert said == ["now training: head", "now training: char_cnn", "now training: lstm_0"]
    distance = moved(tmp_path / "run", tiny_elmo)
    assert distance["char_cnn"] > 0 and distance["lstm_0"] > 0 and distance["lstm_1"] == 0


def test_a_factor_of_zero_and_a_decay_reach_the_groups(make_config, tiny_elmo, tmp_path):
    factors = {"factors": {"char_cnn": 0.0, "lstm_1": 0.1}}
    train(make_config(optimizer=factors), tmp_path / "factors")
    distance = moved(tmp_path / "factors", tiny_elmo)
    assert distance["char_cnn"] == 0 and 0 < distance["lstm_1"] < distance["lstm_0"]
    with pytest.raises(ConfigError, match=r"^optimizer\.factors: .*lstm_0.*got 'lstm_9'"):
        train(make_config(optimizer={"factors": {"lstm_9": 0.1}}), tmp_path / "unknown")


@pytest.mark.slow
def test_a_penalty_keeps_the_encoder_where_it_started(make_config, tiny_elmo, tmp_path):
    sgd = {"optimizer": {"name": "sgd"}}
    train(make_config(rate=1e-1, **sgd), tmp_path / "free")
    l2_sp = {"penalties": {"l2_sp": {"alpha": 5.0, "beta": 0.0}}}
    train(make_config(rate=1e-1, **sgd, **l2_sp), tmp_path / "held")
    free, held = (sum(moved(tmp_path / name, tiny_elmo).values()) for name in ("free", "held"))
    assert 0 < held < 0.8 * free
    count = fisher_of_run(tmp_path / "free", tmp_path / "fisher.npz", examples=5)
    assert count == 5
    ewc = {"penalties": {"ewc": {"fisher": str(tmp_path / "fisher.npz"), "weight": 1000.0}}}
    train(make_config(rate=1e-1, **sgd, **ewc), tmp_path / "ewc")
    assert 0 < sum(moved(tmp_path / "ewc", tiny_elmo).values()) < free


@pytest.mark.slow
def test_a_phase_ends_by_patience_and_the_run_goes_on_from_the_best(make_config, tmp_path, capsys):
    # A rate so high that no epoch is better than the first for long.
    adaptation = {"name": "gradual_unfreezing", "every": 9, "patience": 1}
    train(make_config(adaptation, epochs=8, rate=3.0), tmp_path / "run")
    with (tmp_path / "run" / "history.csv").open() as file:
        scores = [float(row["dev_accuracy"]) for row in csv.DictReader(file)]
    expected, best, phase = [], -1.0, 0
    for score in scores:
        expected.append(phase)
        if score > best:
            best = score
        elif phase < 3:
            phase += 1
    printed = capsys.readouterr().err.splitlines()
    epochs = [line.split(":")[0] for line in printed if line.startswith(("now", "epoch"))]
    found, phase = [], -1
    for line in epochs:
        if line == "now training":
            phase += 1
        elif "," not in line:
            found.append(phase)
    assert found == expected and max(found) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["language_model", "distillation"])
def test_auxiliary_losses(make_config, tmp_path, kind):
    auxiliary = {"auxiliary": {kind: {"weight": 0.5}}}
    config = make_config(encoder="bert_small", epochs=1, rate=1e-4, **auxiliary)
    config = config.model_copy(
        update={"data": config.data.model_copy(update={"train_examples": 32})}
    )
    metrics = train(config, tmp_path / "run")
    assert np.isfinite(metrics["dev"]["loss"])
