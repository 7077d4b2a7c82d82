"""Several tasks on one encoder: what a step changes, against single-task models."""

import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from hub_modules.native.added.settings import TaskAttention
from tf_adapt.errors import ConfigError

TASKS = {
    "pair": ta.Task("pair_classification", labels=["no", "yes"]),
    "tag": ta.Task("tagging", labels=["O", "B-X", "I-X"]),
}
TRAIN = {
    "pair": [("the what", "who", "yes"), ("where is", "is", "no"), ("who", "what", "no")],
    "tag": [(["the", "who"], ["B-X", "I-X"]), (["what"], ["O"]), (["is", "the"], ["O", "B-X"])],
}
WEIGHTS = {"pair": 0.5, "tag": 3.0}


def without_dropout(model):
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0


def multi(handle, optimizer=None, **options):
    keras.utils.set_random_seed(0)
    encoder = ta.HubEncoder(handle)
    model = ta.build_multi_task_model(TASKS, encoder, **{"adaptation": "fine_tuning"} | options)
    without_dropout(model)
    optimizer = optimizer or keras.optimizers.SGD(0.1)
    model.compile(ta.DiscriminativeOptimizer(optimizer, encoder))
    return model


def only(name, model, **options):
    return ta.multi_task_batches({name: TRAIN[name]}, TASKS, model.encoder, **options)


def step(model, name):
    """A step of `fit` on all examples of a task, eagerly."""
    [data] = ta.batches(TRAIN[name], TASKS[name], model.encoder, shuffle=False)
    model.optimizer.build(model.trainable_weights)
    model._train_task(name, data)


def values(weights) -> list[np.ndarray]:
    return [weight.numpy() for weight in weights]


def gradients(model, name) -> dict[str, np.ndarray]:
    """Of the mean cross-entropy of a task's examples, without a line of our training."""
    [(x, y)] = ta.batches(TRAIN[name], TASKS[name], model.encoder, shuffle=False)
    with tf.GradientTape() as tape:
        logits = model.models[name](x, training=True)
        losses = -tf.gather(tf.nn.log_softmax(logits), tf.maximum(y, 0), batch_dims=y.shape.rank)
        real = tf.cast(y >= 0, tf.float32)
        loss = tf.reduce_sum(losses * real) / tf.reduce_sum(real)
    found = tape.gradient(loss, model.weights)
    return [
        np.zeros(weight.shape) if one is None else tf.convert_to_tensor(one).numpy()
        for one, weight in zip(found, model.weights, strict=True)
    ]


@pytest.mark.slow
def test_two_steps_move_by_the_weighted_sum_of_two_gradients(shallow_bert):
    model = multi(shallow_bert, loss_weights=WEIGHTS)
    start = values(model.weights)
    moves = []
    for name in TASKS:
        expected = gradients(model, name)
        model.fit(only(name, model), verbose=0)
        moved = [after - before for after, before in zip(values(model.weights), start, strict=True)]
        moves.append(moved)
        for move, gradient in zip(moved, expected, strict=True):
            np.testing.assert_allclose(move, -0.1 * WEIGHTS[name] * gradient, atol=2e-6)
        for weight, value in zip(model.weights, start, strict=True):
            weight.assign(value)
    # Not by chance: both move the encoder, each its own head alone.
    heads = {id(w): name for name, one in model.models.items() for w in one.head.weights}
    for weight, first, second in zip(model.weights, *moves, strict=True):
        owner = heads.get(id(weight))
        assert np.any(first) == (owner in (None, "pair") and bool(np.any(first)))
        assert not np.any(second if owner == "pair" else first if owner == "tag" else 0)
    encoder = [move for w, move in zip(model.weights, moves[0], strict=True) if id(w) not in heads]
    assert sum(np.any(move) for move in encoder) > 10


@pytest.mark.slow
def test_epochs_of_one_task_are_those_of_a_model_of_this_task(shallow_bert):
    """Bit by bit, AdamW's slots too; the other head and its slots stay what they were."""
    model = multi(shallow_bert, keras.optimizers.AdamW(1e-2))
    one = model.models["pair"]
    alone = ta.build_model(TASKS["pair"], ta.HubEncoder(shallow_bert), adaptation="fine_tuning")
    without_dropout(alone)
    for target, source in zip(alone.weights, one.weights, strict=True):
        target.assign(source)
    alone.compile(
        ta.DiscriminativeOptimizer(keras.optimizers.AdamW(1e-2), alone.encoder),
        TASKS["pair"].loss,
        metrics=TASKS["pair"].metrics,
    )
    other = values(model.models["tag"].head.weights)
    batches = ta.batches(TRAIN["pair"], TASKS["pair"], alone.encoder, batch_size=2)
    expected = alone.fit(batches, epochs=2, verbose=0).history
    found = model.fit(only("pair", model, batch_size=2), epochs=2, verbose=0).history
    for weight, target in zip(one.weights, alone.weights, strict=True):
        np.testing.assert_array_equal(weight, target, err_msg=weight.path)
    for before, weight in zip(other, model.models["tag"].head.weights, strict=True):
        np.testing.assert_array_equal(before, weight)
    slots = {w.variable.path: w.slots for w in model.optimizer._weights.values()}
    head = [slots[weight.path] for weight in model.models["tag"].head.weights]
    assert not any(np.any(slot.numpy()) for found in head for slot in found)
    for name, history in expected.items():
        assert found[f"pair/{name}"] == history
        assert all(map(np.isnan, found[f"tag/{'loss' if name == 'loss' else 'span_f1'}"]))


@pytest.fixture(scope="module")
def fitted(shallow_bert):
    """In two stages, of an epoch each; which stages changed the encoder."""
    model = multi(
        shallow_bert, keras.optimizers.AdamW(1e-2), loss_weights=WEIGHTS, adaptation="two_stage"
    )
    batches = ta.multi_task_batches(
        TRAIN, TASKS, model.encoder, batch_size=1, sampling="annealed", epochs=2
    )
    states = [values(model.encoder.weights)]
    for epoch in range(2):
        fit = {"initial_epoch": epoch, "epochs": epoch + 1, "verbose": 0}
        history = model.fit(batches, **fit).history
        states.append(values(model.encoder.weights))
    moved = [not all(map(np.array_equal, *pair)) for pair in zip(states, states[1:], strict=False)]
    return model, history, moved


@pytest.mark.slow
def test_phases_and_scores_are_those_of_all_tasks(fitted):
    model, history, moved = fitted
    assert moved == [False, True]
    assert {"loss", "pair/accuracy", "pair/loss", "tag/span_f1"} <= set(history)
    batches = ta.multi_task_batches(TRAIN, TASKS, model.encoder, batch_size=2, shuffle=False)
    found = model.evaluate(batches, return_dict=True, verbose=0)
    weighted = 0
    for name, task in TASKS.items():
        one = model.models[name]
        [(x, y)] = ta.batches(TRAIN[name], task, model.encoder, shuffle=False)
        scores = one.test_on_batch(x, y, return_dict=True)
        for metric in ("accuracy", "span_f1"):
            assert found.get(f"{name}/{metric}") == scores.get(metric)
        weighted += WEIGHTS[name] * found[f"{name}/loss"] * len(TRAIN[name])
    assert found["loss"] == pytest.approx(weighted / 6, rel=1e-5)
    with pytest.raises(ConfigError, match=r"use tf_adapt.predict\(model.models\[TASK\], texts\)"):
        model.predict([])


@pytest.mark.slow
def test_saved_and_loaded_it_is_the_same_model(fitted, tmp_path):
    model, *_ = fitted
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.loss_weights == WEIGHTS and list(loaded.models) == list(TASKS)
    assert len({id(one.encoder) for one in loaded.models.values()}) == 1
    for one, other in (
        (model.weights, loaded.weights),
        (model.optimizer.variables, loaded.optimizer.variables),
    ):
        assert len(one) == len(other)
        for weight, same in zip(one, other, strict=True):
            np.testing.assert_array_equal(weight, same)


def test_a_group_that_one_head_reads_is_trained(shallow_bert):
    """The pooler: the pair's head reads it, the tagger does not."""
    encoder = ta.HubEncoder(shallow_bert)
    for order in (("pair", "tag"), ("tag", "pair")):
        ta.build_multi_task_model(
            {name: TASKS[name] for name in order}, encoder, adaptation="fine_tuning"
        )
        assert "pooler" in encoder.trainable_groups
    tags = {"one": TASKS["tag"], "two": TASKS["tag"]}
    ta.build_multi_task_model(tags, encoder, adaptation="fine_tuning")
    assert "pooler" not in encoder.trainable_groups


@pytest.mark.parametrize("order", [("tag", "pair"), ("pair", "tag")])
def test_a_group_that_the_adaptation_leaves_alone_stays_frozen(shallow_bert, order):
    """The pooler: the pair's head reads it, the tagger's does not, and nothing trains it."""
    encoder = ta.HubEncoder(shallow_bert)
    tasks = {name: TASKS[name] for name in order}
    ta.build_multi_task_model(tasks, encoder, adaptation=ta.lora(2))
    assert encoder.unread_groups == ()
    assert encoder.trainable_groups == ["lora"]


@pytest.mark.slow
def test_a_step_without_a_gradient_counts_and_moves_nothing(shallow_bert):
    """In the phase of the pooler alone, which the tagger does not read."""
    model = multi(shallow_bert, keras.optimizers.AdamW(1e-2), adaptation="chain_thaw")
    phase = 1 + [name for name, _ in model.encoder.layer_groups].index("pooler")
    epoch = {"initial_epoch": phase, "epochs": phase + 1, "verbose": 0}
    before = values(model.weights)
    history = model.fit(only("tag", model, batch_size=1), **epoch).history
    assert model.encoder.trainable_groups == ["pooler"]
    assert all(map(np.array_equal, before, values(model.weights)))
    assert history["tag/loss"][0] > 0 and history["loss"] == history["tag/loss"]
    assert int(model.optimizer.iterations) == len(TRAIN["tag"])
    assert float(model.gradient_norm.value) == 0
    model.fit(only("pair", model, batch_size=1), **epoch)
    moved = [not np.array_equal(*pair) for pair in zip(before, values(model.weights), strict=True)]
    assert [w.path for w, one in zip(model.weights, moved, strict=True) if one] == [
        w.path for name, weights in model.encoder.layer_groups if name == "pooler" for w in weights
    ]
    assert int(model.optimizer.iterations) == len(TRAIN["tag"]) + len(TRAIN["pair"])


@pytest.mark.slow
def test_attention_of_its_own_is_trained_by_its_task_alone(tiny_bert):
    """Penalised too: the pull has a gradient for all weights of a model."""
    encoder = ta.HubEncoder(tiny_bert)
    model = ta.build_multi_task_model(TASKS, encoder, adaptation="fine_tuning", task_attention=3)
    for one in model.models.values():
        ta.l2_sp(one, encoder)
    model.compile(ta.DiscriminativeOptimizer(keras.optimizers.AdamW(1e-2), encoder))
    named = encoder.native.weights_by_name()
    own = {task: [n for n in named if f"{task}_attention/" in n] for task in TASKS}
    assert len(own["pair"]) == len(own["tag"]) > 10
    for task, other in (("pair", "tag"), ("tag", "pair")):
        before = {name: weight.numpy() for name, weight in named.items()}
        step(model, task)
        step(model, task)
        moved = {name for name, weight in named.items() if np.any(weight.numpy() != before[name])}
        # One number more for all scores of a query changes no attention weight.
        assert {n for n in own[task] if not n.endswith("key/bias")} <= moved
        assert moved.isdisjoint(own[other]) and "layer_0/attention/query/kernel" in moved
    copy = type(model).from_config(model.get_config())
    assert copy.encoder.added == encoder.added == TaskAttention(TASKS, 3)
    assert [one.task_name for one in copy.models.values()] == list(TASKS)
    for weight, same in zip(model.weights, copy.weights, strict=True):
        assert weight.shape == same.shape


@pytest.mark.slow
def test_an_elmo_whose_pairs_are_encoded_apart(tiny_elmo):
    encoder = ta.HubEncoder(tiny_elmo)
    heads = {"pair": "bi_attention", "tag": {"head": "crf"}}
    model = ta.build_multi_task_model(TASKS, encoder, heads, adaptation="fine_tuning")
    model.compile(ta.DiscriminativeOptimizer(keras.optimizers.AdamW(1e-2), encoder))
    before = values(model.weights)
    for name in TASKS:
        step(model, name)
    assert np.isfinite(model.get_metrics_result()["loss"])
    moved = [not np.array_equal(*pair) for pair in zip(before, values(model.weights), strict=True)]
    learning = {id(weight) for weight in model.trainable_weights}
    assert moved == [id(weight) in learning for weight in model.weights]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"tasks": {"pair": TASKS["pair"]}}, "tasks: expected at least two, got pair"),
        ({"tasks": {"a-b": TASKS["pair"], "c": TASKS["tag"]}}, "letters, digits and _.*'a-b'"),
        ({"loss_weights": {"tag": 0}}, "loss_weights: tag: expected a number above 0, got 0.0"),
        ({"loss_weights": {"tags": 1}}, "loss_weights: expected some of the tasks pair, tag"),
        ({"heads": {"tags": "crf"}}, "heads: expected some of the tasks pair, tag, got tags"),
        ({"adaptation": "feature_extraction"}, "encoder: expected one that is trained"),
        ({"tasks": TASKS | {"lm": ta.Task("language_model")}}, "a language model predicts no"),
    ],
)
def test_wrong_arguments_are_refused(shallow_bert, changes, problem):
    given = {"tasks": TASKS, "adaptation": "fine_tuning"} | changes
    with pytest.raises(ConfigError, match=problem):
        ta.build_multi_task_model(encoder=ta.HubEncoder(shallow_bert), **given)


@pytest.mark.slow
def test_wrong_attention_of_tasks_is_refused(shallow_bert):
    others = ta.HubEncoder(shallow_bert)
    others.add(TaskAttention(("pair", "tags"), size=3))
    with pytest.raises(ConfigError, match="task_attention: expected some of the tasks pair, tag"):
        ta.build_multi_task_model(TASKS, others, adaptation="fine_tuning")
    fewer = ta.HubEncoder(shallow_bert)
    fewer.add(TaskAttention(("pair",), size=3))
    with pytest.raises(ConfigError, match="task: expected one of pair, whose own.*got 'tag'"):
        ta.build_multi_task_model(TASKS, fewer, adaptation="fine_tuning")
    encoder = ta.HubEncoder(shallow_bert)
    with pytest.raises(ConfigError, match="encoder: expected one that is trained"):
        ta.build_multi_task_model(TASKS, encoder, adaptation="feature_extraction", task_attention=3)
    with pytest.raises(ConfigError, match="got None; build models with.*multi_task_model"):
        ta.build_model(TASKS["pair"], encoder)
    with pytest.raises(ConfigError, match="task_name: expected none for an encoder without task"):
        ta.build_model(TASKS["pair"], ta.HubEncoder(shallow_bert), task_name="pair")


def test_models_of_several_encoders_are_refused(shallow_bert):
    models = {
        name: ta.build_model(task, ta.HubEncoder(shallow_bert)) for name, task in TASKS.items()
    }
    with pytest.raises(ConfigError, match="expected models of one HubEncoder"):
        ta.MultiTaskModel(models)
    encoder = models["tag"].encoder
    models["pair"] = ta.build_model(TASKS["pair"], encoder, auxiliaries=[keras.layers.Layer()])
    with pytest.raises(ConfigError, match="expected models without auxiliary losses"):
        ta.MultiTaskModel(models)


@pytest.mark.large
def test_two_devices_train_as_one(tiny_bert):
    child = Path(__file__).parents[1] / "children" / "multi_task_on_two_devices.py"
    command = [sys.executable, str(child), str(tiny_bert)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    one, two = (json.loads(done.stdout)[devices] for devices in ("one", "two"))
    np.testing.assert_allclose(two["weights"], one["weights"], atol=2e-6)
    for phase in ("fit", "evaluate"):
        assert one[phase].keys() == two[phase].keys()
        for name, value in one[phase].items():
            assert two[phase][name] == pytest.approx(value, abs=2e-6), name
    assert np.abs(np.subtract(one["weights"], one["start"])).max() > 1e-3
