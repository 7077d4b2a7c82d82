"""Encoder and head together: what learns, what is refused, plain Keras `fit`, save and restore."""

import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.errors import ConfigError

PAIRS = [("a man sings", "he sings", "yes"), ("a dog barks", "rain falls", "no")]
TASKS = {
    "classification": (
        ta.Task("classification", labels=["no", "yes"]),
        [("a good film", "yes"), ("dull", "no"), ("fine", "yes")],
    ),
    "pair_classification": (ta.Task("pair_classification", labels=["no", "yes"]), PAIRS),
    "pair_regression": (
        ta.Task("pair_regression"),
        [("a man sings", "he sings", 4.5), ("a dog barks", "rain falls", 0.5)],
    ),
    "regression": (ta.Task("regression"), [("a good film", 4.5), ("dull", 0.5), ("fine", 3.0)]),
    "multilabel_classification": (
        ta.Task("multilabel_classification", labels=["long", "good"]),
        [("a good film", ["good", "long"]), ("dull", []), ("fine", {"good"})],
    ),
    "tagging": (
        ta.Task("tagging", labels=["O", "B-PER", "I-PER"]),
        [(["Ann", "Lee", "sings"], ["B-PER", "I-PER", "O"]), (["rain"], ["O"])],
    ),
}


def fitted(kind, handle, adaptation, **options):
    task, data = TASKS[kind]
    encoder = ta.HubEncoder(handle, trainable=adaptation == "fine_tuning", **options)
    model = ta.build_model(task, encoder, adaptation=adaptation)
    model.compile(keras.optimizers.Adam(1e-3), loss=task.loss, metrics=task.metrics)
    before = [weight.numpy() for weight in model.weights]
    history = model.fit(ta.batches(data, task, encoder, batch_size=2), epochs=2, verbose=0).history
    moved = {
        weight.path
        for old, weight in zip(before, model.weights, strict=True)
        if np.any(old != weight.numpy())
    }
    return model, moved, history


# A few in CI, the others when asked for.
IN_CI = (
    ("pair_classification", "bert_small"),
    ("tagging", "bert_small"),
    ("tagging", "elmo_small"),
)


@pytest.mark.parametrize(
    ("kind", "handle"),
    [
        pytest.param(
            kind, handle, marks=pytest.mark.slow if (kind, handle) in IN_CI else pytest.mark.large
        )
        for kind in TASKS
        for handle in ("bert_small", "elmo_small")
    ],
)
def test_every_trainable_weight_learns_and_no_other(kind, handle):
    model, moved, history = fitted(kind, handle, "fine_tuning")
    assert moved == {weight.path for weight in model.trainable_weights}
    unread = {"pooler"} if handle == "bert_small" and kind == "tagging" else set()
    groups = {name for name, _ in model.encoder.layer_groups}
    assert set(model.encoder.trainable_groups) == groups - unread
    assert np.isfinite(history["loss"]).all()
    assert np.isfinite(model.gradient_norm.value.numpy()) and model.gradient_norm.value > 0


@pytest.mark.parametrize(
    "execution",
    [
        pytest.param("native", marks=pytest.mark.large),
        pytest.param("saved_model", marks=pytest.mark.slow),
    ],
)
def test_feature_extraction_trains_the_head_alone(execution):
    model, moved, _ = fitted(
        "classification", "bert_small", "feature_extraction", execution=execution
    )
    assert moved == {weight.path for weight in model.head.trainable_weights}
    assert len(moved) > 2


def test_contradictions_and_unknown_names_are_refused():
    task = TASKS["classification"][0]
    frozen = ta.HubEncoder("elmo_small", trainable=False)
    with pytest.raises(ConfigError, match="fine_tuning needs.*trainable=True"):
        ta.build_model(task, frozen, adaptation="fine_tuning")
    with pytest.raises(ConfigError, match="feature_extraction.*fine_tuning.*got 'thaw'"):
        ta.build_model(task, frozen, adaptation="thaw")
    with pytest.raises(ConfigError, match="head: expected one of default"):
        ta.build_model(task, frozen, head="esim")
    assert not ta.build_model(task, frozen).encoder.trainable


def test_a_head_of_ones_own():
    class Mean(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, encoded, inputs=None, training=None):
            return self.dense(keras.ops.mean(encoded[0]["layers"][1], axis=1))

    task, data = TASKS["classification"]
    encoder = ta.HubEncoder("bert_small")
    model = ta.build_model(task, encoder, head=Mean())
    # What a user's head reads is the user's affair: no group is frozen behind their back.
    assert "pooler" in encoder.trainable_groups
    assert len(ta.predict(model, [text for text, _ in data])) == 3


@pytest.mark.large
def test_plain_keras_saves_and_loads_the_model(tmp_path):
    model, _, _ = fitted("tagging", "bert_small", "fine_tuning")
    model.encoder.set_trainable_groups(["layer_1", "layer_2"])
    model.save(tmp_path / "x.keras")
    copy = keras.saving.load_model(tmp_path / "x.keras")
    assert copy.encoder.trainable_groups == ["layer_1", "layer_2"]
    sentences = [words for words, _ in TASKS["tagging"][1]]
    assert ta.predict(copy, sentences) == ta.predict(model, sentences)
    for one, other in zip(model.weights, copy.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("classification", "(None, 2)"),
        ("pair_regression", "(None,)"),
        ("tagging", "(None, None, 3)"),
    ],
)
@pytest.mark.parametrize("module", ["tiny_bert", "tiny_elmo"])
def test_summary_names_both_parts_and_their_shapes(request, capsys, module, kind, shape):
    encoder = ta.HubEncoder(request.getfixturevalue(module))
    ta.build_model(TASKS[kind][0], encoder).summary(line_length=120)
    rows = [line for line in capsys.readouterr().out.splitlines() if "(None" in line]
    assert len(rows) == 2
    assert "HubEncoder" in rows[0] and f"(None, None, {encoder.output_width})" in rows[0]
    assert "Head" in rows[1] or "Tagger" in rows[1] or "ESIM" in rows[1].upper()
    assert shape in rows[1].replace("(None)", "(None,)")


def test_keras_own_export_names_ours(tiny_elmo, tmp_path):
    model = ta.build_model(TASKS["classification"][0], ta.HubEncoder(tiny_elmo))
    with pytest.raises(ConfigError, match="use tf_adapt.export.model, folder., which takes texts"):
        model.export(tmp_path / "x")
    assert not (tmp_path / "x").exists()


IMPORTS = ["import keras; import tf_adapt as ta", "import tf_adapt as ta; ta.Task; import keras"]
LOADS = """
import sys
model = keras.saving.load_model(sys.argv[1])
assert type(model.optimizer).__name__ == "DiscriminativeOptimizer"
assert int(model.optimizer.iterations) == 2 and model.optimizer.factors["head"] == 1.0
assert ta.predict(model, ["ab cd"])[0].label == sys.argv[2]
data = [("ab cd", "yes"), ("e", "no")]
before = [weight.numpy() for weight in model.trainable_weights]
history = model.fit(ta.batches(data, model.task, model.encoder), epochs=2, verbose=0).history
assert set(history) == {"loss", "accuracy", "matthews"}, history
assert int(model.optimizer.iterations) == 4
assert all((one != w.numpy()).any() for one, w in zip(before, model.trainable_weights))
"""


@pytest.mark.slow
@pytest.mark.parametrize("imports", IMPORTS)
def test_another_process_fits_a_saved_model_on(imports, tiny_elmo, tmp_path):
    task, encoder = TASKS["classification"][0], ta.HubEncoder(tiny_elmo)
    model = ta.build_model(task, encoder, adaptation="fine_tuning")
    optimizer = ta.DiscriminativeOptimizer(keras.optimizers.AdamW(1e-2), encoder, decay=0.4)
    model.compile(optimizer, loss=task.loss, metrics=task.metrics)
    batches = ta.batches([("ab cd", "yes"), ("e", "no")], task, encoder)
    model.fit(batches, epochs=2, verbose=0)
    model.save(tmp_path / "x.keras")
    label = ta.predict(model, ["ab cd"])[0].label
    command = [sys.executable, "-c", imports + LOADS, str(tmp_path / "x.keras"), label]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_all_that_keras_may_find_in_a_file_is_registered_at_once():
    root = Path(ta.__file__).parents[1]
    for package in ("tf_adapt", "hub_modules"):
        for path in (root / package).rglob("*.py"):
            if "@keras.saving.register_keras_serializable" in path.read_text("utf-8"):
                module = ".".join(path.relative_to(root).with_suffix("").parts)
                assert (
                    module in (root / "tf_adapt/models/serializables.py").read_text("utf-8").split()
                )


@pytest.mark.slow
@pytest.mark.parametrize("loss", [None, "task's"])
def test_a_crf_is_trained_with_its_own_loss(loss, tiny_bert):
    task, data = TASKS["tagging"]
    encoder = ta.HubEncoder(tiny_bert, trainable=False)
    model = ta.build_model(task, encoder, head="crf")
    model.compile(keras.optimizers.Adam(0.0), loss=loss and task.loss, metrics=task.metrics)
    batches = ta.batches(data, task, encoder, batch_size=2, shuffle=False)
    history = model.fit(batches, verbose=0).history
    inputs, targets = next(iter(batches))
    outputs = model(inputs)
    mask = targets >= 0
    expected = -np.mean(model.head.chain.log_likelihood(outputs["logits"], targets, mask))
    assert model.evaluate(batches, verbose=0, return_dict=True)["loss"] == pytest.approx(
        expected + float(sum(model.losses)), rel=1e-5
    )
    assert set(history) == {"loss", "span_f1", "strict_span_f1"}


def test_another_loss_on_a_crf_is_refused():
    task = TASKS["tagging"][0]
    model = ta.build_model(task, ta.HubEncoder("bert_small", trainable=False), head="crf")
    with pytest.raises(ConfigError, match="loss: a CRF is trained with its own; expected task.los"):
        model.compile("adam", loss="mse")


def test_the_metric_of_a_crf_is_that_of_its_decoded_tags():
    task, data = TASKS["tagging"]
    encoder = ta.HubEncoder("bert_small", trainable=False)
    model = ta.build_model(task, encoder, head="crf")
    # Each word alone prefers O; all transitions but B-PER → I-PER → O weigh against the others.
    model.head.dense.set_weights(
        [np.zeros(model.head.dense.kernel.shape), np.array([0.5, 0.0, 0.0])]
    )
    transitions = np.full((3, 3), -9.0)
    transitions[1, 2] = transitions[2, 0] = 9.0
    model.head.chain.transitions.assign(transitions)
    model.compile("adam", metrics=task.metrics)
    scores = model.evaluate(
        ta.batches(data[:1], task, encoder, shuffle=False), verbose=0, return_dict=True
    )
    assert scores["span_f1"] == 1.0
    assert ta.predict(model, [data[0][0]])[0].label == ("B-PER", "I-PER", "O")


def test_the_gradient_norm_is_that_of_whole_rows(tiny_elmo):
    # A character that is read often has as many rows in the gradient of its table.
    task, encoder = TASKS["classification"][0], ta.HubEncoder(tiny_elmo)
    model = ta.build_model(task, encoder, "linear", "fine_tuning", head_dropout=0.0)
    model.compile(keras.optimizers.SGD(0.0), task.loss, jit_compile=False)
    batches = ta.batches([("aa aa a", "yes"), ("aaa b", "no")], task, encoder, batch_size=2)
    inputs, targets = next(iter(batches))
    with tf.GradientTape() as tape:
        loss = task.loss(targets, model(inputs, training=False))
    gradients = tape.gradient(loss, [weight.value for weight in model.trainable_weights])
    squares = [np.sum(np.square(tf.convert_to_tensor(gradient))) for gradient in gradients]
    model.fit(batches, verbose=0)
    assert model.gradient_norm.value.numpy() == pytest.approx(np.sqrt(sum(squares)), rel=1e-5)


def test_an_encoder_may_get_another_head(tiny_bert):
    task, encoder = TASKS["classification"][0], ta.HubEncoder(tiny_bert)
    ta.build_model(task, encoder, "bcn", head_units=4)
    assert "pooler" not in encoder.trainable_groups
    ta.build_model(task, encoder, "linear")
    assert "pooler" in encoder.trainable_groups


def test_the_step_is_that_of_what_is_trainable_and_kept_for_the_next_time(tiny_elmo):
    task = ta.Task("classification", labels=["no", "yes"])
    model = ta.build_model(task, ta.HubEncoder(tiny_elmo), adaptation="fine_tuning")
    model.compile(keras.optimizers.SGD(0.1), loss=task.loss)
    model.optimizer.build(model.trainable_weights)
    everything = model.make_train_function()
    model.encoder.set_trainable_groups([])
    head_alone = model.use_step()
    assert model.train_function is head_alone is not everything
    model.encoder.set_trainable_groups([name for name, _ in model.encoder.layer_groups])
    model.encoder.leave_unread(model.encoder.unread_groups)
    assert model.use_step() is everything
    assert model.make_train_function(force=True) is not everything
    model.compile(keras.optimizers.SGD(0.1), loss=task.loss)
    assert model.make_train_function() is not everything
