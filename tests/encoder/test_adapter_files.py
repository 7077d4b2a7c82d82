"""Adapters as files: many tasks on one encoder; what does not fit is refused as a whole."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from adapted_encoders import adapted

import tf_adapt as ta
from hub_modules.native.added.settings import TaskAttention
from hub_modules.native.weights import count_parameters
from tf_adapt.encoder.adapter_files import load_adapters, save_adapters
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ArtifactError, ConfigError, TrainingError

NARROW = ta.adapters(size=4, in_layers=[1], activation="relu", operation="convolution")
PROJECTED = ta.adapters("projected_attention", size=4)


def made(handle, adaptation=ta.adapters(size=4)):  # noqa: B008
    return adapted(adaptation, handle)


def packed(encoder):
    return encoder.preprocessor.pack([encoder.preprocessor.tokenize(tf.constant(["the cat", "a"]))])


def outputs(encoder):
    return [np.asarray(layer) for layer in encoder(packed(encoder))["layers"]]


def group(encoder):
    return encoder.layer_groups[-1][1]


def train(encoder, target):
    """A task: three steps of the adapters towards a number."""
    encoder.set_trainable_groups([encoder.layer_groups[-1][0]])
    optimizer = keras.optimizers.Adam(0.05)
    for _ in range(3):
        with tf.GradientTape() as tape:
            top = encoder(packed(encoder), training=True)["layers"][-1][:, 0, 0]
            loss = tf.reduce_mean((top - target) ** 2)
        optimizer.apply(tape.gradient(loss, encoder.trainable_weights), encoder.trainable_weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("handle", "adapters"),
    [
        ("tiny_bert", PROJECTED),
        ("tiny_bert", NARROW),
        ("tiny_bert", ta.lora(2)),
        ("tiny_bert", ta.bitfit()),
        ("tiny_elmo", ta.adapters(size=4)),
    ],
)
def test_two_tasks_on_one_encoder_bit_by_bit(handle, adapters, request, tmp_path):
    handle = request.getfixturevalue(handle)
    encoder, expected = made(handle, adapters), {}
    start = [weight.numpy() for weight in group(encoder)]
    for name, target in (("a", 3.0), ("b", -3.0)):
        for weight, value in zip(group(encoder), start, strict=True):
            weight.assign(value)
        train(encoder, target)
        save_adapters(encoder, tmp_path / f"{name}.npz")
        expected[name] = outputs(encoder)
    assert np.abs(expected["a"][-1] - expected["b"][-1]).max() > 0.1
    for other in (encoder, made(handle, adapters)):
        for name in ("a", "b", "a"):
            load_adapters(other, tmp_path / f"{name}.npz")
            for got, wanted in zip(outputs(other), expected[name], strict=True):
                np.testing.assert_array_equal(got, wanted)


def test_a_file_holds_the_group_and_little_more(tiny_bert, tmp_path):
    encoder = made(tiny_bert, ta.adapters())
    path = save_adapters(encoder, tmp_path / "new" / "task.npz")
    # 2 blocks of 2 adapters and 2 LayerNorms each, and the LayerNorm of the embeddings.
    numbers = 2 * 2 * (2 * 16 * 64 + 16 + 64) + 5 * 2 * 16
    assert count_parameters(group(encoder)) == numbers
    assert 4 * numbers < path.stat().st_size < 4 * numbers + 16_000
    with np.load(path, allow_pickle=False) as stored:
        assert stored["layer_0/attention_adapter/down/kernel"].shape == (16, 64)
        record = json.loads(str(stored["record"]))
    assert (record["adapters"], record["adapter_size"]) == ("bottleneck", 64)
    assert record["module_hash"] == encoder.module_hash


@pytest.fixture(scope="module")
def saved(tiny_bert, tmp_path_factory):
    encoder = made(tiny_bert)
    return encoder, save_adapters(encoder, tmp_path_factory.mktemp("adapters") / "task.npz")


def test_the_attention_of_several_tasks_is_not_written(tiny_bert, tmp_path):
    encoder = HubEncoder(tiny_bert)
    encoder.add(TaskAttention(("a", "b"), size=3))
    with pytest.raises(ConfigError, match="got task_attention, beside which the encoder itself"):
        save_adapters(encoder, tmp_path / "task.npz")


def assert_refused(encoder, path, match):
    before = [weight.numpy() for weight in encoder.weights]
    with pytest.raises(ArtifactError, match=match):
        load_adapters(encoder, path)
    for old, weight in zip(before, encoder.weights, strict=True):
        np.testing.assert_array_equal(old, weight)


def test_adapters_of_another_encoder_are_refused(saved, tiny_bert):
    _, path = saved
    assert_refused(made("bert_small"), path, "module_hash: expected '.*', as of this .*, got '.*'")
    kind = "adapters: expected 'projected_attention', as of this encoder, got 'bottleneck'"
    assert_refused(made(tiny_bert, PROJECTED), path, kind)
    size = "adapter_size: expected 5, as of this encoder, got 4"
    assert_refused(made(tiny_bert, ta.adapters(size=5)), path, size)


def test_lora_and_biases_of_other_settings_are_refused(saved, tiny_bert, tmp_path):
    path = save_adapters(made(tiny_bert, ta.lora(2, in_layers=[1])), tmp_path / "lora.npz")
    with np.load(path, allow_pickle=False) as stored:
        names = {f"layer_1_{target}_lora/{n}" for target in ("query", "value") for n in "ab"}
        assert set(stored.files) == {*names, "record"}
    assert_refused(made(tiny_bert, ta.lora(2)), path, "lora: expected {.*_layers': None}.*got {")
    assert_refused(
        made(tiny_bert, ta.lora(2, 4.0, in_layers=[1])), path, "lora: expected .*'alpha': 4"
    )
    assert_refused(
        made(tiny_bert, ta.bitfit()), path, "lora: expected None, as of this encoder, got {"
    )
    assert_refused(made(tiny_bert, NARROW), saved[1], r"in_layers: expected \[1\], .* got None")
    path = save_adapters(made(tiny_bert, ta.bitfit()), tmp_path / "biases.npz")
    assert_refused(saved[0], path, "adapters: expected 'bottleneck', .* got None")
    # What a head reads of the encoder makes no difference.
    encoder = made(tiny_bert, ta.bitfit())
    encoder.leave_unread(["pooler"])
    load_adapters(encoder, path)
    assert path.read_bytes() == save_adapters(encoder, tmp_path / "again.npz").read_bytes()


def test_a_file_of_an_earlier_version_is_read(saved, tmp_path):
    encoder, path = saved
    with np.load(path, allow_pickle=False) as stored:
        arrays = dict(stored)
    record = json.loads(str(arrays["record"]))
    old = ("format", "module_hash", "adapters", "adapter_size", "sha256")
    arrays["record"] = np.array(json.dumps({name: record[name] for name in old}))
    np.savez(tmp_path / "old.npz", **arrays)
    load_adapters(encoder, tmp_path / "old.npz")


def test_embeddings_that_were_trained_too_are_not_left_out(tiny_bert, tmp_path):
    task = ta.Task("classification", labels=["a", "b"])
    adaptation = ta.adapters(size=4, train_embeddings=True)
    model = ta.build_model(task, HubEncoder(tiny_bert), adaptation=adaptation)
    save_adapters(model, tmp_path / "untrained.npz")
    words = model.encoder.native.embeddings.word_embeddings
    words.assign(words + 0.1)
    with pytest.raises(ConfigError, match="word_embeddings.*trained too, as with train_embeddings"):
        save_adapters(model, tmp_path / "task.npz")


def test_an_encoder_without_adapters_says_how_to_get_them(tiny_bert, tmp_path):
    plain = HubEncoder(tiny_bert)
    with pytest.raises(ConfigError, match="expected one with adapters"):
        save_adapters(plain, tmp_path / "task.npz")


@pytest.mark.slow
@pytest.mark.parametrize("adaptation", [ta.adapters(size=3), PROJECTED, ta.lora(2), ta.bitfit()])
def test_a_file_brings_its_adaptation_with_it(adaptation, shallow_bert, tmp_path):
    encoder = made(shallow_bert, adaptation)
    for weight in group(encoder):
        weight.assign(weight.numpy() + 0.1)
    path = save_adapters(encoder, tmp_path / "task.npz")
    task = ta.Task("classification", labels=["a", "b"])
    model = ta.build_model(task, HubEncoder(shallow_bert), "linear", "feature_extraction")
    before = ta.predict(model, ["the cat"])[0].scores
    load_adapters(model, path)
    assert model.encoder.added == encoder.added and model.encoder.trainable_groups == []
    for one, other in zip(outputs(model.encoder), outputs(encoder), strict=True):
        np.testing.assert_array_equal(one, other)
    assert ta.predict(model, ["the cat"])[0].scores != before
    built = ta.build_model(task, HubEncoder(shallow_bert), "linear", adaptation)
    load_adapters(built, save_adapters(model, tmp_path / "again.npz"))
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_a_file_of_another_module_gives_nothing(saved):
    plain = HubEncoder("bert_small")
    assert_refused(plain, saved[1], "module_hash: expected")
    assert plain.added is None


def test_an_untrained_encoder_takes_and_gives_no_file(saved, tiny_bert, tmp_path):
    untrained = adapted(ta.adapters(size=4), tiny_bert, pretrained=False)
    with pytest.raises(ConfigError, match="module's pretrained weights .* got pretrained=False"):
        load_adapters(untrained, saved[1])
    with pytest.raises(ConfigError, match="module's pretrained weights .* got pretrained=False"):
        save_adapters(untrained, tmp_path / "task.npz")


def test_a_missing_file_is_named(saved, tmp_path):
    assert_refused(saved[0], tmp_path / "none.npz", "none.npz: .* got no file")
    assert_refused(saved[0], tmp_path, "cannot be read")


def test_damage_is_refused_or_changes_nothing(saved, tmp_path):
    encoder, path = saved
    content, found = path.read_bytes(), 0
    before = [weight.numpy() for weight in encoder.weights]
    random = np.random.default_rng(0)
    for position in random.choice(len(content), 300, replace=False):
        damaged = bytearray(content)
        damaged[position] ^= 1 << random.integers(8)
        (tmp_path / "task.npz").write_bytes(damaged)
        try:
            load_adapters(encoder, tmp_path / "task.npz")
        except ArtifactError as error:
            found += 1
            assert "task.npz" in str(error)
    # Dates and sizes that nobody reads are about one byte in ten.
    assert found > 200
    for old, weight in zip(before, encoder.weights, strict=True):
        np.testing.assert_array_equal(old, weight)
    for length in (0, 1, len(content) // 2, len(content) - 1):
        (tmp_path / "task.npz").write_bytes(content[:length])
        assert_refused(encoder, tmp_path / "task.npz", "task.npz.*intact.*cannot be read")


def test_a_file_that_was_changed_by_hand_is_refused(saved, tmp_path):
    encoder, path = saved
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = "layer_0/output_adapter/up/bias"

    def write(**changes):
        np.savez(tmp_path / "task.npz", **arrays | changes)
        return tmp_path / "task.npz"

    assert_refused(encoder, write(**{name: arrays[name] + 1}), "SHA-256")
    assert_refused(encoder, write(more=np.zeros(2)), "SHA-256")
    assert_refused(encoder, write(record=np.array("[1]")), "cannot be read")
    assert_refused(encoder, write(record=np.array("{}")), "format: field required")
    assert_refused(encoder, write(more=np.array([{}])), "cannot be read.*objects")


def test_numbers_that_are_not_finite_are_not_saved(tiny_bert, tmp_path):
    encoder = made(tiny_bert)
    content = save_adapters(encoder, tmp_path / "task.npz").read_bytes()
    group(encoder)[0].assign(np.full(group(encoder)[0].shape, np.nan))
    with pytest.raises(TrainingError, match="NaN.*layer_0/attention_adapter/down/kernel"):
        save_adapters(encoder, tmp_path / "task.npz")
    assert (tmp_path / "task.npz").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["task.npz"]
