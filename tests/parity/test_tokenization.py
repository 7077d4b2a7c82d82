"""Ids against HuggingFace's tokenizer, a published preprocessing module, and AllenNLP's indexer."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401  # registers the published module's ops

from hub_modules.preprocess import (
    BertPreprocessor,
    ElmoPreprocessor,
    SavedModelPreprocessor,
    hub_preprocessor,
    truncate,
)

# What each of the other tokenizer's ids differ in, and why.
EXPLAINED = {
    "[CLS] literal [SEP] [MASK] tokens": (
        "HuggingFace reads the names of special tokens in a text as these tokens; here a text is "
        "only text, as for google-research/bert, and cannot forge a separator",
        ["[", "cl", "##s", "]", "literal", "[", "sep", "]", "[", "mask", "]", "token", "##s"],
    ),
    "ﬁ ligature": (
        "tensorflow-text normalizes to compatibility forms (NFKD): the ligature becomes f and i; "
        "HuggingFace's NFD keeps it",
        ["fi", "liga", "##ture"],
    ),
    "𝒳 math": (
        "tensorflow-text normalizes to compatibility forms (NFKD): the script letter becomes x; "
        "HuggingFace's NFD keeps it, and it is unknown",
        ["x", "math"],
    ),
}


def read_vocabulary(path) -> list[str]:
    return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")


@pytest.fixture(scope="module")
def vocabulary(shared):
    return read_vocabulary(shared / "models" / "minilm_l6_h384" / "vocab.txt")


@pytest.fixture(scope="module")
def preprocessor(vocabulary):
    return BertPreprocessor(vocabulary, lower_case=True)


def test_wordpiece_ids_are_huggingface_s(reference, preprocessor, vocabulary, record_property):
    with np.load(reference / "huggingface" / "minilm_l6_h384.npz", allow_pickle=False) as recorded:
        tokenized = json.loads(str(recorded["tokenized"]))
    texts, expected = tokenized["texts"], tokenized["ids"]
    assert len(texts) > 300
    got = preprocessor.tokenize(tf.constant(texts)).to_list()
    pairs = zip(texts, got, expected, strict=True)
    different = {text: ids for text, ids, other in pairs if ids != other}
    sentences = texts[20:]  # the first are tricky strings
    agreeing = sum(text not in different for text in sentences) / len(sentences)
    record_property("identical sentences", agreeing)
    print(f"parity: WordPiece ids: {agreeing:.4%} of {len(sentences)} sentences identical")
    assert agreeing >= 0.999
    for text, ids in different.items():
        why, pieces = EXPLAINED.get(text, ("nobody has explained this one", None))
        assert [vocabulary[i] for i in ids] == pieces or text in sentences, (text, why)
    assert set(different) <= set(EXPLAINED) | set(sentences)


def test_the_ligature_s_pieces_say_what_happened(preprocessor):
    same = preprocessor.tokenize(tf.constant(["ﬁ ligature", "fi ligature", "𝒳", "x"])).to_list()
    assert same[0] == same[1]
    assert same[2] == same[3]


def test_packed_pairs_are_huggingface_s(reference, preprocessor):
    with np.load(reference / "huggingface" / "minilm_l6_h384.npz", allow_pickle=False) as recorded:
        pairs = json.loads(str(recorded["pairs"]))
        names = ("input_word_ids", "input_mask", "input_type_ids")
        expected = {name: recorded[name] for name in names}
    limit = expected["input_word_ids"].shape[1] - preprocessor.special_tokens(2)
    texts = [tf.constant(column) for column in zip(*pairs, strict=True)]
    first, second = [preprocessor.tokenize(text) for text in texts]
    (a, b), cut = truncate([first, second], limit)
    # Of two texts cut to halves of an odd number, google-research/bert gives the first the larger
    # half; HuggingFace's fast tokenizer the second.
    (d, c), _ = truncate([second, first], limit)
    length = limit + preprocessor.special_tokens(2)
    packed, other = preprocessor.pack([a, b], length), preprocessor.pack([c, d], length)
    assert not cut.numpy().all()
    for name, value in expected.items():
        same = (packed[name] == value).numpy().all(axis=1)
        assert same[~cut.numpy()].all(), name
        assert (same | (other[name] == value).numpy().all(axis=1)).all(), name


@pytest.fixture(scope="module")
def published(reference):
    folder = reference / "published_hub_bert" / "preprocess"
    return tf.saved_model.load(str(folder)), read_vocabulary(folder / "assets" / "vocab.txt")


@pytest.fixture(scope="module")
def contract(published):
    """Ours, with the published one's vocabulary."""
    return hub_preprocessor(BertPreprocessor(published[1], lower_case=True))


@pytest.fixture(scope="module")
def sentences(shared) -> list[str]:
    lines = (shared / "data" / "multinli" / "dev_matched.tsv").read_bytes().decode("utf-8")
    tricky = [
        "",
        " ",
        "½ cup · ﬁ 𝒳 [CLS] é\u200bx \x01",
        "日本語 and English",
        "x" * 200,
        "a##b ##c",
    ]
    return tricky + lines.split("\n")[1:1001]


def test_our_hub_contract_is_the_published_module_s(published, contract, sentences):
    module, ours = published[0], contract
    texts = tf.constant(sentences)
    expected, got = module.tokenize(texts), ours.tokenize(texts)
    for split, other in zip(got.nested_row_splits, expected.nested_row_splits, strict=True):
        np.testing.assert_array_equal(split, other)
    np.testing.assert_array_equal(got.flat_values, expected.flat_values)
    assert got.dtype == expected.dtype

    theirs = module.tokenize.get_special_tokens_dict()
    special = ours.tokenize.get_special_tokens_dict()
    assert {k: v.numpy() for k, v in special.items()} == {k: v.numpy() for k, v in theirs.items()}
    # The recorded module was written with another default length.
    inputs = module(texts)
    found = ours(texts, inputs["input_word_ids"].shape[1])
    for name, value in inputs.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.slow
def test_trimming_by_round_robin_is_the_published_module_s(published, contract, sentences):
    module, ours = published[0], contract
    words = [module.tokenize(tf.constant(sentences[start:400:2])) for start in (0, 1)]
    pieces = [column.merge_dims(1, 2) for column in words]
    for segments in (words, pieces, words[:1], pieces[:1]):
        for length in (4, 30):
            expected = module.bert_pack_inputs(segments, seq_length=length)
            got = ours.bert_pack_inputs(segments, seq_length=length)
            assert got.keys() == expected.keys()
            for name, value in expected.items():
                np.testing.assert_array_equal(got[name], value, err_msg=name)
                assert got[name].dtype == value.dtype


def test_recorded_texts_of_the_published_module(reference, contract):
    recorded = reference / "published_hub_bert" / "expected.npz"
    with np.load(recorded, allow_pickle=False) as arrays:
        texts, length = tf.constant(arrays["texts"]), arrays["input_word_ids"].shape[1]
        for name, value in contract(texts, length).items():
            np.testing.assert_array_equal(value, arrays[name], err_msg=name)


def test_a_published_module_as_a_preprocessor(published, sentences):
    module, vocabulary = published
    ours, theirs = BertPreprocessor(vocabulary, lower_case=True), SavedModelPreprocessor(module)
    assert theirs.special_token_ids == ours.special_token_ids
    assert theirs.unknown_id == ours.unknown_id
    units = [preprocessor.tokenize(tf.constant(sentences)) for preprocessor in (ours, theirs)]
    np.testing.assert_array_equal(units[0].values, units[1].values)
    words = tf.ragged.constant([["Unbelievably", "\u3000", "good"], ["\u200b"]])
    packed = [p.pack_words(p.tokenize_words(words)) for p in (ours, theirs)]
    for name, value in packed[0].items():
        np.testing.assert_array_equal(packed[1][name], value, err_msg=name)


def test_elmo_s_character_ids_are_allennlp_s(reference):
    with np.load(reference / "allennlp" / "elmo.npz", allow_pickle=False) as recorded:
        sentences, expected = json.loads(str(recorded["sentences"])), recorded["character_ids"]
    words = tf.ragged.constant(sentences)
    got = ElmoPreprocessor().pack([words], length=expected.shape[1])["character_ids"]
    np.testing.assert_array_equal(got, expected)
    text = ElmoPreprocessor().tokenize(tf.constant([" ".join(row) for row in sentences]))
    assert text.to_list() == words.to_list()
