"""Kernels cast once for many calls: the same bits as cast in each, and never those of before."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_data import RECORDS, TASKS, TEXTS

import tf_adapt as ta
from hub_modules.native.kernels.half_kernels import given_kernels, half_kernels
from tf_adapt.training.resolving.compiled_model import precision

HALF = ["bfloat16", pytest.param("float16", marks=pytest.mark.large)]


def model_of(handle, half=None, adaptation=None, head="bcn"):
    with precision(half):
        encoder = ta.HubEncoder(handle)
        return ta.build_model(TASKS["classification"], encoder, head, adaptation)


def inputs_of(model) -> dict:
    preprocessor = model.encoder.preprocessor
    return {"a": preprocessor.pack([preprocessor.tokenize(tf.constant(TEXTS))])}


@pytest.mark.slow
@pytest.mark.parametrize("half", HALF)
@pytest.mark.parametrize(
    "adapters",
    [
        "bottleneck",
        *(pytest.param(one, marks=pytest.mark.large) for one in (None, "projected_attention")),
    ],
)
def test_the_same_bits(tiny_bert, half, adapters):
    model = model_of(tiny_bert, half, adapters and ta.adapters(adapters, 4))
    inputs, kernels = inputs_of(model), half_kernels(model)
    # Six a block, the pooler, two of BCN's and its three Maxout layers; and the adapters'.
    assert len(kernels) > 12 and all(kernel.dtype == half for kernel in kernels)
    expected = tf.function(model.predictions, autograph=False)(inputs)
    for name, found in model.inference.for_pass()(inputs).items():
        np.testing.assert_array_equal(found, expected[name])


def test_they_are_what_is_read(tiny_bert):
    model = model_of(tiny_bert, "bfloat16")
    inputs, kernels = inputs_of(model), half_kernels(model)
    graph = model.inference._graph.get_concrete_function(kernels, inputs)
    read = {id(variable) for variable in graph.variables}
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dense) and layer.compute_dtype == "bfloat16":
            assert id(layer.kernel.value) not in read
    zeros = [tf.zeros_like(kernel) for kernel in kernels]
    with given_kernels(model, zeros):
        found = model.predictions(inputs)["probabilities"]
    assert not np.array_equal(found, model.predictions(inputs)["probabilities"])


def test_none_in_float32(tiny_bert):
    assert half_kernels(model_of(tiny_bert)) == []


@pytest.mark.slow
def test_weights_that_changed_are_read(shallow_bert):
    model = model_of(shallow_bert, "bfloat16", head="linear")
    texts = [record[0] for record in RECORDS["classification"]]
    before, vectors = ta.predict(model, texts), ta.encode(model.encoder, texts)
    kernel = model.encoder.native.blocks[0].intermediate.kernel
    kernel.assign(10 * kernel)
    after, vectors_after = ta.predict(model, texts), ta.encode(model.encoder, texts)
    assert [one.scores for one in before] != [one.scores for one in after]
    assert not np.array_equal(vectors[0][-1], vectors_after[0][-1])


@pytest.mark.slow
@pytest.mark.parametrize("half", HALF)
def test_an_export_holds_them_alone(shallow_bert, half, tmp_path):
    model = model_of(shallow_bert, half, head="linear")
    served = tf.saved_model.load(str(ta.export(model, tmp_path / "export")))
    kept = {tuple(one.shape): one.dtype for one in served.given}
    assert set(kept.values()) == {tf.as_dtype(half)}
    held = [one for one in served.variables if tuple(one.shape) == (16, 32)]
    assert held == []  # of the intermediate kernels, none in float32
    found = served.signatures["serving_default"](text=tf.constant(TEXTS))
    expected = model.predictions(inputs_of(model))["probabilities"]
    np.testing.assert_allclose(found["scores"], expected, atol=1e-3)
