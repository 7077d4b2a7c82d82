"""Frozen is frozen and trained is trained: bit by bit, for each adaptation, phase and family."""

import itertools
import json
import runpy
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import tf_adapt as ta
from tf_adapt.adaptation.adaptations import gradual_unfreezing, two_stage
from tf_adapt.adaptation.unfreezing import Unfreezing
from tf_adapt.errors import ConfigError

CHILD = Path(__file__).parents[1] / "children" / "unfreezing.py"
SHARED = runpy.run_path(str(CHILD))
make_model, observed, expected_groups = (
    SHARED[name] for name in ("make_model", "observed", "expected_groups")
)
FAMILIES = {"bert": SHARED["BERT"], "elmo": SHARED["ELMO"]}


@pytest.fixture(scope="module")
def encoders(tiny_bert, tiny_elmo) -> dict:
    return {"bert": str(tiny_bert), "elmo": str(tiny_elmo)}


def check(found: list[dict], groups: list[str], name: str) -> None:
    """What was seen after each phase is what the adaptation says, weight by weight."""
    phases = expected_groups(name, groups)
    assert [set(phase["changed"]) for phase in found] == [set(phase) for phase in phases]
    for phase in found:
        assert phase["unchanged_within"] == [], "a weight of a group that trains did not change"
        assert phase["slots_changed"] == phase["changed"], "slots of frozen groups moved"


# Each phase is traced anew: in CI one adaptation that only grows, one that goes back as well.
IN_CI = [("bert", "sequential_unfreezing"), ("elmo", "chain_thaw")]
CASES = [
    pytest.param(*case, marks=pytest.mark.slow if case in IN_CI else pytest.mark.large)
    for case in itertools.product(FAMILIES, SHARED["ADAPTATIONS"])
]


@pytest.mark.parametrize(("family", "name"), CASES)
def test_exactly_the_named_weights_change_in_each_phase(encoders, family, name):
    phases = observed(encoders[family], name)
    check(phases, FAMILIES[family], name)
    if (family, name) == ("elmo", "chain_thaw"):
        # The head trains in the first and the last phase: between them its slots stay.
        assert all("head" not in phase["slots_changed"] for phase in phases[1:-1])
        assert phases[0]["slots"]["head"] == phases[-2]["slots"]["head"]
        assert phases[-1]["slots"]["head"] != phases[0]["slots"]["head"]


@pytest.mark.large
@pytest.mark.parametrize("family", FAMILIES)
def test_on_two_replicas_and_in_half_precision(encoders, family):
    command = [sys.executable, str(CHILD), encoders[family]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(done.stdout)
    assert len(results) == len(SHARED["CASES"])
    for case, found in results.items():
        check(found, FAMILIES[family], case.split()[0])


@pytest.mark.large
def test_groups_of_a_black_box_change_as_told(tiny_program):
    found = observed(str(tiny_program), "chain_thaw", execution="saved_model")
    check(found, FAMILIES["bert"], "chain_thaw")


@pytest.mark.slow
def test_a_phase_ends_early_when_the_score_gets_no_better_and_the_best_weights_return(encoders):
    model, batches = make_model(encoders["elmo"], gradual_unfreezing(every=9, patience=2))
    model.run_eagerly = True
    seen = []

    class Scores(keras.callbacks.Callback):
        # Worse from the second epoch on: the phase ends after the third.
        def on_epoch_end(self, epoch, logs=None):
            logs["val_loss"] = [5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0][epoch]
            seen.append((model.encoder.trainable_groups, model.head.weights[0].numpy()))

    restored = []

    class Restored(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            restored.append(model.head.weights[0].numpy())

    unfreezing = Unfreezing(model.encoder, gradual_unfreezing(every=9, patience=2))
    callbacks = [Scores(), unfreezing, Restored()]
    model.fit(batches, epochs=7, verbose=0, callbacks=callbacks)
    frozen, one, two = [], ["lstm_1"], ["lstm_0", "lstm_1"]
    # Epochs 0 to 2: best is 0. Epochs 3 and 4: the fifth is the best. 5 and 6 get no better.
    assert [groups for groups, _ in seen] == [frozen, frozen, frozen, one, one, one, one]
    np.testing.assert_array_equal(restored[3], seen[0][1])
    assert np.any(restored[2] != seen[0][1])
    assert unfreezing.position.phase == 2 and unfreezing.position.since == 7
    assert two == model.encoder.adaptable_groups[1:]
    np.testing.assert_array_equal(model.head.weights[0].numpy(), seen[4][1])


@pytest.mark.slow
def test_a_plain_keras_model_with_layers_of_its_own(encoders):
    encoder = ta.HubEncoder(encoders["bert"])
    texts = encoder.preprocessor.pack([encoder.preprocessor.tokenize(["ab cd", "ef"])])
    inputs = {
        name: keras.Input(value.shape[1:], dtype=value.dtype.name) for name, value in texts.items()
    }
    inner = keras.Model(inputs, keras.ops.max(encoder(inputs)["layers"][-1], axis=1))
    model = keras.Model(inputs, keras.layers.Dense(1, name="top")(inner(inputs)))
    model.compile(ta.DiscriminativeOptimizer(keras.optimizers.AdamW(1e-2), encoder), "mse")
    seen = []

    class Seen(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            seen.append((encoder.trainable_groups, model.get_layer("top").kernel.trainable))

    callbacks = [Unfreezing(encoder, "chain_thaw"), Seen()]
    model.fit(texts, np.ones((2, 1)), epochs=3, verbose=0, callbacks=callbacks)
    assert seen == [([], True), (["embeddings"], False), (["layer_0"], False)]


@pytest.mark.slow
def test_what_cannot_work_is_said_before_the_first_step(encoders):
    task = ta.Task("classification", labels=["no", "yes"])
    encoder = ta.HubEncoder(encoders["bert"], trainable=False)
    model = ta.build_model(task, encoder)
    model.compile(keras.optimizers.Adam(1e-3), task.loss, run_eagerly=True)
    batches = ta.batches([("a b", "yes"), ("c", "no")], task, encoder, batch_size=2)
    model.fit(batches, verbose=0)
    with pytest.raises(ConfigError, match="two_stage trains embeddings.*with a new optimizer"):
        model.fit(batches, epochs=2, verbose=0, callbacks=[Unfreezing(encoder, two_stage())])
    model, batches = make_model(encoders["bert"], two_stage(patience=1))
    model.run_eagerly = True
    with pytest.raises(ConfigError, match="monitor: expected one of loss.*'val_loss'.*validation"):
        model.fit(batches, verbose=0, callbacks=[Unfreezing(model.encoder, two_stage(patience=1))])
    with pytest.raises(ConfigError, match="mode: expected min or max, got 'least'"):
        Unfreezing(encoder, two_stage(), mode="least")
