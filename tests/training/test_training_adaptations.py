"""What a config says of adaptation, optimizer, schedule and penalties reaches a run."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner
from language_models import with_output_layer

from tf_adapt.commands.main import cli
from tf_adapt.config.reading import config_from
from tf_adapt.encoder.adapter_files import load_adapters
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.runs import checkpoints
from tf_adapt.training.load_run import load_run
from tf_adapt.training.module_export import export_adapters, export_module
from tf_adapt.training.train import train
from tf_adapt.training.trained_run import fisher_of_run

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

TEXTS = ["what is the name", "who"]


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


@pytest.mark.parametrize("kind", ["language_model", "distillation"])
def test_auxiliary_losses(make_config, tiny_bert, tmp_path, kind):
    auxiliary = {"auxiliary": {kind: {"weight": 0.5}}}
    module = with_output_layer(tiny_bert, tmp_path / "bert")
    config = make_config(encoder=module, epochs=1, rate=1e-4, **auxiliary)
    config = config.model_copy(
        update={"data": config.data.model_copy(update={"train_examples": 32})}
    )
    metrics = train(config, tmp_path / "run")
    assert np.isfinite(metrics["dev"]["loss"])


ADDED = {
    "lora": (
        {"name": "lora", "rank": 2, "target": ["value", "output"], "in_layers": [1]},
        {f"layer_1_{target}_lora/{n}" for target in ("value", "output") for n in "ab"},
    ),
    "adapters": (
        {"name": "adapters", "size": 3, "in_layers": [1], "activation": "relu"}
        | {"operation": "convolution"},
        {
            f"layer_1/{place}_{part}"
            for place in ("attention", "output")
            for part in (
                *(f"adapter/{way}/{n}" for way in ("down", "up") for n in ("kernel", "bias")),
                *(f"layer_norm/{n}" for n in ("gamma", "beta")),
            )
        },
    ),
}


@pytest.mark.parametrize("name", ADDED)
def test_a_run_trains_what_its_adaptation_adds_and_nothing_else(
    name, make_config, tiny_bert, tmp_path
):
    adaptation, expected = ADDED[name]
    config = make_config(adaptation, epochs=1, encoder=tiny_bert)
    metrics = train(config, tmp_path / "run")
    model = load_run(tmp_path / "run")
    named = model.encoder.native.weights_by_name()
    start = HubEncoder(tiny_bert).native.weights_by_name()
    moved = {n for n in named if n not in start or not np.array_equal(named[n], start[n])}
    assert moved == expected
    own = sum(int(np.prod(named[n].shape)) for n in expected)
    head = sum(int(np.prod(weight.shape)) for weight in model.head.trainable_weights)
    assert metrics["parameters"]["trainable"] == own + head
    rows = [*csv.DictReader((tmp_path / "run" / "history.csv").open())]
    assert len(rows) == 1
    module = tmp_path / "module"
    file = export_adapters(tmp_path / "run", tmp_path / "task.npz")
    same = HubEncoder.from_config(model.encoder.get_config())
    load_adapters(same, file)
    for one, other in zip(same(TEXTS)["layers"], model.encoder(TEXTS)["layers"], strict=True):
        np.testing.assert_array_equal(one, other)
    if name == "adapters":
        with pytest.raises(ConfigError, match="no place for adapters"):
            export_module(tmp_path / "run", module)
        return
    export_module(tmp_path / "run", module)
    plain = HubEncoder(module)
    assert plain.native.weights_by_name().keys() == start.keys()
    got, wanted = plain(TEXTS)["layers"][-1], model.encoder(TEXTS)["layers"][-1]
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_the_adapters_of_a_run_are_a_file_by_command(make_config, tiny_bert, tmp_path):
    train(make_config("bitfit", epochs=1, encoder=tiny_bert), tmp_path / "run")
    file = tmp_path / "new" / "biases.npz"
    arguments = ["module", "export", str(tmp_path / "run"), "--adapters", "--out", str(file)]
    done = CliRunner().invoke(cli, arguments)
    assert (done.exit_code, done.stdout) == (0, f"adapters: {file}\n"), done.output
    refused = CliRunner().invoke(cli, [*arguments, "--stored-as", "float16"])
    assert refused.exit_code == 2 and "--stored-as is for a whole module" in refused.output
    model, encoder = load_run(tmp_path / "run"), HubEncoder(tiny_bert, bitfit=True)
    untuned = encoder(TEXTS)["layers"][-1]
    load_adapters(encoder, file)
    wanted = model.encoder(TEXTS)["layers"][-1]
    np.testing.assert_array_equal(encoder(TEXTS)["layers"][-1], wanted)
    assert np.abs(untuned - wanted).max() > 1e-3


def test_a_file_of_adapters_needs_a_run_that_has_some_on_its_module(
    make_config, tiny_bert, tmp_path
):
    train(make_config(epochs=1, encoder=tiny_bert), tmp_path / "tuned")
    with pytest.raises(ConfigError, match="expected one with adapters, LoRA or bitfit"):
        export_adapters(tmp_path / "tuned", tmp_path / "task.npz")
    start = {"start": {"run": str(tmp_path / "tuned")}}
    train(make_config("lora", epochs=1, encoder=tiny_bert, **start), tmp_path / "on")
    with pytest.raises(ConfigError, match="as of a run that started from another one"):
        export_adapters(tmp_path / "on", tmp_path / "task.npz")
    assert not (tmp_path / "task.npz").exists()


def test_encoders_that_cannot_have_it_are_named(make_config, tiny_bert, tiny_elmo, tmp_path):
    lora = {"name": "lora", "in_layers": [2]}
    with pytest.raises(ConfigError, match=r"adaptation.in_layers .* from 0 to 1, .*got \[2\]"):
        train(make_config(lora, encoder=tiny_bert), tmp_path / "a")
    with pytest.raises(ConfigError, match="lora: expected an encoder of transformer.*got an elmo"):
        train(make_config("lora", encoder=tiny_elmo), tmp_path / "b")
    black_box = {"handle": "bert_small", "execution": "saved_model"}
    config = config_from(make_config("lora").model_dump() | {"encoder": black_box}, "test")
    with pytest.raises(ConfigError, match=r"lora=Lora\(rank=8.* needs the native encoder.*inside"):
        train(config, tmp_path / "c")
