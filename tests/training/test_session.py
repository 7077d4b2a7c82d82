"""Runs of one process that share data, model and traced steps: the same bits as runs alone."""

import json
import shutil

import keras
import numpy as np
import pytest
from random_modules import write_random_module

from tf_adapt.config.reading import config_from
from tf_adapt.encoder.starting_point import StartingPoint
from tf_adapt.runs import checkpoints
from tf_adapt.training import epochs as training_epochs
from tf_adapt.training.session import Session
from tf_adapt.training.state import save_state
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

CASES = {
    "gradual_unfreezing": {"adaptation": {"name": "gradual_unfreezing"}},
    "feature_extraction": {"adaptation": "feature_extraction"},
    "untrained": {"encoder": {"pretrained": False}, "adaptation": "feature_extraction"},
    "chain_thaw": {"adaptation": {"name": "chain_thaw", "every": 1}},
    "adapters": {"adaptation": {"name": "adapters", "size": 4}},
    "lora": {"adaptation": {"name": "lora", "rank": 2, "in_layers": [1]}},
    "bitfit": {"adaptation": "bitfit"},
    "l2_sp": {
        "encoder": {"pretrained": False},
        "penalties": {"l2_sp": {"alpha": 0.1, "beta": 0.1}},
    },
    "float16": {"training": {"mixed_precision": "float16"}},
    "esim": {"data": {"dataset": "sample_pair_classification"}, "head": "esim"},
    "crf": {"data": {"dataset": "sample_tagging"}, "head": "bilstm_crf"},
    "lamb": {"optimizer": {"name": "lamb"}},
    "patience": {"adaptation": {"name": "sequential_unfreezing", "patience": 1}},
}
QUICK = ("gradual_unfreezing",)


@pytest.fixture
def make_config(tiny_bert):
    def make(seed=0, rate=1e-2, **changes):
        content = {
            "data": {
                "dataset": "sample_classification",
                "source": "sample",
                "train_examples": 32,
                **changes.pop("data", {}),
            },
            "encoder": {"handle": str(tiny_bert), **changes.pop("encoder", {})},
            "head": "linear",
            "adaptation": "fine_tuning",
            "training": {
                "epochs": 3,
                "batch_size": 16,
                "learning_rate": rate,
                "seed": seed,
                **changes.pop("training", {}),
            },
        }
        return config_from(content | changes, "test")

    return make


def outcome(folder) -> tuple:
    found = checkpoints.load_latest(folder / "checkpoint")
    arrays = {**found.arrays, "best": checkpoints.load_best(folder / "checkpoint").arrays["model"]}
    return arrays, (folder / "history.csv").read_text(), found.state["best"]


def assert_same(folder, expected_folder):
    arrays, history, best = outcome(folder)
    expected, expected_history, expected_best = outcome(expected_folder)
    assert arrays.keys() == expected.keys()
    for group, values in expected.items():
        for name, value in values.items():
            np.testing.assert_array_equal(arrays[group][name], value, f"{group} {name}")
    assert (history, best) == (expected_history, expected_best)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case in QUICK else pytest.mark.large) for case in CASES],
)
def test_a_run_after_another_has_the_bits_of_a_run_alone(make_config, tmp_path, case):
    session = Session()
    first, second = ((0, 1e-2), (1, 3e-3))
    train(make_config(*first, **CASES[case]), tmp_path / "first", session)
    train(make_config(*second, **CASES[case]), tmp_path / "after", session)
    train(make_config(*second, **CASES[case]), tmp_path / "alone")
    assert_same(tmp_path / "after", tmp_path / "alone")
    assert outcome(tmp_path / "after")[1] != outcome(tmp_path / "first")[1]


def test_steps_are_traced_once(make_config, tmp_path, monkeypatch):
    traced, traces_of = [], keras.Model.compute_loss
    monkeypatch.setattr(
        keras.Model,
        "compute_loss",
        lambda *arguments, **options: traced.append(1) or traces_of(*arguments, **options),
    )
    session, changes = Session(), CASES["chain_thaw"]
    train(make_config(0, **changes), tmp_path / "0", session)
    count = len(traced)
    assert count > 3
    train(make_config(1, **changes), tmp_path / "1", session)
    assert len(traced) == count
    train(make_config(1, **changes, head_dropout=0.3), tmp_path / "other", session)
    assert len(traced) == 2 * count


@pytest.mark.large
def test_a_run_that_was_cut_off_goes_on_in_a_process_that_has_done_another(make_config, tmp_path):
    session = Session()
    for name in ("cut", "cut_alone"):
        train(make_config(1, training={"epochs": 1}), tmp_path / name)
    train(make_config(0, training={"epochs": 2}), tmp_path / "other", session)
    train(make_config(1, training={"epochs": 2}), tmp_path / "cut", session)
    train(make_config(1, training={"epochs": 2}), tmp_path / "cut_alone")
    assert outcome(tmp_path / "cut")[1] == outcome(tmp_path / "cut_alone")[1]
    expected = outcome(tmp_path / "cut_alone")[0]["optimizer"]
    for name, value in outcome(tmp_path / "cut")[0]["optimizer"].items():
        np.testing.assert_array_equal(value, expected[name])


@pytest.mark.large
@pytest.mark.parametrize(
    "changes",
    [{"auxiliary": {"distillation": {"weight": 0.1}}}, {"training": {"devices": "cpu:1"}}],
    ids=["auxiliary loss", "devices"],
)
def test_nothing_is_kept_where_more_than_variables_change(make_config, tmp_path, changes):
    session, config = Session(), make_config(**changes)
    train(config, tmp_path / "run", session)
    assert session._parts is None


def test_the_starting_point_moves(tiny_bert):
    from tf_adapt.encoder.hub_encoder import HubEncoder

    encoder = HubEncoder(tiny_bert)
    start = StartingPoint(encoder)
    weight = encoder.trainable_weights[0]
    weight.assign(weight + 1.0)
    assert max(start.distances().values()) > 0
    start.move_here()
    assert max(start.distances().values()) == 0


@pytest.mark.large
def test_dev_loss_after_a_run_that_was_resumed(make_config, tmp_path, monkeypatch):
    # The loss of `evaluate` has the penalties of what learns; its step is traced in the phase that
    # comes first, which for a resumed run is not the first phase.
    def config(seed):
        return make_config(
            seed,
            adaptation={"name": "gradual_unfreezing"},
            penalties={"l2_sp": {"alpha": 5.0, "beta": 0.1}},
            training={"epochs": 2},
        )

    def interrupted(folder, state, *rest):
        save_state(folder, state, *rest)
        if state.epoch == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(training_epochs, "save_state", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(config(0), tmp_path / "resumed")
    monkeypatch.undo()
    session = Session()
    train(config(0), tmp_path / "resumed", session)
    train(config(0), tmp_path / "whole")
    assert_same(tmp_path / "resumed", tmp_path / "whole")
    train(config(1), tmp_path / "after", session)
    train(config(1), tmp_path / "alone")
    assert_same(tmp_path / "after", tmp_path / "alone")


@pytest.mark.large
def test_a_module_that_is_another_by_now(make_config, tiny_bert, tmp_path):
    module, session = tmp_path / "module", Session()
    shutil.copytree(tiny_bert, module)
    config = {"encoder": {"handle": str(module)}, "training": {"epochs": 1}}
    train(make_config(0, **config), tmp_path / "before", session)
    sizes = json.loads((module / "manifest.json").read_text())["config"] | {"max_positions": 128}
    shutil.rmtree(module / "encoder")
    write_random_module(module, "bert", sizes)
    train(make_config(1, **config), tmp_path / "after", session)
    train(make_config(1, **config), tmp_path / "alone")
    assert_same(tmp_path / "after", tmp_path / "alone")
    tasks = [(tmp_path / name / "task.json").read_text() for name in ("after", "alone", "before")]
    assert tasks[0] == tasks[1] != tasks[2]


@pytest.mark.large
def test_texts_that_are_others_by_now(make_config, tmp_path):
    texts, session = tmp_path / "train.tsv", Session()
    dev = tmp_path / "dev.tsv"
    dev.write_text("text\tlabel\nwho is the cat\tperson\nwhere is it\tplace\n")

    def config(seed):
        data = {
            "train": str(texts),
            "dev": str(dev),
            "format": "tsv",
            "kind": "classification",
            "columns": {"text_a": "text", "label": "label"},
        }
        encoder = make_config().encoder.handle
        content = {"data": data, "encoder": {"handle": encoder}, "head": "linear"}
        training = {"epochs": 1, "batch_size": 2, "learning_rate": 1e-2, "seed": seed}
        return config_from(content | {"adaptation": "fine_tuning", "training": training}, "test")

    texts.write_text("text\tlabel\nwho\tperson\nwhere\tplace\n")
    train(config(0), tmp_path / "before", session)
    texts.write_text("text\tlabel\nwho\tperson\nwhere\tplace\nwhat place\tplace\n")
    train(config(1), tmp_path / "after", session)
    train(config(1), tmp_path / "alone")
    assert_same(tmp_path / "after", tmp_path / "alone")
