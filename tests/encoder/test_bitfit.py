"""BitFit: the group of all biases that a head reads, by name."""

import keras
import numpy as np
import pytest
from adapted_encoders import adapted

import tf_adapt as ta
from tf_adapt.encoder.layer_groups import is_bias
from tf_adapt.errors import ConfigError

BERT_BIASES = {
    "embeddings/layer_norm/beta",
    *(
        f"layer_{layer}/{name}"
        for layer in (0, 1)
        for name in (
            "attention/query/bias",
            "attention/key/bias",
            "attention/value/bias",
            "attention/output/bias",
            "attention_layer_norm/beta",
            "intermediate/bias",
            "output/bias",
            "output_layer_norm/beta",
        )
    ),
    "pooler/bias",
}
ELMO_BIASES = {
    "char_cnn/convolution_0/bias",
    "char_cnn/convolution_1/bias",
    "char_cnn/highway_0/gate_bias",
    "char_cnn/highway_0/transform_bias",
    "char_cnn/projection/bias",
    *(f"lstm_{layer}/{way}/bias" for layer in (0, 1) for way in ("forward", "backward")),
}


def biases(encoder) -> set[str]:
    group = set(map(id, dict(encoder.layer_groups)["biases"]))
    return {n for n, weight in encoder.native.weights_by_name().items() if id(weight) in group}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "head", "expected"),
    [
        ("bert", "bcn", BERT_BIASES - {"pooler/bias"}),
        ("elmo", "bcn", ELMO_BIASES),
    ],
)
def test_every_bias_that_the_head_reads_and_nothing_else(
    family, head, expected, tiny_bert, tiny_elmo
):
    encoder = ta.HubEncoder(tiny_bert if family == "bert" else tiny_elmo)
    task = ta.Task("classification", labels=["no", "yes"])
    model = ta.build_model(task, encoder, head, "bitfit")
    assert biases(encoder) == expected
    listed = [id(weight) for _, weights in encoder.layer_groups for weight in weights]
    assert sorted(listed) == sorted(map(id, encoder.weights))
    assert encoder.trainable_groups == ["biases"]
    model.compile(keras.optimizers.Adam(0.01), task.loss, run_eagerly=True)
    named = encoder.native.weights_by_name()
    before = {name: weight.numpy() for name, weight in named.items()}
    head_before = [weight.numpy() for weight in model.head.weights]
    records = [("the cat", "yes"), ("what is it", "no"), ("who is a dog", "yes"), ("a", "no")]
    model.fit(ta.batches(records, task, encoder, batch_size=4), epochs=1, verbose=0)
    moved = {n for n, array in before.items() if not np.array_equal(array, named[n].numpy())}
    # One number more for all scores of a query changes no attention weight.
    assert moved | {name for name in expected if "key/bias" in name} == expected
    assert all(
        not np.array_equal(one, other.numpy())
        for one, other in zip(head_before, model.head.weights, strict=True)
    )


def test_another_head_changes_what_is_read(tiny_bert):
    encoder, task = ta.HubEncoder(tiny_bert), ta.Task("regression")
    for head in ("bcn", "linear", "bcn"):
        ta.build_model(task, encoder, head, "bitfit")
        assert ("pooler/bias" in biases(encoder)) == (head == "linear")
        learning = set(map(id, encoder.trainable_weights))
        named = encoder.native.weights_by_name()
        assert {n for n, weight in named.items() if id(weight) in learning} == biases(encoder)


def test_a_new_embedding_learns_with_them_and_is_saved_with_them(tiny_causal, tmp_path):
    def build():
        encoder = ta.HubEncoder(tiny_causal, classification_token=True)
        ta.build_model(ta.Task("regression"), encoder, "linear", "bitfit")
        return encoder, dict(encoder.layer_groups)["new_embeddings"][0]

    (encoder, new), (other, other_new) = build(), build()
    assert encoder.trainable_groups == ["new_embeddings", "biases"]
    new.assign(new + 1)
    ta.load_adapters(other, ta.save_adapters(encoder, tmp_path / "biases.npz"))
    np.testing.assert_array_equal(other_new, new)


@pytest.mark.slow
def test_a_black_box_has_biases_too(tiny_program):
    encoder = adapted(ta.bitfit(), tiny_program, execution="saved_model")
    native = adapted(ta.bitfit(), tiny_program)
    assert len(dict(encoder.layer_groups)["biases"]) == len(biases(native)) == 18
    assert sum(is_bias(weight) for weight in encoder.weights) == 18


def test_word_vectors_have_no_biases(tmp_path):
    (tmp_path / "v.txt").write_text("the 0.1 0.2\ncat 0.3 0.4\n")
    with pytest.raises(ConfigError, match="bitfit: expected an encoder with biases.*family words"):
        adapted(ta.bitfit(), tmp_path / "v.txt")
    with pytest.raises(ConfigError, match="for it, got the family words; take fine_tuning$"):
        adapted(ta.lora(), tmp_path / "v.txt")


def test_an_encoder_takes_what_one_adaptation_adds(tiny_bert):
    encoder = adapted(ta.adapters(), tiny_bert)
    encoder.add(ta.adapters(size=64).added)  # the same again
    for other in (ta.bitfit(), ta.lora(), ta.adapters(size=4)):
        with pytest.raises(ConfigError, match="expected what the encoder has already, Bottleneck"):
            ta.build_model(ta.Task("regression"), encoder, adaptation=other)


def test_earlier_arguments_and_names_say_what_is_written_now(tiny_bert):
    for name, way in (
        ("adapters", r"ta.adapters\(\)"),
        ("adapter_size", r"ta.adapters\(size=64\)"),
        ("lora", r"ta.lora\(rank=8\)"),
        ("bitfit", r"ta.bitfit\(\)"),
    ):
        with pytest.raises(ConfigError, match=rf"{name}: .* build_model\(…, adaptation={way}\)"):
            ta.HubEncoder(tiny_bert, **{name: None})
    for name, way in (("Lora", "lora"), ("BottleneckAdapters", "adapters")):
        with pytest.raises(AttributeError, match=rf"adaptation=ta.{way}\("):
            getattr(ta, name)
    with pytest.raises(AttributeError, match="task_attention=204"):
        ta.TaskAttention  # noqa: B018
