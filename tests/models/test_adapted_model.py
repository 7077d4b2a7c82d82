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

TASKS = {
    "classification": (
        ta.Task("classification", labels=["no", "yes"]),
        [("a good film", "yes"), ("dull", "no"), ("fine", "yes")],
    ),
    "pair_regression": (
        ta.Task("pair_regression"),
        [("a man sings", "he sings", 4.5), ("a dog barks", "rain falls", 0.5)],
    ),
    "tagging": (
        ta.Task("tagging", labels=["O", "B-PER", "I-PER"]),
        [(["Ann", "Lee", "sings"], ["B-PER", "I-PER", "O"]), (["rain"], ["O"])],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "adaptation", "execution"),
    [
        ("tagging", "fine_tuning", "native"),
        ("classification", "feature_extraction", "saved_model"),
    ],
)
def test_every_trainable_weight_learns_and_no_other(
    kind, adaptation, execution, shallow_bert, tiny_program
):
    task, data = TASKS[kind]
    tuned = adaptation == "fine_tuning"
    handle = shallow_bert if execution == "native" else tiny_program
    encoder = ta.HubEncoder(handle, trainable=tuned, execution=execution)
    model = ta.build_model(task, encoder, adaptation=adaptation)
    optimizer = keras.optimizers.Adam(1e-3)
    model.compile(optimizer, loss=task.loss, metrics=task.metrics, run_eagerly=True)
    before = [weight.numpy() for weight in model.weights]
    history = model.fit(ta.batches(data, task, encoder, batch_size=2), epochs=2, verbose=0).history
    moved = {
        weight.path
        for old, weight in zip(before, model.weights, strict=True)
        if np.any(old != weight.numpy())
    }
    groups = {name for name, _ in encoder.layer_groups}
    assert set(encoder.trainable_groups) == (groups - {"pooler"} if tuned else set())
    assert moved == {weight.path for weight in model.trainable_weights} and len(moved) > 2
    assert tuned or moved == {weight.path for weight in model.head.trainable_weights}
    assert np.isfinite(history["loss"]).all()
    assert np.isfinite(model.gradient_norm.value.numpy()) and model.gradient_norm.value > 0


def test_contradictions_and_unknown_names_are_refused(tiny_elmo):
    task = TASKS["classification"][0]
    frozen = ta.HubEncoder(tiny_elmo, trainable=False)
    with pytest.raises(ConfigError, match="fine_tuning needs.*trainable=True"):
        ta.build_model(task, frozen, adaptation="fine_tuning")
    with pytest.raises(ConfigError, match="feature_extraction.*fine_tuning.*got 'thaw'"):
        ta.build_model(task, frozen, adaptation="thaw")
    with pytest.raises(ConfigError, match="head: expected one of default"):
        ta.build_model(task, frozen, head="esim")
    assert not ta.build_model(task, frozen).encoder.trainable


def test_a_head_of_ones_own(shallow_bert):
    class Mean(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, encoded, inputs=None, training=None):
            return self.dense(keras.ops.mean(encoded[0]["layers"][1], axis=1))

    task, data = TASKS["classification"]
    encoder = ta.HubEncoder(shallow_bert)
    model = ta.build_model(task, encoder, head=Mean())
    # What a user's head reads is the user's affair: no group is frozen behind their back.
    assert "pooler" in encoder.trainable_groups
    assert len(ta.predict(model, [text for text, _ in data])) == 3


@pytest.mark.parametrize(
    ("module", "kind", "shape"),
    [
        ("shallow_bert", "classification", "(None, 2)"),
        ("tiny_elmo", "pair_regression", "(None,)"),
        ("shallow_bert", "tagging", "(None, None, 3)"),
    ],
)
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


LOADS = """
import sys
model = keras.saving.load_model(sys.argv[1])
assert type(model.optimizer).__name__ == "DiscriminativeOptimizer"
assert int(model.optimizer.iterations) == 2 and model.optimizer.factors["head"] == 1.0
assert ta.predict(model, ["ab cd"])[0].label == sys.argv[2]
"""
GOES_ON = """
data = [("ab cd", "yes"), ("e", "no")]
before = [weight.numpy() for weight in model.trainable_weights]
history = model.fit(ta.batches(data, model.task, model.encoder), epochs=2, verbose=0).history
assert set(history) == {"loss", "accuracy", "matthews", "macro_f1", "balanced_accuracy"}, history
assert int(model.optimizer.iterations) == 4
assert all((one != w.numpy()).any() for one, w in zip(before, model.trainable_weights))
"""
SCRIPTS = {
    "keras first": "import keras; import tf_adapt as ta" + LOADS + GOES_ON,
    "keras last": "import tf_adapt as ta; import keras" + LOADS,
}


@pytest.fixture(scope="module")
def saved(tiny_elmo, tmp_path_factory) -> tuple[str, str]:
    """A file of a fitted model, and what it predicts."""
    task, encoder = TASKS["classification"][0], ta.HubEncoder(tiny_elmo)
    model = ta.build_model(task, encoder, adaptation="fine_tuning")
    optimizer = ta.DiscriminativeOptimizer(keras.optimizers.AdamW(1e-2), encoder, decay=0.4)
    model.compile(optimizer, loss=task.loss, metrics=task.metrics)
    batches = ta.batches([("ab cd", "yes"), ("e", "no")], task, encoder)
    model.fit(batches, epochs=2, verbose=0)
    path = tmp_path_factory.mktemp("saved") / "x.keras"
    model.save(path)
    return str(path), ta.predict(model, ["ab cd"])[0].label


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", ["keras first", pytest.param("keras last", marks=pytest.mark.large)]
)
def test_another_process_fits_a_saved_model_on(script, saved):
    command = [sys.executable, "-c", SCRIPTS[script], *saved]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_all_that_keras_may_find_in_a_file_is_registered_at_once():
    root = Path(ta.__file__).parents[1]
    for package in ("tf_adapt", "hub_modules"):
        for path in (root / package).rglob("*.py"):
            lines = path.read_text("utf-8").splitlines()
            if any(line.startswith("@keras.saving.register_keras") for line in lines):
                module = ".".join(path.relative_to(root).with_suffix("").parts)
                assert (
                    module in (root / "tf_adapt/models/serializables.py").read_text("utf-8").split()
                )


@pytest.mark.slow
def test_a_crf_is_trained_with_its_own_loss(shallow_bert):
    task, data = TASKS["tagging"]
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    model = ta.build_model(task, encoder, head="crf")
    [(inputs, targets)] = ta.batches(data, task, encoder, batch_size=2, shuffle=False)
    outputs = model(inputs)
    expected = -np.mean(model.head.chain.log_likelihood(outputs["logits"], targets, targets >= 0))
    for loss in (None, task.loss):
        model.compile(keras.optimizers.Adam(0.0), loss, metrics=task.metrics, run_eagerly=True)
        trained = model.train_on_batch(inputs, targets, return_dict=True)
        assert set(trained) == {"loss", "span_f1", "strict_span_f1"}
        found = model.test_on_batch(inputs, targets, return_dict=True)["loss"]
        assert found == pytest.approx(expected + float(sum(model.losses)), rel=1e-5)


def test_another_loss_on_a_crf_is_refused(shallow_bert):
    task = TASKS["tagging"][0]
    model = ta.build_model(task, ta.HubEncoder(shallow_bert, trainable=False), head="crf")
    with pytest.raises(ConfigError, match="loss: a CRF is trained with its own; expected task.los"):
        model.compile("adam", loss="mse")


def test_the_metric_of_a_crf_is_that_of_its_decoded_tags(shallow_bert):
    task, data = TASKS["tagging"]
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    model = ta.build_model(task, encoder, head="crf")
    # Each word alone prefers O; all transitions but B-PER → I-PER → O weigh against the others.
    model.head.dense.set_weights(
        [np.zeros(model.head.dense.kernel.shape), np.array([0.5, 0.0, 0.0])]
    )
    transitions = np.full((3, 3), -9.0)
    transitions[1, 2] = transitions[2, 0] = 9.0
    model.head.chain.transitions.assign(transitions)
    model.compile("adam", metrics=task.metrics, run_eagerly=True)
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
    inside = {id(weight) for weight in encoder.weights}
    of_encoder = [id(weight) in inside for weight in model.trainable_weights]
    share = np.sqrt(np.sum(np.array(squares)[of_encoder]) / sum(squares))
    assert 0 < share < 1 and model.encoder_share.value.numpy() == pytest.approx(share, rel=1e-5)


def test_an_encoder_may_get_another_head(shallow_bert):
    task, encoder = TASKS["classification"][0], ta.HubEncoder(shallow_bert)
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
