"""An encoder with LoRA is served, and written as a module, as one without: the same costs."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from adapted_encoders import adapted

import tf_adapt as ta
from hub_modules.native.added.settings import TARGETS
from tf_adapt.serving.exports.shared_export import ServedTask, export_shared
from tf_adapt.training.finished.module_export import module_source

TEXTS = ["the cat sat on the mat", "what is it", "who"]
TASK = ("classification", ["no", "yes"])


def made(handle, lora=None):
    encoder = ta.HubEncoder(handle)
    encoder = encoder if lora is None else adapted(lora, handle)
    model = ta.build_model(ta.Task(TASK[0], labels=TASK[1]), encoder, "linear")
    random = np.random.default_rng(3)
    model.head.dense.kernel.assign(random.normal(0, 2, model.head.dense.kernel.shape))
    for layer in encoder.native.adapter_layers:
        layer.b.assign(random.normal(0, 0.3, layer.b.shape))
    return model


def scores(model):
    return [one.scores for one in ta.predict(model, TEXTS)]


def operations(loaded) -> list[str]:
    """The kinds of operations of a signature's whole graph, sorted."""
    definition = loaded.signatures["serving_default"].graph.as_graph_def()
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    return sorted(node.op for node in nodes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy", ["float32", pytest.param("mixed_bfloat16", marks=pytest.mark.large)]
)
def test_a_served_model_with_lora_costs_nothing_more(policy, tiny_bert, tmp_path):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        plain = made(tiny_bert)
        model = made(tiny_bert, ta.lora(rank=2, target=TARGETS, in_layers=[1]))
    finally:
        keras.config.set_dtype_policy(before)
    weights = [weight.numpy() for weight in model.weights]
    expected = scores(model)
    assert np.abs(np.subtract(expected, scores(plain))).max() > 0.01
    loaded = {
        name: tf.saved_model.load(str(ta.export(one, tmp_path / name)))
        for name, one in (("plain", plain), ("lora", model))
    }
    answer = loaded["lora"].signatures["serving_default"](text=tf.constant(TEXTS))
    # In half precision W + AB is rounded once, not in two parts.
    tolerance = 1e-5 if policy == "float32" else 0.02
    np.testing.assert_allclose(answer["scores"], expected, atol=tolerance)
    shapes = {n: sorted(tuple(v.shape) for v in one.variables) for n, one in loaded.items()}
    assert shapes["lora"] == shapes["plain"]
    assert operations(loaded["lora"]) == operations(loaded["plain"])
    # Here nothing is changed by it.
    assert scores(model) == expected
    for weight, array in zip(model.weights, weights, strict=True):
        np.testing.assert_array_equal(weight, array)


@pytest.mark.slow
def test_tasks_that_differ_by_lora_and_biases_share_the_encoder(shallow_bert, tmp_path):
    other = adapted(ta.bitfit(), shallow_bert)
    other = ta.build_model(ta.Task(TASK[0], labels=TASK[1]), other, "linear")
    for weight in dict(other.encoder.layer_groups)["biases"]:
        weight.assign(weight.numpy() + 0.1)
    models = {"lora": made(shallow_bert, ta.lora(rank=2)), "bitfit": other}
    folder = export_shared({n: ServedTask(one) for n, one in models.items()}, tmp_path / "shared")
    loaded = tf.saved_model.load(str(folder))
    for name, model in models.items():
        answer = loaded.signatures[name](text=tf.constant(TEXTS))
        np.testing.assert_allclose(answer["scores"], scores(model), atol=1e-5)
    # All kernels, tables and scales are there once.
    shared = len(other.encoder.weights) - len(dict(other.encoder.layer_groups)["biases"])
    assert len(loaded.tasks["bitfit"].given) == shared


def test_a_module_holds_the_merged_kernels(shallow_bert):
    model = made(shallow_bert, ta.lora(rank=2))
    source = module_source(model)
    assert not any("lora" in name for name in (*source.weights, *source.config))
    plain = ta.HubEncoder(shallow_bert)
    plain.native.load_weights_by_name(source.weights)
    got, expected = plain(TEXTS)["layers"][-1], model.encoder(TEXTS)["layers"][-1]
    np.testing.assert_allclose(got, expected, atol=1e-5)
