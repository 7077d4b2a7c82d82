import json
import shutil

import ml_dtypes
import numpy as np
import pytest
from huggingface_folders import edit_json, edit_weights
from safetensors.numpy import load_file

from hub_modules.load import load_module
from hub_modules.sources import huggingface
from tf_adapt.errors import ArtifactError


@pytest.fixture
def folder(tiny_bert, tmp_path):
    huggingface.write(tiny_bert, tmp_path / "bert")
    (tmp_path / "bert" / "tokenizer.json").unlink()  # which older folders do not have
    return tmp_path / "bert"


def test_written_and_read_back(folder, tiny_bert, assert_same_source):
    assert_same_source(huggingface.read(folder), tiny_bert)


@pytest.mark.parametrize("name", ["minilm_l6_h384", "bert_small"])
def test_real_checkpoint_comes_back_bit_for_bit(shared, tmp_path, name):
    folder = shared / "models" / name
    huggingface.write(huggingface.read(folder, lower_case=True), tmp_path / "copy")
    written, real = (load_file(each / "model.safetensors") for each in (tmp_path / "copy", folder))
    real.pop("embeddings.position_ids", None)
    assert written.keys() == real.keys()
    for key, array in real.items():
        np.testing.assert_array_equal(written[key], array.astype(np.float32), err_msg=key)
    assert (tmp_path / "copy/vocab.txt").read_bytes() == (folder / "vocab.txt").read_bytes()


def test_names_of_a_model_with_heads_converted_from_tensorflow(
    folder, tiny_bert, assert_same_source
):
    def edit(arrays):
        renamed = {
            f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): array
            for name, array in arrays.items()
        }
        heads = {
            "cls.predictions.bias": np.zeros(9, np.float32),
            "cls.seq_relationship.weight": np.zeros((2, 6), np.float32),
            "bert.embeddings.position_ids": np.arange(5)[None],
        }
        return renamed | heads

    edit_weights(folder, edit)
    source = huggingface.read(folder)
    assert_same_source(source, tiny_bert)
    assert source.left_out == (
        "bert.embeddings.position_ids",
        "cls.predictions.bias",
        "cls.seq_relationship.weight",
    )


def test_half_precision_becomes_float32(folder, tiny_bert):
    for dtype in [np.float16, ml_dtypes.bfloat16]:
        shutil.rmtree(folder)
        huggingface.write(tiny_bert, folder)
        edit_weights(folder, lambda arrays, to=dtype: {n: a.astype(to) for n, a in arrays.items()})
        for name, array in huggingface.read(folder).weights.items():
            assert array.dtype == np.float32
            expected = tiny_bert.weights[name].astype(dtype).astype(np.float32)
            np.testing.assert_array_equal(array, expected)


def test_activations(folder):
    for theirs, ours in [
        ("gelu", "gelu_exact"),
        ("gelu_new", "gelu_tanh"),
        ("gelu_pytorch_tanh", "gelu_tanh"),
    ]:
        edit_json(folder / "config.json", hidden_act=theirs)
        assert huggingface.read(folder).config["activation"] == ours


def test_settings_that_do_not_fit(folder, tiny_bert):
    for changes, message in [
        ({"hidden_act": "relu"}, "hidden_act: expected one of .*, got 'relu'"),
        ({"position_embedding_type": "relative_key"}, "expected 'absolute', got 'relative_key'"),
        ({"model_type": "roberta"}, "model_type: expected 'bert', got 'roberta'"),
        ({"is_decoder": True}, "is_decoder: expected False, got True"),
        ({"num_attention_heads": 4}, "multiple of the number of heads, got width 6 and 4 heads"),
        ({"hidden_size": ...}, "hidden_size: expected a positive integer, got nothing"),
        ({"hidden_dropout_prob": 1}, "hidden_dropout_prob: expected a number from 0 to below 1"),
        ({"num_hidden_layers": 10**12}, "num_hidden_layers: expected an integer from 1 to 1000"),
        ({"num_hidden_layers": 3}, "16 are missing: encoder.layer.2.attention.output.LayerNorm"),
        ({"intermediate_size": 2**40}, r"intermediate.*: expected shape .*, got \(10, 6\)"),
    ]:
        shutil.rmtree(folder)
        huggingface.write(tiny_bert, folder)
        edit_json(folder / "config.json", **changes)
        with pytest.raises(ArtifactError, match=message):
            huggingface.read(folder)


def test_casing_comes_from_the_tokenizer_or_the_user(folder):
    path = folder / "tokenizer_config.json"
    edit_json(path, do_lower_case=False)
    assert huggingface.read(folder).lower_case is False
    edit_json(path, do_lower_case=...)
    assert huggingface.read(folder, lower_case=True).lower_case is True
    path.unlink()
    assert huggingface.read(folder, lower_case=False).lower_case is False
    with pytest.raises(ArtifactError, match=r"do_lower_case.: true.*convert.*--lower-case"):
        huggingface.read(folder)


def test_the_vocabulary_of_tokenizer_json_alone(tiny_bert, tmp_path, assert_same_source):
    """As transformers 5 saves it."""
    huggingface.write(tiny_bert, tmp_path / "new")
    (tmp_path / "new" / "vocab.txt").unlink()
    assert_same_source(huggingface.read(tmp_path / "new"), tiny_bert)
    fast = json.loads((tmp_path / "new" / "tokenizer.json").read_text())
    ids = fast["model"]["vocab"]
    for wrong in ({piece: number + 1 for piece, number in ids.items()}, ids | {"[CLS]": "1"}, []):
        edit_json(tmp_path / "new" / "tokenizer.json", model=fast["model"] | {"vocab": wrong})
        with pytest.raises(ArtifactError, match="model.vocab: expected a section of word pieces"):
            huggingface.read(tmp_path / "new")


def test_other_tokenizers_are_refused(folder, tiny_bert):
    for changes, message in [
        ({"strip_accents": False}, "strip_accents: expected True, .* give the folder as keras:"),
        ({"added_tokens_decoder": {"8": {"content": "[NEW]"}}}, r"got \['\[NEW\]'\]"),
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "tokenizer_class: expected one of Bert"),
        ({"tokenize_chinese_chars": False}, "tokenize_chinese_chars: expected True, .*got False"),
    ]:
        shutil.rmtree(folder)
        huggingface.write(tiny_bert, folder)
        (folder / "tokenizer.json").unlink()
        edit_json(folder / "tokenizer_config.json", **changes)
        with pytest.raises(ArtifactError, match=message):
            huggingface.read(folder)


def test_missing_pooler_is_explained(folder):
    edit_weights(
        folder, lambda arrays: {n: a for n, a in arrays.items() if not n.startswith("pooler")}
    )
    with pytest.raises(ArtifactError, match="the pooler, got none.*; add a new one, .*AutoModel"):
        huggingface.read(folder)
    assert load_module(f"keras:{folder}").family == "keras"


def test_one_weight_under_two_names(folder):
    def edit(arrays):
        return arrays | {"bert.pooler.dense.bias": arrays["pooler.dense.bias"]}

    edit_weights(folder, edit)
    with pytest.raises(ArtifactError, match="expected one weight of this name"):
        huggingface.read(folder)
