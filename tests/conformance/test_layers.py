"""What every public layer and head must do; a new one gets a row in `layer_table`."""

import importlib
import inspect
import pkgutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from huggingface_folders import keras_hub_is_new
from layer_arguments import arguments_of

import hub_modules
import tf_adapt
from hub_modules.native.weights import set_trainable

IGNORED = {
    "HeadLayer": "what the heads share; each head is in the table",
    "VectorReader": "what the heads share that read one vector a text",
    "GroupedLayer": "what freezes the groups of a HubEncoder",
    "BlackBoxEncoder": "made of a restored SavedModel, not of plain values; see parity",
    "SentenceEncoder": "of a restored SavedModel; see hub_modules/programs/test_sentence_module.py",
    "HubEncoder": "a module around an encoder of this table; see encoder/test_hub_encoder.py",
    "MaskedLanguageModel": "around an output layer; see models/test_language_objectives.py",
    "BiLanguageModel": "around an output layer; see models/test_language_objectives.py",
    "CausalLanguageModel": "of an encoder's table; see models/test_causal_language_model.py",
    "LstmLanguageModel": "around an output layer; see encoder/test_lstm_modules.py",
    "VectorHead": "around a layer of the user's; see heads/test_vector_head.py",
    "Standardisation": "learns nothing by gradients; see layers/test_standardisation.py",
    "ConcatPoolingHead": "has moving averages; see heads/test_concat_pooling.py",
    "Distillation": "around an encoder; see models/test_distillation.py",
    "RestrictedViews": "of a consistency loss; see models/test_consistency.py",
    "Consistency": "of a model's own predictions; see models/test_consistency.py",
    "SliceHeads": "makes its heads like those of a model; see models/test_slice_heads.py",
    "AuxiliaryLoss": "around one of these four; see models/test_auxiliary_loss.py",
    "LanguageModel": "a model; see models/test_language_model.py",
    "TrainSteps": "a model without parts, for AdaptedModel; see models/test_adapted_model.py",
    "PhasedModel": "a model without parts, for the next two",
    "AdaptedModel": "made of a task, an encoder and a head; see models/test_adapted_model.py",
    "DialogModel": "with the rows of dialogues; see models/dialog/test_dialog_model.py",
    "EncoderDecoder": "two HubEncoders; see models/text_generation/test_encoder_decoder.py",
    "EncoderDecoderModel": "of two modules; see models/text_generation/test_encoder_decoder.py",
    "CrossAttentions": "of a decoder; see parity/test_huggingface_encoder_decoder.py",
    "CrossBlock": "one of these; see parity/test_huggingface_encoder_decoder.py",
    "CrossAttention": "one of these; see parity/test_huggingface_encoder_decoder.py",
    "ReplyChooser": "on states, of DialogModel; see models/dialog/test_dialog_model.py",
    "ContrastiveModel": "around an AdaptedModel's encoder; see models/test_contrastive.py",
    "MultiTaskModel": "made of several of these; see models/test_multi_task_model.py",
}
if not keras_hub_is_new():
    IGNORED["KerasHubEncoder"] = "keras-hub is not installed, or too old"


def public_layers() -> set[str]:
    found = set()
    for package in (hub_modules, tf_adapt):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if module.name.endswith("__main__"):
                continue
            for name, value in vars(importlib.import_module(module.name)).items():
                ours = getattr(value, "__module__", None) == module.name
                if ours and inspect.isclass(value) and issubclass(value, keras.layers.Layer):
                    found.add(name)
    return {name for name in found if not name.startswith("_")}


def assert_close(got: list, expected: list, tolerance: float = 1e-6) -> None:
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance, rtol=tolerance)


@pytest.mark.slow
def test_every_public_layer_is_in_the_table(rows):
    layers = [row.layer(**row.config) for row in rows.values()]
    tested = {type(part).__name__ for layer in layers for part in layer._flatten_layers()}
    public = public_layers()
    assert {"BertEncoder", "LinearHead"} <= public
    missing = public - tested - set(IGNORED)
    assert not missing, "give these layers a row in layer_table, or a reason in IGNORED"
    assert set(IGNORED) <= public - tested, "ignored, but in the table or gone"


def test_the_config_is_complete(layer_row):
    config = layer_row.config | layer_row.unusual
    arguments = arguments_of(type(layer_row.layer(**config)))
    assert set(config) == set(arguments), "a row's config and unusual name every argument"
    layer = layer_row.layer(**config, name="mine", dtype="mixed_bfloat16", trainable=False)
    for name, value in config.items():
        assert value != arguments[name].default, f"{name}: the default would hide a loss"
        assert value == layer.get_config()[name], name
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert again.get_config() == layer.get_config()
    for name in arguments:
        assert getattr(layer, name) == getattr(again, name) == layer.get_config()[name]


def test_the_config_of_every_part_is_complete(layer):
    for part in layer._flatten_layers():
        if type(part).__module__.startswith(("hub_modules.", "tf_adapt.")):
            config = part.get_config()
            fixed = set(getattr(part, "fixed_arguments", ()))
            assert arguments_of(type(part)).keys() - fixed <= set(config), type(part).__name__
            assert not fixed & set(config)
            assert type(part).from_config(config).get_config() == config


def test_a_symbolic_call_builds_every_weight(row, layer):
    def unknown_sizes(array):
        known = array.shape[-1:] if array.dtype == "float32" else array.shape[2:]
        unknown = [None] * (array.ndim - len(known))
        return keras.KerasTensor([*unknown, *known], str(array.dtype))

    symbolic = row.layer(**row.config)
    inputs = keras.tree.map_structure(unknown_sizes, row.inputs(0))
    if row.call:
        symbolic.build(keras.tree.map_structure(lambda tensor: tensor.shape, inputs[0]))
    else:
        symbolic(*inputs)
    shapes = [tuple(weight.shape) for weight in symbolic.weights]
    assert shapes == [tuple(weight.shape) for weight in layer.weights]
    row.outputs(symbolic, *row.inputs(1))
    assert len(symbolic.weights) == len(shapes)


def test_padding_and_a_graph_never_change_a_result(row, layer, expected):
    assert_close(row.results(layer, extra=1), expected)
    assert_close(row.results(layer, extra=50, graph=True), expected)


def test_restored_variables_give_bitwise_the_same(row, layer, expected, tmp_path):
    other = row.make(seed=1)
    np.savez(tmp_path / "weights.npz", *[variable.numpy() for variable in layer.variables])
    assert not all(map(np.array_equal, expected, row.results(other)))
    with np.load(tmp_path / "weights.npz", allow_pickle=False) as arrays:
        for variable, array in zip(other.variables, arrays.values(), strict=True):
            variable.assign(array)
    for got, wanted in zip(row.results(other), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_mixed_precision(row, expected):
    mixed = row.make(dtype="mixed_bfloat16")
    for part in row.real(row.outputs(mixed, *row.inputs(1), training=True)):
        assert part.dtype == ("float32" if row.gives_logits else mixed.compute_dtype)
        assert np.isfinite(tf.cast(part, tf.float32)).all()
    assert {weight.dtype for weight in mixed.weights} == {"float32"}
    scale = 1 + max(np.abs(part).max() for part in expected)
    assert_close(row.results(mixed), expected, tolerance=0.05 * scale)


def gradients(row, layer) -> dict[str, np.ndarray | None]:
    """Gradient of every weight, trainable or not, by its path."""
    random = np.random.default_rng(9)
    with tf.GradientTape() as tape:
        for weight in layer.weights:
            tape.watch(weight.value)
        parts = row.real(row.outputs(layer, *row.inputs(2), training=True))
        loss = tf.add_n([tf.reduce_sum(part * random.normal(size=part.shape)) for part in parts])
    found = tape.gradient(loss, [weight.value for weight in layer.weights])
    return {
        weight.path: None if one is None else np.asarray(tf.convert_to_tensor(one))
        for weight, one in zip(layer.weights, found, strict=True)
    }


def test_the_gradient_reaches_every_trainable_weight(row, layer):
    assert len(layer.trainable_weights) == len(layer.weights)
    for path, gradient in gradients(row, layer).items():
        assert gradient is not None, path
        assert np.isfinite(gradient).all(), path
        # Adding one number to all scores of a query changes no attention weight.
        assert gradient.any() or path.endswith("key/bias"), path
    layer.trainable = False
    assert layer.trainable_weights == []
    layer.trainable = True


def test_no_gradient_is_computed_below_the_lowest_trainable_group(encoder_row):
    layer = encoder_row.make()
    names = [name for name, _ in layer.layer_groups]
    for count, name in enumerate(names, start=1):
        set_trainable(layer.layer_groups, names[count:])
        found = gradients(encoder_row, layer)
        learning = {weight.path for weight in layer.trainable_weights}
        assert {path for path, gradient in found.items() if gradient is not None} == learning, name
    assert not learning


@pytest.mark.slow
def test_training_reaches_every_dropout(plain_row):
    row = plain_row
    names = [name for name in row.config if "dropout" in name]
    none = dict.fromkeys(names, 0.0)
    expected = row.results(row.make(**none), training=True) if names else []
    for name in names:
        layer = row.make(**none | {name: 0.99999})
        assert_close(row.results(layer, training=False), expected)
        # All is dropped: chance has no part in it, and next to nothing of the input is left.
        dropped = row.results(layer, training=True)
        assert_close(row.results(layer, training=True), dropped)
        changes = [np.abs(one - other).max() for one, other in zip(dropped, expected, strict=True)]
        assert max(changes) > 0.001
