"""`keep_layers`: an encoder of some of a module's layers, against those layers called by hand."""

import keras
import numpy as np
import pytest
from adapted_encoders import adapted
from huggingface_folders import FAMILIES, keras_hub_is_new, write_folder
from random_modules import tf1_elmo_arrays, write_tf1_module

import tf_adapt as ta
from hub_modules.native.given_states import states_key
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError
from tf_adapt.training.finished.module_export import module_source
from tf_adapt.training.train import train

TEXTS = ["who is the man", "the"]


def by_hand(whole, inputs, keep_layers):
    """The states of the module's own layers, each given the output of the kept one below."""
    states = [whole(inputs)["layers"][0]]
    for number in keep_layers:
        below = "embeddings" if number == 0 else f"layer_{number - 1}"
        states.append(whole(inputs | {states_key(below): states[-1]})["layers"][1])
    return states


@pytest.mark.parametrize("keep_layers", [[0, 1], [0, 2]])
def test_states_of_bert_are_those_of_the_kept_layers(keep_layers):
    whole = ta.HubEncoder("bert_small")
    encoder = ta.HubEncoder("bert_small", keep_layers=keep_layers)
    inputs = whole.preprocessor(TEXTS, 16)
    expected, found = by_hand(whole, inputs, keep_layers), encoder(inputs)["layers"]
    assert len(found) == 1 + len(keep_layers)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    if keep_layers == [0, 1]:
        for one, other in zip(found, whole(inputs)["layers"][:3], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


def test_states_of_gpt2_are_those_of_the_kept_layers(tiny_causal):
    whole = ta.HubEncoder(tiny_causal)
    inputs = whole.preprocessor(TEXTS, 16)
    found = ta.HubEncoder(tiny_causal, keep_layers=[1])(inputs)["layers"]
    # The final LayerNorm stands above whichever layer is the top one.
    for one, other in zip(found, by_hand(whole, inputs, [1]), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.skipif(not keras_hub_is_new(), reason="needs keras-hub 0.32")
@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "albert"])
def test_states_of_keras_hub_are_those_of_the_kept_layers(family, tmp_path):
    handle = f"keras:{write_folder(family, tmp_path / family)}"
    whole = ta.HubEncoder(handle)
    last = whole.num_layers - 2
    encoder = ta.HubEncoder(handle, keep_layers=[last])
    inputs = whole.preprocessor(TEXTS, 16)
    assert [name for name, _ in encoder.layer_groups if "layer" in name] == ["layer_0"]
    for one, other in zip(encoder(inputs)["layers"], by_hand(whole, inputs, [last]), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_groups_lora_and_rates_see_the_smaller_encoder():
    encoder = adapted(ta.lora(in_layers=[1]), "bert_small", keep_layers=[0, 2])
    names = ["embeddings", "layer_0", "layer_1", "pooler", "lora"]
    assert [name for name, _ in encoder.layer_groups] == names and encoder.num_layers == 3
    optimizer = ta.DiscriminativeOptimizer(
        keras.optimizers.AdamW(1.0), ta.HubEncoder("bert_small", keep_layers=[0, 2]), decay=0.5
    )
    factors = {"embeddings": 0.0625, "layer_0": 0.125, "layer_1": 0.25, "pooler": 0.5, "head": 1.0}
    assert optimizer.factors == factors
    with pytest.raises(ConfigError, match="numbers of layers from 0 to 1"):
        adapted(ta.lora(in_layers=[2]), "bert_small", keep_layers=[0, 2])


def test_hash_and_config_tell_the_layers(tiny_bert):
    whole = ta.HubEncoder(tiny_bert)
    one, other = (ta.HubEncoder(tiny_bert, keep_layers=kept) for kept in ([1], (0,)))
    assert len({whole.module_hash, one.module_hash, other.module_hash}) == 3
    copy = ta.HubEncoder.from_config(one.get_config())
    assert copy.keep_layers == (1,) and copy.module_hash == one.module_hash
    for a, b in zip(copy(TEXTS)["layers"], one(TEXTS)["layers"], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_a_run_with_kept_layers_is_exported_and_loaded(tiny_bert, tmp_path):
    data = tmp_path / "train.tsv"
    rows = "".join(f"{text}\t{label}\n" for text in TEXTS for label in ("no", "yes"))
    data.write_text(f"text\tlabel\n{rows}", "utf-8")
    content = {
        "data": {
            "format": "tsv",
            "kind": "classification",
            "columns": {"text_a": "text", "label": "label"},
            "train": str(data),
            "dev": str(data),
        },
        "encoder": {"handle": str(tiny_bert), "keep_layers": [1]},
        "adaptation": "tune",
        "training": {"epochs": 1, "batch_size": 2, "learning_rate": 0.001},
    }
    train(config_from(content, "test"), tmp_path / "run")
    model = ta.load_run(tmp_path / "run")
    assert model.encoder.keep_layers == (1,)
    source = module_source(model)
    assert source.config["num_layers"] == 1
    assert not [name for name in source.weights if name.startswith("layer_1")]
    content["encoder"]["keep_layers"] = [0]
    with pytest.raises(ConfigError, match=r"encoder.keep_layers.* \(was \[1\], now \[0\]\)"):
        train(config_from(content, "test"), tmp_path / "run")


def test_numbers_that_are_no_layers_are_refused():
    for keep_layers in ([0, 3], [2, 1], [1, 1], [], [-1], [True], ["0"]):
        with pytest.raises(ConfigError, match="layers 0 to 2, each once and from bottom to top, g"):
            ta.HubEncoder("bert_small", keep_layers=keep_layers)


def test_modules_without_plain_layers_are_refused(tiny_elmo, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("the 0.1 0.2\nman 0.3 0.4\n", "utf-8")
    tf1 = write_tf1_module(tmp_path / "tf1", tf1_elmo_arrays())
    refused = {tiny_elmo: "an ELMo", words: "word vectors", tf1: "an ELMo"}
    for handle, what in refused.items():
        with pytest.raises(ConfigError, match=f"keep_layers .* got {what}; leave it out"):
            ta.HubEncoder(handle, trust=True, keep_layers=[0])
    with pytest.raises(ConfigError, match="got the module's own program; leave it out"):
        ta.HubEncoder("bert_small", execution="saved_model", keep_layers=[0])


@pytest.mark.skipif(not keras_hub_is_new(), reason="needs keras-hub 0.32")
def test_shared_layers_are_refused(tmp_path):
    handle = f"keras:{write_folder('albert', tmp_path / 'albert')}"
    with pytest.raises(ConfigError, match="got an ALBERT, whose layers share weights; leave"):
        ta.HubEncoder(handle, keep_layers=[0])
