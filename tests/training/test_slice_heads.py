"""A run with heads of slices: loaded and exported; which slices can have heads.

(Cut off and resumed: test_resuming.py; two devices: test_losses_on_two_devices.py.)
"""

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.packing.prepared import SLICE_TARGETS
from tf_adapt.errors import DataError
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

SLICES = {"who": {"words": ["who"]}, "long": {"longer_than": 4}}
TRAIN = "text\tlabel\nwho is it\tno\nwhat\tyes\nwhere is the man and who\tyes\nit is\tno\n"
DEV = "text\tlabel\nwho is who\tno\nwhere is the man of the house\tyes\n"


@pytest.fixture
def make_config(shallow_bert, tmp_path):
    (tmp_path / "train.tsv").write_text(TRAIN, "utf-8")
    (tmp_path / "dev.tsv").write_text(DEV, "utf-8")

    def make(slices=SLICES, **more):
        content = {
            "data": {
                "format": "tsv",
                "kind": "classification",
                "train": str(tmp_path / "train.tsv"),
                "dev": str(tmp_path / "dev.tsv"),
                "columns": {"text_a": "text", "label": "label"},
            },
            "slices": slices,
            "slice_heads": True,
            "encoder": {"handle": str(shallow_bert)},
            "adaptation": "fine_tuning",
            "training": {"epochs": 1, "batch_size": 2, "learning_rate": 1e-2},
        }
        return config_from(content | more, "test")

    return make


def test_members_have_their_targets_and_others_none(make_config, tmp_path):
    (tmp_path / "ids.txt").write_text("train.tsv:3\ndev.tsv:2\n", "utf-8")
    config = make_config(SLICES | {"mine": {"file": str(tmp_path / "ids.txt")}})
    parts = build_parts(config)
    inputs, targets = parts.data["train"].batch(np.array([2, 0, 1, 3]))
    assert targets.numpy().tolist() == [1, 0, 1, 0]
    expected = [[1, 1, -1], [0, -1, -1], [-1, -1, 1], [-1, -1, -1]]
    assert inputs["a"][SLICE_TARGETS].numpy().tolist() == expected
    assert SLICE_TARGETS not in parts.data["dev"].batch(np.array([0]))[0]["a"]


def test_a_run_is_served_by_its_main_head(make_config, tmp_path):
    run = tmp_path / "run"
    metrics = train(make_config(), run)
    assert metrics["slice_heads"] == {"who": 2, "long": 1}
    assert metrics["slices"]["dev"]["who"]["examples"] == 1
    model = ta.load_run(run)
    ta.export(model, tmp_path / "export")
    served = tf.saved_model.load(str(tmp_path / "export"))
    answer = served.signatures["serving_default"](text=tf.constant(["who is it"]))
    (expected,) = ta.predict(model, ["who is it"])
    np.testing.assert_allclose(answer["scores"][0], expected.scores, atol=1e-6)
    # One kernel of a head is in the export, three are in the run.
    shape = tuple(model.head.trainable_weights[-2].shape)
    assert [tuple(one.shape) for one in model.weights].count(shape) == 3
    assert [tuple(one.shape) for one in served.variables].count(shape) == 1


def test_a_slice_needs_examples_of_train(make_config, tmp_path):
    (tmp_path / "dev.tsv").write_text(DEV + "the house\tno\n", "utf-8")
    config = make_config(SLICES | {"house": {"words": ["house"]}})
    message = "slices.house: expected at least one of the 4 examples of train .* got 0"
    with pytest.raises(DataError, match=message):
        train(config, tmp_path / "run")
    with pytest.raises(DataError, match=message):
        dry_run(config)
