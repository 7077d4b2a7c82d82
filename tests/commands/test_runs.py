"""Runs through the command line."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from hub_modules.sources import tf1_elmo
from tf_adapt.commands.main import cli
from tf_adapt.serving.prediction.predict import predict
from tf_adapt.training.finished.load_run import load_run


def run(*arguments) -> str:
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.large
def test_an_elmo_in_tf_hubs_first_format_is_tuned_on_a_tagging_task(reference, tmp_path):
    module, folder = reference / "tf1_hub_elmo" / "module", tmp_path / "run"
    settings = {
        "encoder.handle": module,
        "encoder.trust": "true",
        "data.train_examples": 32,
        "training.epochs": 1,
    }
    sets = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    run("train", "configs/names.yaml", *sets, "--out", folder)
    model = load_run(folder)
    assert (model.encoder.family, model.encoder.execution) == ("elmo", "native")
    stored = tf1_elmo.read(module).weights
    tuned = model.encoder.native.weights_by_name()
    still = [name for name, array in stored.items() if np.array_equal(tuned[name], array)]
    # Adam moves a weight of any gradient by about the learning rate.
    assert still == []

    words = tmp_path / "words.txt"
    words.write_text("Ann\nlives\nin\nParis\n\nNo\n.\n", "utf-8")
    run("export", folder, "--out", tmp_path / "export")
    found = {}
    for answering in (folder, tmp_path / "export" / "1"):
        output = tmp_path / f"{answering.name}.jsonl"
        run("predict", answering, "--input", words, "--output", output)
        found[answering.name] = [json.loads(line) for line in output.read_text().splitlines()]
    expected = predict(model, [["Ann", "lives", "in", "Paris"], ["No", "."]])
    for answers in found.values():
        assert [tuple(one["tags"]) for one in answers] == [one.label for one in expected]
        for one, right in zip(answers, expected, strict=True):
            np.testing.assert_allclose(one["scores"], right.scores, atol=1e-5)
