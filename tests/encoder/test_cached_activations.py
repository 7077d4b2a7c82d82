"""States at a frozen layer, kept: an encoder says from them what it says of the texts."""

import numpy as np
import pytest
import tensorflow as tf
from small_data import RECORDS, TASKS, TEXTS

import tf_adapt as ta
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder.cached_activations import KeptStates
from tf_adapt.layers.scalar_mix import ScalarMix

LAYERS = {"bert": ["layer_1", "layer_0"], "elmo": ["lstm_1", "lstm_0", "char_cnn"]}
UNLIMITED = 1000


@pytest.fixture(scope="module")
def encoders(tiny_bert, tiny_elmo):
    return {
        name: ta.HubEncoder(handle) for name, handle in (("bert", tiny_bert), ("elmo", tiny_elmo))
    }


def data_of(encoder, kind="classification", records=None, **options):
    return prepare(records or RECORDS[kind], TASKS[kind], encoder, **options)


def batch(data, order=(2, 0, 3)):
    inputs, _ = data.batch(tf.constant(order, tf.int64))
    return inputs


def key(inputs) -> list[str]:
    return [name for name in inputs["a"] if name.startswith("states")]


def wanting(layers):
    """What `layers_to_keep` would say: these layers, or as many of them as there is room for."""
    return lambda room: layers[:room]


def check_same(encoder, data, kept, layer, order=(2, 0, 3)):
    texts, states = batch(data, order), batch(kept, order)
    assert key(states) == [f"states_of_{layer}"] and key(texts) == []
    left_out = encoder.layer_names.index(layer)
    for name in texts:
        expected, found = encoder(texts[name]), encoder(states[name])
        assert found.keys() == expected.keys()
        mask = expected["mask"].numpy()
        np.testing.assert_array_equal(found["mask"], mask)
        assert len(found["layers"]) == len(expected["layers"]) - left_out
        for ours, theirs in zip(found["layers"], expected["layers"][left_out:], strict=True):
            np.testing.assert_allclose(ours.numpy()[mask], theirs.numpy()[mask], atol=1e-5)
        if "pooled" in expected:
            np.testing.assert_allclose(found["pooled"], expected["pooled"], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "kind"),
    [("bert", "pair_classification"), ("bert", "tagging"), ("elmo", "pair_classification")],
)
def test_from_each_layer_upwards(encoders, family, kind):
    encoder = encoders[family]
    data, states = data_of(encoder, kind), KeptStates(encoder, UNLIMITED)
    for number, layer in enumerate(LAYERS[family]):
        kept = states.data("train", data, wanting(LAYERS[family][number:]), epoch=number)
        check_same(encoder, data, kept, layer)


def test_document_context(encoders):
    records = [
        TaggedSentence(text.split(), ["O"] * len(text.split()), document=number // 2)
        for number, text in enumerate(TEXTS)
    ]
    data = data_of(encoders["bert"], "tagging", records, document_context=True)
    kept = KeptStates(encoders["bert"], UNLIMITED).data("train", data, wanting(["layer_0"]), 0)
    check_same(encoders["bert"], data, kept, "layer_0")


@pytest.mark.parametrize("family", LAYERS)
def test_gradients_above_the_layer(encoders, family):
    encoder, layer = encoders[family], LAYERS[family][1]
    above = encoder.layer_names[encoder.layer_names.index(layer) + 1 :]
    data = data_of(encoder)
    kept = KeptStates(encoder, UNLIMITED).data("train", data, wanting([layer]), 0)
    encoder.set_trainable_groups(above)
    weights, found = encoder.trainable_weights, []
    for one in (data, kept):
        with tf.GradientTape() as tape:
            encoded = encoder(batch(one)["a"])
            real = tf.boolean_mask(encoded["layers"][-1], encoded["mask"])
            loss = tf.reduce_sum(tf.square(real + 1.0))
        found.append(tape.gradient(loss, weights))
    encoder.trainable = True
    assert len(weights) == sum(len(dict(encoder.layer_groups)[name]) for name in above)
    for expected, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)


def test_half_precision_is_kept_as_it_is(tiny_bert):
    encoder = ta.HubEncoder(tiny_bert, dtype="mixed_bfloat16")
    kept = KeptStates(encoder, UNLIMITED).data("train", data_of(encoder), wanting(["layer_0"]), 0)
    inputs = batch(kept)["a"]
    assert inputs["states_of_layer_0"].dtype == tf.bfloat16
    assert [layer.dtype for layer in encoder(inputs)["layers"]] == [tf.bfloat16] * 2


@pytest.fixture
def passes(monkeypatch):
    """The layers of each pass over the texts."""
    found, computed = [], KeptStates._features

    def watched(self, prepared, number, layers, folder):
        found.append(layers)
        return computed(self, prepared, number, layers, folder)

    monkeypatch.setattr(KeptStates, "_features", watched)
    return found


def test_one_pass_for_as_long_as_nothing_below_learns(encoders, passes):
    encoder = encoders["elmo"]
    data, states = data_of(encoder), KeptStates(encoder, UNLIMITED)
    for epoch, layers in enumerate([["lstm_1", "lstm_0"], ["lstm_1", "lstm_0"], ["lstm_0"]]):
        kept = states.data("train", data, wanting(layers), epoch)
        assert key(batch(kept)) == [f"states_of_{layers[0]}"]
    assert passes == [["lstm_1", "lstm_0"]]
    # lstm_1 has learnt in the meantime.
    states.data("train", data, wanting(["lstm_1"]), 3)
    assert passes[1:] == [["lstm_1"]]
    assert states.data("train", data, wanting([]), 4) is data
    states.data("train", data, wanting(["lstm_1"]), 5)
    assert passes[2:] == [["lstm_1"]]


def test_each_split_has_its_own(encoders, passes):
    encoder = encoders["elmo"]
    train, dev = data_of(encoder), data_of(encoder, records=RECORDS["classification"][:2])
    states = KeptStates(encoder, UNLIMITED)
    for _ in range(2):
        check_same(encoder, train, states.data("train", train, wanting(["lstm_0"]), 0), "lstm_0")
        kept = states.data("dev", dev, wanting(["lstm_0"]), 0)
        check_same(encoder, dev, kept, "lstm_0", order=(1, 0))
    assert passes == [["lstm_0"], ["lstm_0"]]


def test_weights_of_an_earlier_epoch_come_back(encoders, passes):
    encoder = encoders["elmo"]
    data, states = data_of(encoder), KeptStates(encoder, UNLIMITED)
    states.data("train", data, wanting(["lstm_0"]), epoch=3)
    states.weights_restored(3)
    states.data("train", data, wanting(["lstm_0"]), epoch=5)
    assert len(passes) == 1
    states.weights_restored(2)
    states.data("train", data, wanting(["lstm_0"]), epoch=6)
    assert len(passes) == 2


def test_the_limit(encoders, passes, caplog):
    encoder = encoders["elmo"]
    # 15 words, and two for the ends of each of 4 texts, of 16 numbers of four bytes.
    data = data_of(encoder)
    assert KeptStates(encoder, 0).data("train", data, wanting(["lstm_1", "lstm_0"]), 0) is data
    assert passes == []
    one_layer = (15 + 8) * 16 * 4 / 1e6
    states = KeptStates(encoder, 1.9 * one_layer)
    states.data("train", data, wanting(["lstm_1", "lstm_0"]), 0)
    assert passes == [["lstm_1"]]
    assert caplog.text.count("features.limit_mb") == 1
    states = KeptStates(encoder, 0.9 * one_layer)
    assert [states.data(split, data, wanting(["lstm_1"]), 0) is data for split in ("train", "dev")]
    assert caplog.text.count("features.limit_mb") == 2


def test_a_mix_wants_all_layers(encoders):
    encoder, mix = encoders["elmo"], ScalarMix()
    data = data_of(encoder)
    encoded = encoder(batch(data)["a"])
    mix(encoded["layers"], encoded["mask"])
    kept = KeptStates(encoder, UNLIMITED).data("train", data, wanting(["lstm_0"]), 0)
    encoded = encoder(batch(kept)["a"])
    with pytest.raises(ValueError, match="layers: expected 3, as many as at first, got 2"):
        mix(encoded["layers"], encoded["mask"])
