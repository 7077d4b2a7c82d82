"""HuggingFace folders: the same weights as keras-hub's own converters read, and what is refused.

Hidden states and ids are compared with HuggingFace's in tests/parity/test_huggingface_families.py.
"""

import json

import keras_hub
import numpy as np
import pytest
from huggingface_folders import write_folder
from safetensors.numpy import load_file, save_file

from hub_modules.errors import ArtifactError
from hub_modules.load import load_module


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm_roberta", "distilbert", "albert"])
def test_weights_are_those_of_keras_hubs_converter(family, tmp_path):
    folder = write_folder(family, tmp_path)
    stored = load_file(folder / "model.safetensors")
    # Some of its converters read only checkpoints of models with a head.
    prefix = {"roberta": "roberta.", "distilbert": "distilbert.", "albert": "albert."}
    names = {name: prefix.get(family, "") + name for name in stored}
    save_file({names[name]: one for name, one in stored.items()}, folder / "model.safetensors")
    backbone = keras_hub.models.Backbone.from_preset(str(folder))
    found = load_module(f"keras:{folder}").encoder.weights_by_name()
    assert set(found) == {weight.path for weight in backbone.weights}
    for weight in backbone.weights:
        expected = np.asarray(weight)
        if family == "roberta" and "position" in weight.path:
            # Its converter leaves out the one token type that HuggingFace adds to every token.
            expected = expected + stored["embeddings.token_type_embeddings.weight"][0]
        np.testing.assert_allclose(found[weight.path], expected, atol=1e-6, err_msg=weight.path)


def test_names_with_a_prefix_and_a_head(tmp_path):
    plain = load_module(f"keras:{write_folder('roberta', tmp_path / 'plain')}")
    folder = write_folder("roberta", tmp_path / "with_head")
    weights = load_file(folder / "model.safetensors")
    weights = {f"roberta.{name}": array for name, array in weights.items()}
    weights["lm_head.dense.weight"] = np.zeros((16, 16), np.float32)
    weights["roberta.embeddings.position_ids"] = np.arange(80)[None]
    save_file(weights, folder / "model.safetensors")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    module = load_module(f"keras:{folder}")
    assert (plain.sentence.pooling, module.sentence.pooling) == (None, "mean")
    for name, weight in plain.encoder.weights_by_name().items():
        np.testing.assert_array_equal(module.encoder.weights_by_name()[name], weight)


def test_what_sentence_transformers_says_of_a_folder_is_read(tmp_path):
    folder = write_folder("roberta", tmp_path)
    prompts = '{"prompts": {"query": "the "}, "default_prompt_name": "query"}'
    (folder / "config_sentence_transformers.json").write_text(prompts)
    (folder / "sentence_roberta_config.json").write_text('{"max_seq_length": 8}')
    sentence = load_module(f"keras:{folder}").sentence
    assert (sentence.prompts, sentence.longest) == (("the ",), 8)


def test_without_a_pooler_the_first_token_is_taken(tmp_path):
    folder = write_folder("albert", tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights = {name: one for name, one in weights.items() if not name.startswith("pooler")}
    save_file(weights, folder / "model.safetensors")
    module = load_module(f"keras:{folder}")
    assert [name for name, _ in module.encoder.layer_groups] == ["embeddings", "layer_0"]
    encoded = module.encoder(module.preprocessor(["the dogs", "run"]))
    np.testing.assert_array_equal(encoded["pooled"], encoded["layers"][-1][:, 0])


def test_what_keras_hub_cannot_compute_is_refused(tmp_path):
    for family, changes, message in [
        ("roberta", {"num_hidden_layers": 4, "intermediate_size": 8}, "16 are missing"),
        ("roberta", {"num_hidden_layers": 2}, "weights are unknown"),
        ("roberta", {"vocab_size": 10**9}, "do not belong together: get both again"),
        ("roberta", {"max_position_embeddings": 81}, "expected shape"),
        ("roberta", {"max_position_embeddings": 10**9}, r"\(positions alone: 15,999,999,968\)"),
        ("bert", {"type_vocab_size": 10**9}, r"\(token types alone: 16,000,000,000\)"),
        ("albert", {"inner_group_num": 1000}, r"\(layers alone: "),
        ("deberta_v3", {"position_buckets": 10**9}, r"\(distances alone: 32,000,000,000\)"),
        ("roberta", {"hidden_act": "silu"}, "hidden_act: expected one of"),
        ("bert", {"position_embedding_type": "relative_key"}, "expected 'absolute'"),
        ("bert", {"is_decoder": True}, "is_decoder: expected False"),
        ("deberta_v3", {"share_att_key": False}, "share_att_key: expected True"),
        ("deberta_v3", {"conv_kernel_size": 3}, "conv_kernel_size: expected 0"),
        ("deberta_v3", {"max_relative_positions": 20}, "max_relative_positions: expected -1"),
        ("bert", {"model_type": "gpt2"}, "GPT-2 reads from left to right"),
        ("bert", {"model_type": "mpnet"}, "'mpnet'; it is read .*folder without keras:"),
        ("bert", {"model_type": "vit"}, "expected one of the families bert, roberta"),
    ]:
        folder = write_folder(family, tmp_path / family, **changes)
        with pytest.raises(ArtifactError, match=message):
            load_module(f"keras:{folder}")


def test_a_missing_file(tmp_path):
    for family, name, message in [
        ("roberta", "model.safetensors", "expected the weights, got no such file"),
        ("roberta", "merges.txt", "merges.txt"),
        ("roberta", "vocab.json", "download it from the model's page"),
        ("electra", "vocab.txt", "or in tokenizer.json, got neither file; download one from the"),
        ("albert", "spiece.model", "download it from the model's page"),
        ("deberta_v3", "config.json", "was not downloaded as a whole"),
    ]:
        folder = write_folder(family, tmp_path / family)
        (folder / name).unlink()
        with pytest.raises(ArtifactError, match=message):
            load_module(f"keras:{folder}")


def test_a_tokenizer_of_another_form_alone(tmp_path):
    folder = write_folder("xlm_roberta", tmp_path)
    (folder / "sentencepiece.bpe.model").unlink()
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ArtifactError, match="got tokenizer.json alone, which is not read"):
        load_module(f"keras:{folder}")


def test_damaged_files_are_named(tmp_path):
    for family, name, content in [
        ("roberta", "vocab.json", b"[1, 2]"),
        ("roberta", "vocab.json", json.dumps({"<s>": 10**6}).encode()),
        ("roberta", "merges.txt", b"#version: 0.2\nnot there\n"),
        ("albert", "spiece.model", b"no model"),
        ("deberta_v3", "spm.model", b""),
        ("distilbert", "model.safetensors", b"no weights"),
    ]:
        folder = write_folder(family, tmp_path / family)
        (folder / name).write_bytes(content)
        with pytest.raises(ArtifactError, match=name.replace(".", r"\.")):
            load_module(f"keras:{folder}")
