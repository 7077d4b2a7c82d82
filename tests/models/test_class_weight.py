"""Weights of labels in the loss, in `fit`, against NumPy."""

import keras
import numpy as np
import pytest

import tf_adapt as ta
from tf_adapt.errors import ConfigError

TASKS = {
    "classification": (
        ta.Task("classification", ["x", "y"]),
        "linear",
        [("a", "x"), ("the", "y"), ("is", "x"), ("a the", "x")],
    ),
    "multilabel_classification": (
        ta.Task("multilabel_classification", ["x", "y"]),
        "linear",
        [("a", ["x"]), ("the", []), ("is", ["x"]), ("a the", ["x", "y"])],
    ),
    "tagging": (
        ta.Task("tagging", ["O", "B-PER"]),
        "linear_tagger",
        [(["a", "the"], ["B-PER", "O"]), (["is"], ["O"]), (["a", "a", "is"], ["O", "O", "O"])],
    ),
}
TASKS["crf"] = (TASKS["tagging"][0], "crf", TASKS["tagging"][2])


def compiled(module, name):
    task, head, records = TASKS[name]
    encoder = ta.HubEncoder(str(module), trainable=False)
    model = ta.build_model(task, encoder, head, head_dropout=0.0)
    # As a graph for words, which have the longer way; the sums of texts are the same without one.
    model.compile(keras.optimizers.SGD(0.0), task.loss, run_eagerly=task.kind != "tagging")
    return model, ta.batches(records, task, encoder, batch_size=4, shuffle=False)


def choice_losses(name, model, inputs, targets):
    """The loss of each choice and its weight with `{y or B-PER: 3}`; the number of losses."""
    if name == "crf":
        outputs = model(inputs)
        likely = model.head.chain.log_likelihood(outputs["logits"], targets, targets >= 0)
        # The mean weight of the words of each sentence.
        return -likely.numpy(), np.array([2.0, 1.0, 1.0]), 3
    logits, targets = model(inputs).numpy().astype("float64"), targets.numpy()
    if name == "multilabel_classification":
        losses = np.log1p(np.exp(-np.where(targets == 1, logits, -logits)))
        return losses, np.where(targets == 1, [1.0, 3.0], 1.0), 8
    real = targets >= 0
    logits, targets = logits[real], targets[real]
    losses = np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(targets)), targets]
    return losses, np.where(targets == 1, 3.0, 1.0), len(targets)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_weighs_the_losses_of_a_label(tiny_elmo, name):
    model, batches = compiled(tiny_elmo, name)
    [(inputs, targets)] = batches
    losses, weights, count = choice_losses(name, model, inputs, targets)
    given = {model.task.labels[1]: 3.0}
    if name == "classification":
        given, weights = "balanced", np.array([4 / 6, 4 / 2, 4 / 6, 4 / 6])  # n / (K nₖ)
    found = model.fit(batches, class_weight=given, verbose=0).history["loss"][0]
    assert found == pytest.approx((losses * weights).sum() / count, rel=2e-5)
    if name == "tagging":  # traced anew without them
        found = model.fit(batches, verbose=0).history["loss"][0]
        assert found == pytest.approx(losses.mean(), rel=2e-5)
    # An evaluation is without weights.
    assert model.evaluate(batches, verbose=0) == pytest.approx(losses.mean(), rel=2e-5)


def test_refused_where_there_are_no_labels(tiny_elmo):
    encoder = ta.HubEncoder(str(tiny_elmo), trainable=False)
    task = ta.Task("regression")
    model = ta.build_model(task, encoder, "linear")
    model.compile(keras.optimizers.SGD(0.0), loss=task.loss)
    batches = ta.batches([("a", 0.5), ("the", 1.0)], task, encoder, batch_size=2)
    with pytest.raises(ConfigError, match="class_weight: expected none for regression"):
        model.fit(batches, class_weight={0: 1.0}, verbose=0)
