"""What a config says of adaptation, optimizer, schedule and penalties reaches a run."""

import numpy as np
import pytest
from click.testing import CliRunner
from language_models import with_output_layer
from made_runs import make_run

from tf_adapt.adaptation.fisher import load_fisher
from tf_adapt.commands.main import cli
from tf_adapt.config.reading import config_from
from tf_adapt.encoder.adapter_files import load_adapters
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ConfigError
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.module_export import export_adapters, export_module
from tf_adapt.training.finished.run_fisher import fisher_of_run
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.train import train

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


def test_factors_reach_the_groups(make_config):
    factors = {"factors": {"char_cnn": 0.0, "lstm_1": 0.1}}
    rates = dry_run(make_config(optimizer=factors))["plan"][0]["rates"]
    head = rates["head"]
    assert rates == pytest.approx(
        {"char_cnn": 0, "lstm_0": head, "lstm_1": 0.1 * head, "head": head}
    )
    with pytest.raises(ConfigError, match=r"^optimizer\.factors: .*lstm_0.*got 'lstm_9'"):
        dry_run(make_config(optimizer={"factors": {"lstm_9": 0.1}}))


def test_fisher_information_of_a_run_is_a_penalty(
    make_config, finished_run, shallow_bert, tmp_path
):
    """½ · weight · Σ F (w − w⁰)²"""
    file = tmp_path / "fisher.npz"
    assert fisher_of_run(finished_run(), file, examples=5) == 5
    ewc = {"penalties": {"ewc": {"fisher": str(file), "weight": 1000.0}}}
    model = build_parts(make_config(encoder=shallow_bert, **ewc)).model
    assert float(sum(model.losses)) == 0
    name = "layer_0/attention/query/kernel"
    kernel, fisher = pretrained_weights(model.encoder)[name], load_fisher(file)[name]
    kernel.assign_add(np.full(kernel.shape, 0.5))
    expected = 0.5 * 1000 * 0.25 * fisher.sum()
    assert float(sum(model.losses)) == pytest.approx(expected, rel=1e-4) and expected > 0


@pytest.mark.parametrize("kind", ["language_model", "distillation"])
def test_auxiliary_losses(make_config, tiny_bert, tmp_path, kind):
    auxiliary = {"auxiliary": {kind: {"weight": 0.5}}}
    module = with_output_layer(tiny_bert, tmp_path / "bert")
    parts = build_parts(make_config(encoder=module, **auxiliary))
    inputs, _ = parts.data["train"].batch(np.arange(8))
    _, loss = parts.model(inputs, training=True, with_auxiliaries=True)
    assert np.isfinite(float(loss)) and float(loss) > 0


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


@pytest.fixture(scope="module")
def added(make_config, tiny_bert, tmp_path_factory):
    """Name → a finished run with what an adaptation adds."""
    made = {}

    def run_of(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp("added") / name
            train(make_config(ADDED[name][0], epochs=1, encoder=tiny_bert), made[name])
        return made[name]

    return run_of


@pytest.mark.parametrize("name", ADDED)
def test_a_run_trains_what_its_adaptation_adds_and_nothing_else(name, added, tiny_bert, tmp_path):
    run, expected = added(name), ADDED[name][1]
    model = load_run(run)
    named = model.encoder.native.weights_by_name()
    start = HubEncoder(tiny_bert).native.weights_by_name()
    moved = {n for n in named if n not in start or not np.array_equal(named[n], start[n])}
    assert moved == expected
    own = sum(int(np.prod(named[n].shape)) for n in expected)
    head = sum(int(np.prod(weight.shape)) for weight in model.head.trainable_weights)
    metrics = run_folder.finished_metrics(run)
    assert metrics["parameters"]["trainable"] == own + head
    module, peft, file = tmp_path / "module", tmp_path / "peft", tmp_path / "new" / "task.npz"
    arguments = ["module", "export", str(run), "--adapters", "--out", str(file)]
    done = CliRunner().invoke(cli, arguments)
    assert (done.exit_code, done.stdout) == (0, f"adapters: {file}\n"), done.output
    same = HubEncoder.from_config(model.encoder.get_config())
    load_adapters(same, file)
    for one, other in zip(same(TEXTS)["layers"], model.encoder(TEXTS)["layers"], strict=True):
        np.testing.assert_array_equal(one, other)
    if name == "adapters":
        with pytest.raises(ConfigError, match="no place for adapters"):
            export_module(run, module)
        refused = CliRunner().invoke(cli, [*arguments, "--stored-as", "float16"])
        assert refused.exit_code == 2 and "--stored-as is for a whole module" in refused.output
        return
    done = CliRunner().invoke(cli, [*arguments[:-1], str(peft), "--format", "huggingface"])
    assert done.exit_code == 0, done.output
    assert {path.name for path in peft.iterdir()} == {
        "README.md", "adapter_config.json", "adapter_model.safetensors",
    }  # fmt: skip
    assert "PeftModel.from_pretrained(" in (peft / "README.md").read_text("utf-8")
    export_module(run, module)
    plain = HubEncoder(module)
    assert plain.native.weights_by_name().keys() == start.keys()
    got, wanted = plain(TEXTS)["layers"][-1], model.encoder(TEXTS)["layers"][-1]
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_a_file_of_adapters_needs_a_run_that_has_some_on_its_module(
    finished_run, tiny_bert, tmp_path
):
    with pytest.raises(ConfigError, match="expected one with adapters, LoRA or BitFit"):
        export_adapters(finished_run(), tmp_path / "task.npz")
    # With other weights than the module's.
    run = make_run(tmp_path / "on", tiny_bert, "classification", adaptation="lora")
    with pytest.raises(ConfigError, match="or the run started from another one"):
        export_adapters(run, tmp_path / "task.npz")
    assert not (tmp_path / "task.npz").exists()


def test_encoders_that_cannot_have_it_are_named(make_config, tiny_bert, tiny_elmo, tmp_path):
    lora = {"name": "lora", "in_layers": [2]}
    with pytest.raises(ConfigError, match=r"adaptation.in_layers .* from 0 to 1, .*got \[2\]"):
        train(make_config(lora, encoder=tiny_bert), tmp_path / "a")
    with pytest.raises(
        ConfigError, match="lora: expected .*have a place for it, got the family elmo"
    ):
        train(make_config("lora", encoder=tiny_elmo), tmp_path / "b")
    black_box = {"handle": "elmo_small", "execution": "saved_model"}
    config = config_from(make_config("lora").model_dump() | {"encoder": black_box}, "test")
    with pytest.raises(ConfigError, match="lora needs the native encoder.*inside"):
        train(config, tmp_path / "c")
