"""What a run has forgotten: measured after every kind of adaptation; wrong configs."""

import math

import numpy as np
import pytest
from click.testing import CliRunner
from language_models import tiny_elmo_module, with_output_layer

import tf_adapt as ta
from hub_modules.native.added.lora import merged
from tf_adapt.commands.main import cli
from tf_adapt.config.checks import adaptation_of
from tf_adapt.config.reading import config_from, dump_config
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.models.language_model import build_language_model
from tf_adapt.models.source_task import source_loss
from tf_adapt.runs import run_folder
from tf_adapt.tasks.task import Task
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.run_cards import run_card
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.resolving.input_hashes import input_hashes
from tf_adapt.training.resolving.warm_start import starting_run
from tf_adapt.training.results import forgetting as measuring
from tf_adapt.training.results.forgetting import source_task_of
from tf_adapt.training.train import train

# Nearly every one builds two encoders or more.
pytestmark = pytest.mark.slow

TEXTS = ["who is the cat ?", "a b c d e f g h the what is", "what is of the time", "e f g a"]
LORA = {"name": "lora", "rank": 2}


@pytest.fixture(scope="module")
def folder(shallow_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("forgetting")
    with_output_layer(shallow_bert, folder / "bert")
    (folder / "held.txt").write_text("\n\n".join(TEXTS * 3) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def make_config(folder):
    def make(adaptation="fine_tuning", handle=None, rate=1e-2, encoder=None, **more):
        content = {
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 32},
            "encoder": {"handle": str(handle or folder / "bert")} | (encoder or {}),
            "adaptation": adaptation,
            "head": "linear",
            "training": {"epochs": 1, "batch_size": 16, "learning_rate": rate},
            "forgetting": {"text": str(folder / "held.txt")},
        }
        return config_from(content | more, "test")

    return make


@pytest.fixture(scope="module")
def run(make_config, tmp_path_factory):
    """A finished run."""
    run = tmp_path_factory.mktemp("runs") / "run"
    train(make_config(), run)
    return run


def moved_encoder(config, start=None):
    """The encoder of a run, whose trained weights are others than at first."""
    encoder = build_parts(config, start).model.encoder
    random = np.random.default_rng(2)
    for weight in encoder.trainable_weights:
        weight.assign_add(random.normal(0, 0.05, weight.shape))
    return encoder


def measured(config, encoder):
    section, adaptation = config.encoder, adaptation_of(config.adaptation)
    return source_task_of(config.forgetting, section, adaptation, encoder).measured(encoder)


def prepared(encoder):
    return prepare(TEXTS * 3, Task("language_model"), encoder)


def evaluated(encoder):
    """The mean loss by the evaluation of a language model, as it was before."""
    model = build_language_model(Task("language_model"), encoder)
    model.compile(loss=model.task.loss, metrics=model.task.metrics)
    texts = ta.batches(TEXTS * 3, model.task, encoder, batch_size=5, shuffle=False)
    return math.log(model.evaluate(texts, return_dict=True, verbose=0)["perplexity"])


def test_a_frozen_encoder_forgets_nothing_and_is_asked_once(make_config, monkeypatch):
    asked = []

    def counted(*given):
        asked.append(given)
        return source_loss(*given)

    monkeypatch.setattr(measuring, "source_loss", counted)
    config = make_config("feature_extraction")
    found = measured(config, moved_encoder(config))
    assert len(asked) == 1
    assert found["after"] == found["before"]
    assert set(found["distances"].values()) == {0.0}
    assert (found["texts"], found["truncated"]) == (12, 0)


@pytest.mark.parametrize("adaptation", [LORA, "adapters"], ids=["lora", "adapters"])
def test_after_adaptation(make_config, folder, adaptation):
    config = make_config(adaptation)
    adapted, pretrained = moved_encoder(config), ta.HubEncoder(str(folder / "bert"))
    found = measured(config, adapted)
    assert found["before"] == pytest.approx(evaluated(pretrained), rel=1e-6)
    # With LoRA and adapters in place.
    assert found["after"] == pytest.approx(source_loss(adapted, prepared(adapted))[0], rel=1e-6)
    assert found["after"] != found["before"]
    moved, size = {}, {}
    with merged(adapted.native):
        now = pretrained_weights(adapted)
        for name, weight in pretrained_weights(ta.HubEncoder(str(folder / "bert"))).items():
            group = name.split("/")[0]
            moved[group] = moved.get(group, 0) + np.square(now[name] - weight.numpy()).sum()
            size[group] = size.get(group, 0) + np.square(weight.numpy()).sum()
    expected = {name: math.sqrt(moved[name] / size[name]) for name in size}
    expected["all"] = math.sqrt(sum(moved.values()) / sum(size.values()))
    assert found["distances"] == pytest.approx(expected, rel=1e-4, abs=1e-9)
    assert found["distances"]["layer_0"] > 0


def test_it_is_in_the_metrics_of_a_run(run, make_config):
    found = run_folder.finished_metrics(run)["forgetting"]
    expected = measured(make_config(), load_run(run).encoder)
    assert found["before"] != found["after"]
    assert found.pop("distances") == pytest.approx(expected.pop("distances"))
    assert found == pytest.approx(expected)


def test_of_a_run_that_starts_from_another_it_is_the_modules_task(run, make_config):
    found = run_folder.finished_metrics(run)["forgetting"]
    config = make_config("feature_extraction", start={"run": str(run), "head": False})
    again = measured(config, moved_encoder(config, starting_run(config)))
    assert again.pop("distances") == pytest.approx(found["distances"])
    assert again == pytest.approx({key: found[key] for key in again})


def test_of_several_tasks_it_is_that_of_their_encoder(make_config):
    data = {"source": "sample", "train_examples": 16}
    tasks = {
        "questions": {"data": data | {"dataset": "sample_classification"}},
        "names": {"data": data | {"dataset": "sample_tagging"}, "head": "linear_tagger"},
    }
    config = make_config(data=None, head="default", tasks=tasks, target="questions")
    dry_run(config)
    adapted = moved_encoder(config)
    found = measured(config, adapted)
    assert found["after"] == pytest.approx(source_loss(adapted, prepared(adapted))[0], rel=1e-6)
    assert found["after"] != found["before"] and found["distances"]["layer_0"] > 0


def test_the_command_and_the_card_say_it(run, make_config, tmp_path):
    found = run_folder.finished_metrics(run)["forgetting"]
    (tmp_path / "run.yaml").write_text(dump_config(make_config()), "utf-8")
    done = CliRunner().invoke(cli, ["train", str(tmp_path / "run.yaml"), "--out", str(run)])
    assert done.exit_code == 0, done.output
    expected = (
        f"masked language model loss {found['before']:.4f} before adaptation, "
        f"{found['after']:.4f} after"
    )
    assert f"forgetting: {expected}" in done.output
    assert f"- {expected}" in run_card(run)


def test_wrong_configs(make_config, folder, shallow_bert, tiny_program, tmp_path):
    with pytest.raises(ConfigError, match=r"^forgetting: expected a module with the output layer"):
        train(make_config(handle=shallow_bert), tmp_path / "run")
    (tmp_path / "vectors.txt").write_text("the 0.1 0.2\ncat 0.3 0.4\n", "utf-8")
    with pytest.raises(ConfigError, match=r"got module .*vectors\.txt of the family words"):
        dry_run(make_config(handle=tmp_path / "vectors.txt"))
    with pytest.raises(ConfigError, match="expected encoder.execution: native, got saved_model"):
        dry_run(make_config(handle=tiny_program, encoder={"execution": "saved_model"}))
    with pytest.raises(ConfigError, match="forgetting: expected null with encoder.pretrained"):
        make_config(encoder={"pretrained": False})
    with pytest.raises(ConfigError, match="forgetting: expected a section with text"):
        make_config(forgetting=True)
    with pytest.raises(ConfigError, match=r"forgetting\.text: .*missing"):
        make_config(forgetting={})
    for text, error in ((folder / "none.txt", DataError), (tmp_path / "empty.txt", DataError)):
        (tmp_path / "empty.txt").write_text("\n \n", "utf-8")
        with pytest.raises(error, match=text.name):
            dry_run(make_config(forgetting={"text": str(text)}))


def test_another_text_is_another_run(make_config, tmp_path):
    text = tmp_path / "held.txt"
    text.write_text("the cat\n", "utf-8")
    config = make_config(forgetting={"text": str(text)})
    with pytest.raises(DataError, match="expected text of which words are predicted, got 1 lines"):
        measured(config, moved_encoder(config))  # two pieces, none of them masked
    before = input_hashes(config)
    text.write_text("the cat is what\n" * 20, "utf-8")
    after = input_hashes(config)
    assert {key for key in before if before[key] != after[key]} == {"forgetting.text"}


def test_a_language_model_and_the_other_families(folder, shallow_causal, make_config):
    tiny_elmo_module(folder / "elmo")
    text = {"format": "text", "kind": "language_model", "skip_empty": True}
    text |= {split: str(folder / "held.txt") for split in ("train", "dev")}
    for task, config in (
        ("bidirectional_language_model", make_config(handle=folder / "elmo")),
        ("causal_language_model", make_config(handle=shallow_causal)),
        (
            "masked_language_model",
            make_config(objective="language_model", data=text, head="default"),
        ),
    ):
        found = measured(config, moved_encoder(config))
        assert found["task"] == task and found["after"] != found["before"]
