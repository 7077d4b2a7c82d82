"""Keras' `class_weight`: for examples with one class each, refused elsewhere."""

import keras
import pytest

import tf_adapt as ta
from tf_adapt.errors import ConfigError

RECORDS = {
    "tagging": (ta.Task("tagging", ["O", "B-PER"]), [(["a", "b"], ["B-PER", "O"])] * 2),
    "regression": (ta.Task("regression"), [("a", 0.5), ("b", 1.0)]),
    "multilabel_classification": (
        ta.Task("multilabel_classification", ["x", "y"]),
        [("a", ["x"]), ("b", [])],
    ),
}


def compiled(module, task):
    encoder = ta.HubEncoder(str(module), trainable=False)
    model = ta.build_model(task, encoder, "linear_tagger" if task.kind == "tagging" else "linear")
    model.compile(keras.optimizers.SGD(0.0), loss=task.loss)
    return model, encoder


@pytest.mark.parametrize("kind", RECORDS)
def test_refused_where_an_example_has_not_one_class(tiny_elmo, kind):
    task, records = RECORDS[kind]
    model, encoder = compiled(tiny_elmo, task)
    batches = ta.batches(records, task, encoder, batch_size=2)
    with pytest.raises(ConfigError, match=f"class_weight: expected none for {kind}"):
        model.fit(batches, class_weight={0: 1.0, 1: 2.0}, verbose=0)


def test_weighs_the_losses_of_a_class(tiny_elmo):
    task = ta.Task("classification", ["x", "y"])
    model, encoder = compiled(tiny_elmo, task)
    losses = []
    for label in ("x", "y"):
        batches = ta.batches([("a", label)], task, encoder, batch_size=1)
        losses.append(model.evaluate(batches, verbose=0))
    both = ta.batches([("a", "x"), ("a", "y")], task, encoder, batch_size=2)
    found = model.fit(both, class_weight={0: 1.0, 1: 3.0}, verbose=0).history["loss"][0]
    # In training there is dropout.
    assert found == pytest.approx((losses[0] + 3 * losses[1]) / 2, rel=0.02)
