"""Language-model fine-tuning as a run of its own, and its encoder as a module again."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from adapted_encoders import adapted
from click.testing import CliRunner
from language_models import tiny_elmo_module, with_output_layer, without_dropout
from made_runs import make_run

import tf_adapt as ta
from hub_modules.load import load_module, load_output_layer
from tf_adapt.adaptation.fisher import load_fisher
from tf_adapt.commands.main import cli
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.models.language_model import build_language_model
from tf_adapt.training import callbacks as monitoring
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.module_export import export_module, module_source
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.run_fisher import fisher_of_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file
from tf_adapt.training.resolving.compiled_model import precision
from tf_adapt.training.train import train

# Their fixtures train.
pytestmark = pytest.mark.slow

SENTENCES = ["the cat is what", "a b c d e f g", "who is the", "b", "what is a dog", "c d , e"]


@pytest.fixture(scope="module")
def folder(shallow_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("language")
    with_output_layer(shallow_bert, folder / "bert")
    lines = [sentence for _ in range(5) for sentence in SENTENCES]
    (folder / "train.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "dev.txt").write_text("the cat is a dog\n\nwhat is b\n \nc d e f\n", "utf-8")
    return folder


def config_of(folder, module="bert", **changes):
    data = {"format": "text", "kind": "language_model", "skip_empty": True}
    settings = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2}
    content = {
        "objective": "language_model",
        "data": data | {split: str(folder / f"{split}.txt") for split in ("train", "dev")},
        "encoder": {"handle": str(folder / module)},
        "adaptation": "fine_tuning",
        "training": settings | changes,
    }
    return config_from(content, "test")


@pytest.fixture(scope="module")
def run(folder):
    train(config_of(folder), folder / "run")
    return folder / "run"


def test_a_run(run, folder):
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["metric"] == "perplexity"
    assert metrics["dev"]["perplexity"] == pytest.approx(np.exp(metrics["dev"]["loss"]), rel=1e-5)
    assert "2 empty lines skipped" in metrics["splits"]["dev"]
    assert "skipped" not in metrics["splits"]["train"]
    rows = list(csv.DictReader((run / "history.csv").open()))
    scores = [float(row["dev_perplexity"]) for row in rows]
    assert metrics["dev"]["perplexity"] == pytest.approx(min(scores))
    assert scores[1] < scores[0] and all(float(row["loss"]) > 0 for row in rows)
    assert not (run / "predictions").exists()
    again = evaluate_file(run, folder / "dev.txt")
    assert again["perplexity"] == pytest.approx(metrics["dev"]["perplexity"], rel=1e-5)


def test_the_lowest_perplexity_is_the_best(folder, tmp_path, monkeypatch):
    scores = iter([30.0, 20.0, None, 20.0, 25.0, 10.0])
    plain_numbers = monitoring.plain_numbers

    def scripted(values):
        numbers = plain_numbers(values)
        if "perplexity" in numbers and scripted.evaluations % 2:
            numbers["perplexity"] = next(scores)
        scripted.evaluations += 1
        return numbers

    scripted.evaluations = 0
    monkeypatch.setattr(monitoring, "plain_numbers", scripted)
    metrics = train(config_of(folder, epochs=6, patience=3, batch_size=30), tmp_path / "run")
    assert (metrics["best_epoch"], metrics["epochs"]) == (2, 5)
    assert metrics["dev"]["perplexity"] == 20.0


def test_half_precision(folder):
    with precision("bfloat16"):
        encoder = ta.HubEncoder(str(folder / "bert"))
        model = build_language_model(ta.Task("language_model"), encoder)
    inputs, _ = next(iter(ta.batches(SENTENCES, model.task, encoder)))
    losses = model(inputs, training=True)
    assert losses.dtype == tf.float32
    assert 1 < float(tf.reduce_mean(losses[losses >= 0])) < 7


def test_an_empty_line_is_refused_unless_asked_for(folder, tmp_path):
    config = config_of(folder)
    data = config.data.model_copy(update={"skip_empty": False})
    with pytest.raises(DataError, match=r"dev\.txt:2: expected a text, got an empty line"):
        train(config.model_copy(update={"data": data}), tmp_path / "run")
    (tmp_path / "blank.txt").write_text(" \n\n")
    data = config.data.model_copy(update={"train": str(tmp_path / "blank.txt")})
    with pytest.raises(DataError, match="no examples in this file"):
        train(config.model_copy(update={"data": data}), tmp_path / "run")


@pytest.mark.large
def test_its_fisher_information_is_that_of_the_log_probability_of_the_text(folder, tmp_path):
    tiny_elmo_module(folder / "elmo")
    train(config_of(folder, "elmo", epochs=1), tmp_path / "run")
    count = fisher_of_run(tmp_path / "run", tmp_path / "fisher.npz", examples=2, sampled=False)
    found = load_fisher(tmp_path / "fisher.npz")
    model = load_run(tmp_path / "run")
    weight = model.encoder.native.weights_by_name()["lstm_1/forward/projection"]
    texts = ta.batches(SENTENCES[:2], model.task, model.encoder, batch_size=1, shuffle=False)

    def log_probability(inputs, value):
        weight.assign(value)
        losses = model(inputs, training=False).numpy().astype("float64")
        return -losses[losses >= 0].sum()

    start, slopes = weight.numpy(), []
    for inputs, _ in texts:
        for index in np.ndindex(3, 2):
            step = np.zeros_like(start)
            step[index] = 1e-2
            ends = [log_probability(inputs, start + sign * step) for sign in (1, -1)]
            slopes.append((ends[0] - ends[1]) / 2e-2)
    expected = np.mean(np.square(slopes).reshape(2, 3, 2), axis=0)
    assert count == 2 and expected.max() > 1e-4
    got = found["lstm_1/forward/projection"][:3, :2]
    np.testing.assert_allclose(got, expected, rtol=0.02, atol=1e-5)
    with pytest.raises(ConfigError, match="given-labels.* for a language model"):
        fisher_of_run(tmp_path / "run", tmp_path / "other.npz")


def test_a_language_model_has_no_answers(run, folder, tmp_path):
    with pytest.raises(ConfigError, match="predicts no labels.*module export"):
        predict_file(run, folder / "dev.txt", tmp_path / "out")
    with pytest.raises(ConfigError, match="predicts no labels"):
        export_run(run, tmp_path / "export")
    model = load_run(run)
    with pytest.raises(ConfigError, match="predicts no labels"):
        ta.predict(model, ["a b"])
    with pytest.raises(ConfigError, match="predicts no labels"):
        ta.export(model, tmp_path / "export")


@pytest.mark.parametrize("family", ["bert", "lstm"])
def test_l2_sp_leaves_the_output_layer_free(family, folder, tiny_lstm):
    module = tiny_lstm if family == "lstm" else folder / "bert"
    model = build_language_model(ta.Task("language_model"), ta.HubEncoder(module))
    ta.l2_sp(model, model.encoder, alpha=1.0, beta=1.0)
    # At the start nothing pulls: there are no new weights.
    assert float(sum(model.losses)) == 0


def outputs(module_or_encoder, preprocessor):
    inputs = preprocessor.pack([preprocessor.tokenize(tf.constant(["the cat is b", "a"]))])
    return module_or_encoder(inputs)


def test_the_encoder_as_a_module_again(run, folder, tmp_path):
    command = ["module", "export", str(run), "--out", str(tmp_path / "module")]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    with pytest.raises(ArtifactError, match="does not exist yet"):
        export_module(run, tmp_path / "module")
    model, exported = load_run(run), load_module(tmp_path / "module")
    before = load_module(model.encoder.handle)
    expected = outputs(model.encoder, model.encoder.preprocessor)
    for way in (exported, load_module(tmp_path / "module", execution="saved_model")):
        got = outputs(way.encoder, way.preprocessor)
        layers = zip(got["layers"], expected["layers"][-len(got["layers"]) :], strict=True)
        mask = expected["mask"].numpy()
        for one, other in layers:
            np.testing.assert_allclose(one.numpy()[mask], other.numpy()[mask], atol=1e-6)
    assert exported.hash != before.hash
    moved = outputs(before.encoder, before.preprocessor)["layers"][-1]
    assert np.abs(moved - expected["layers"][-1]).max() > 1e-3
    layer, words = load_output_layer(tmp_path / "module", exported.encoder)
    trained = model.head.output_layer.weights_by_name()
    for name, weight in layer.weights_by_name().items():
        np.testing.assert_array_equal(weight.numpy(), trained[name].numpy())
    assert words == getattr(model.head, "words", None)
    # Another run starts where this one ended.
    task = ta.Task("language_model")
    again = build_language_model(task, ta.HubEncoder(tmp_path / "module"))
    again.compile(loss=task.loss, metrics=task.metrics, jit_compile=False)
    lines = [line for line in (folder / "dev.txt").read_text().split("\n") if line.strip()]
    scores = again.evaluate(
        ta.batches(lines, task, again.encoder, shuffle=False), verbose=0, return_dict=True
    )
    metrics = json.loads((run / "metrics.json").read_text())
    assert scores["perplexity"] == pytest.approx(metrics["dev"]["perplexity"], rel=1e-5)


def test_a_task_tuned_encoder_leaves_the_stale_output_layer_behind(folder, tmp_path):
    model = load_run(make_run(tmp_path / "run", folder / "bert", "classification"))
    source, expected = module_source(model), model.encoder.native.weights_by_name()
    assert source.weights.keys() == expected.keys()
    for name, weight in expected.items():
        np.testing.assert_array_equal(source.weights[name], weight.numpy())
    assert source.output_layer is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "task"}, "objective: expected language_model together with data.format: te"),
        ({"objective": "lm"}, "objective: expected task or language_model, got 'lm'"),
        ({"head": "linear"}, "head: a language model has its module's own output layer"),
        ({"auxiliary": {"distillation": {"weight": 1.0}}}, "auxiliary.distillation: expected null"),
        ({"head_units": 3}, "head_units: a language model has"),
        ({"head_word_pieces": "mean"}, "head_word_pieces: a language model has"),
        (
            {"data": {"dataset": "sample_tagging", "source": "sample"}},
            "objective: expected languag",
        ),
        ({"data": {"format": "text", "kind": "tagging", "train": "a", "dev": "b"}}, "data.kind"),
    ],
)
def test_configs_that_contradict_themselves(folder, changes, message):
    with pytest.raises(ConfigError, match=message):
        config_from(config_of(folder).model_dump() | changes, "test")


def test_an_encoder_with_adapters_is_no_module(tiny_bert):
    encoder = adapted(ta.adapters(size=2), tiny_bert)
    model = ta.build_model(ta.Task("classification", labels=["a", "b"]), encoder)
    with pytest.raises(ConfigError, match="no place for adapters.*save_adapters"):
        module_source(model)


def test_a_black_box_is_refused(tiny_program):
    encoder = ta.HubEncoder(tiny_program, execution="saved_model")
    with pytest.raises(ConfigError, match="needs the native encoder, got execution: saved_model"):
        build_language_model(ta.Task("language_model"), encoder)


@pytest.mark.large
def test_two_devices_equal_one(tiny_bert, tmp_path):
    bert = without_dropout(with_output_layer(tiny_bert, tmp_path / "bert"))
    tiny_elmo_module(tmp_path / "elmo")
    child = Path(__file__).parents[1] / "children" / "distribution_language.py"
    finished = subprocess.run(
        [sys.executable, str(child), str(bert), str(tmp_path / "elmo")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    results = json.loads(finished.stdout.strip().splitlines()[-1])
    assert len(results) == 4
    for name, result in results.items():
        one, two = result["one"], result["two"]
        np.testing.assert_allclose(two["weights"], one["weights"], atol=2e-5, err_msg=name)
        for scores in ("fit", "evaluate"):
            for metric, value in one[scores].items():
                assert two[scores][metric] == pytest.approx(value, rel=1e-4), (name, metric)
