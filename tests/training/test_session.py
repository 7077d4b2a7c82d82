"""Runs of one process that share data, model and traced steps: the same bits as runs alone."""

import json
import shutil

import keras
import numpy as np
import pytest
from cut_runs import keep_at
from random_modules import write_random_module

from tf_adapt.config.reading import config_from
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.starting_point import StartingPoint
from tf_adapt.runs import checkpoints
from tf_adapt.training.resolving.session import Session
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

CASES = {
    "gradual_unfreezing": {
        "adaptation": {"name": "gradual_unfreezing"},
        "training": {"epochs": 2},
    },
    "feature_extraction": {"adaptation": "feature_extraction"},
    "chain_thaw": {"adaptation": {"name": "chain_thaw", "every": 1}},
    "adapters": {"adaptation": {"name": "adapters", "size": 4}},
    "l2_sp": {
        "encoder": {"pretrained": False},
        "penalties": {"l2_sp": {"alpha": 0.1, "beta": 0.1}},
    },
    "float16": {"training": {"mixed_precision": "float16"}},
    "crf": {"data": {"dataset": "sample_tagging"}, "head": "bilstm_crf"},
    "patience": {"adaptation": {"name": "sequential_unfreezing", "patience": 1}},
}
QUICK = ("gradual_unfreezing",)


@pytest.fixture
def make_config(shallow_bert):
    def make(seed=0, rate=1e-2, **changes):
        content = {
            "data": {
                "dataset": "sample_classification",
                "source": "sample",
                "train_examples": 32,
                **changes.pop("data", {}),
            },
            "encoder": {"handle": str(shallow_bert), **changes.pop("encoder", {})},
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


@pytest.fixture
def traced(monkeypatch) -> list:
    """An entry for each time that a loss is traced."""
    traced, compute_loss = [], keras.Model.compute_loss
    monkeypatch.setattr(
        keras.Model,
        "compute_loss",
        lambda *arguments, **options: traced.append(1) or compute_loss(*arguments, **options),
    )
    return traced


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
def test_a_run_after_another_has_the_bits_of_a_run_alone(make_config, tmp_path, traced, case):
    """And its steps are not traced again."""
    session = Session()
    first, second = ((0, 1e-2), (1, 3e-3))
    train(make_config(*first, **CASES[case]), tmp_path / "first", session)
    count = len(traced)
    train(make_config(*second, **CASES[case]), tmp_path / "after", session)
    if case in QUICK:
        assert len(traced) == count >= 2  # once in each phase
    train(make_config(*second, **CASES[case]), tmp_path / "alone")
    assert_same(tmp_path / "after", tmp_path / "alone")
    assert outcome(tmp_path / "after")[1] != outcome(tmp_path / "first")[1]


def test_folds_share_traced_steps_and_have_the_bits_of_a_run_alone(make_config, tmp_path, traced):
    rows = "".join(f"text {n} of {n % 7}\t{'ab'[n % 2]}\n" for n in range(50))
    (tmp_path / "all.tsv").write_text("t\tl\n" + rows, "utf-8")
    own = {
        "format": "tsv",
        "kind": "classification",
        "train": str(tmp_path / "all.tsv"),
        "columns": {"text": "t", "label": "l"},
    }
    session = Session()
    for number in range(2):
        fold = {"of": 2, "leave_out": number, "seed": 4}
        data = own | {"fold": fold}
        config = make_config(number, 1e-2, training={"epochs": 1})
        config = config_from(config.model_dump() | {"data": data}, "test")
        train(config, tmp_path / f"fold_{number}", session)
        traced.append("run")
    count = traced.index("run")
    assert traced[count + 1 :] == ["run"] and count >= 1
    train(config, tmp_path / "alone")
    assert_same(tmp_path / "fold_1", tmp_path / "alone")


@pytest.mark.parametrize(
    "changes",
    [{"auxiliary": {"distillation": {"weight": 0.1}}}, {"training": {"devices": "cpu:1"}}],
    ids=["auxiliary loss", "devices"],
)
def test_nothing_is_kept_where_more_than_variables_change(make_config, changes):
    session = Session()
    session.parts(make_config(**changes))
    assert session._parts is None


def test_the_starting_point_moves(shallow_bert):
    encoder = HubEncoder(shallow_bert)
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

    with monkeypatch.context() as patch:
        keep_at(patch, 3, tmp_path / "resumed")
        train(config(0), tmp_path / "whole")
    session = Session()
    train(config(0), tmp_path / "resumed", session)
    assert_same(tmp_path / "resumed", tmp_path / "whole")
    train(config(1), tmp_path / "after", session)
    train(config(1), tmp_path / "alone")
    assert_same(tmp_path / "after", tmp_path / "alone")


def test_modules_and_texts_that_are_others_by_now(shallow_bert, tmp_path):
    module, texts, session = tmp_path / "module", tmp_path / "train.tsv", Session()
    shutil.copytree(shallow_bert, module)
    texts.write_text("text\tlabel\nwho\tperson\nwhere\tplace\n")
    data = {"format": "tsv", "kind": "classification", "train": str(texts), "dev": str(texts)}
    content = {
        "data": data | {"columns": {"text": "text", "label": "label"}},
        "encoder": {"handle": str(module)},
        "head": "linear",
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 2, "learning_rate": 1e-2},
    }
    first = session.parts(config_from(content, "test"))
    assert session.parts(config_from(content, "test")) is first
    texts.write_text("text\tlabel\nwho\tperson\nwhere\tplace\nwhat place\tplace\n")
    second = session.parts(config_from(content, "test"))
    assert [len(one.data["train"].lengths) for one in (first, second)] == [2, 3]
    sizes = json.loads((module / "manifest.json").read_text())["config"] | {"max_positions": 128}
    shutil.rmtree(module / "encoder")
    write_random_module(module, "bert", sizes)
    third = session.parts(config_from(content, "test"))
    assert third.model.encoder.module_hash != second.model.encoder.module_hash
