"""What a folder says of its tokenizer: the ids of HuggingFace's `tokenizers`, or a refusal."""

import itertools
import json
import unicodedata

import keras_hub
import pytest
import sentencepiece
import tensorflow as tf
from huggingface_folders import edit_json, write_folder
from tokenizers import (
    AddedToken,
    ByteLevelBPETokenizer,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
)

from hub_modules.errors import ArtifactError
from hub_modules.keras_hub.tokenizers import huggingface_preprocessor, preset_preprocessor

TEXTS = [
    "Er möchte Café, naïve ÜBER Straße",
    "İstanbul ΟΔΟΣ ΑΣ. Ёлка, й",
    "日本語 and 東京都に\u3000住む 豈\U0002b820\U0002b920",
    "한국어 문장 हिन्दी ภาษาไทย العربية מֶלֶךְ Tiếng Việt",
    "ﬁ 𝒳 ½ e\u0301 a\u200bb\x01c\ufeff d\u00ade\x85f\u2028g � don't $5.00 a##b",
    "",
    *(character * length for character in "xж😀" for length in (60, 100, 101)),
]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
FORMS = [
    form for text in TEXTS for form in (text, text.lower(), unicodedata.normalize("NFD", text))
]
CHARACTERS = sorted({c for form in FORMS for c in form.lower() + form if not c.isspace()})
PIECES = [*SPECIAL, *CHARACTERS, *(f"##{character}" for character in CHARACTERS)]
ROWS = len(PIECES) + 10
ADDED = [
    AddedToken("[NEW]", normalized=False, special=True),
    AddedToken("<Ent>", normalized=True),
    AddedToken("<Entity>", normalized=True),
]
WITH_ADDED = ["[NEW]a[new] <ent>x<ENTITY> b<Ent>", "[NEW]", "a [NEW][NEW] [CLS] b"]


def wordpiece(lower=True, strip=None, chinese=True) -> Tokenizer:
    ids = {piece: number for number, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(True, chinese, strip, lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def bert(folder, tokenizer=None, **config):
    """The preprocessor of a folder with these files."""
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    if tokenizer is not None:
        tokenizer.save(str(folder / "tokenizer.json"))
    return huggingface_preprocessor(folder, "BertBackbone", {"vocabulary_size": ROWS})


def ids_of(preprocessor, texts) -> list:
    return preprocessor.tokenize(tf.constant(texts)).to_list()


def theirs(tokenizer, texts) -> list:
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


@pytest.mark.parametrize("lower", [True, False])
def test_casing_accents_and_chinese_characters_as_either_file_says(lower, tmp_path):
    for strip, chinese in itertools.product((None, True, False), (True, False)):
        expected = theirs(wordpiece(lower, strip, chinese), TEXTS)
        said = {"do_lower_case": lower, "strip_accents": strip, "tokenize_chinese_chars": chinese}
        (tmp_path / "tokenizer.json").unlink(missing_ok=True)
        assert ids_of(bert(tmp_path, **said), TEXTS) == expected
        assert ids_of(bert(tmp_path, wordpiece(lower, strip, chinese)), TEXTS) == expected


def test_added_tokens_of_each_file(tmp_path):
    tokenizer = wordpiece()
    tokenizer.add_tokens(ADDED)
    expected = theirs(tokenizer, WITH_ADDED)
    whole = bert(tmp_path, tokenizer)
    assert ids_of(whole, WITH_ADDED) == expected
    words = tf.ragged.constant([["[NEW]", "a[NEW]", "[CLS]"]])
    split = whole.tokenize_words(words).to_list()[0]
    assert split == theirs(tokenizer, ["[NEW]", "a[NEW]", "[CLS]"])

    listed = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["added_tokens"]
    (tmp_path / "tokenizer.json").unlink()
    by_id = {str(token.pop("id")): token for token in listed}
    assert ids_of(bert(tmp_path, added_tokens_decoder=by_id), WITH_ADDED) == expected
    old = {token["content"]: int(number) for number, token in by_id.items()}
    (tmp_path / "added_tokens.json").write_text(json.dumps(old), "utf-8")
    again = bert(tmp_path, additional_special_tokens=["[NEW]"])
    assert ids_of(again, WITH_ADDED) == expected


def test_the_fast_tokenizers_file_alone(tmp_path):
    """As newer versions of transformers save it."""
    folder = write_folder("electra", tmp_path / "electra")
    edit_json(folder / "tokenizer_config.json", do_lower_case=...)
    pieces = (folder / "vocab.txt").read_text("utf-8").splitlines()
    tokenizer = wordpiece()
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer.model = models.WordPiece(ids, unk_token="[UNK]")
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "vocab.txt").unlink()
    found = huggingface_preprocessor(folder, "ElectraBackbone", {"vocab_size": len(pieces)})
    assert ids_of(found, TEXTS) == theirs(tokenizer, TEXTS)

    folder = write_folder("roberta", tmp_path / "roberta")
    files = [folder / name for name in ("vocab.json", "merges.txt")]
    pairs = ByteLevelBPETokenizer(*map(str, files))
    pairs.save(str(folder / "tokenizer.json"))
    for file in files:
        file.unlink()
    settings = {"vocabulary_size": pairs.get_vocab_size()}
    found = huggingface_preprocessor(folder, "RobertaBackbone", settings)
    assert ids_of(found, TEXTS) == theirs(pairs, TEXTS)
    edit_json(folder / "tokenizer.json", model={"type": "BPE", "vocab": []})
    with pytest.raises(ArtifactError, match="tokenizer.json: model.merges: expected a long list"):
        huggingface_preprocessor(folder, "RobertaBackbone", settings)


def test_a_text_cannot_name_the_special_tokens_of_a_row(tmp_path):
    plain = ids_of(bert(tmp_path), ["[CLS] a [SEP]"])
    by_id = {str(number): {"content": piece} for number, piece in enumerate(SPECIAL)}
    assert ids_of(bert(tmp_path, added_tokens_decoder=by_id), ["[CLS] a [SEP]"]) == plain


@pytest.mark.slow
def test_added_tokens_are_exported_with_the_tokenizer(tmp_path):
    tokenizer = wordpiece()
    tokenizer.add_tokens(ADDED)
    preprocessor = bert(tmp_path, tokenizer)
    module = tf.Module()
    module.preprocessor = preprocessor
    module.ids = tf.function(
        lambda texts: preprocessor.tokenize(texts).to_tensor(-1),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, tmp_path / "saved")
    found = tf.saved_model.load(tmp_path / "saved").ids(tf.constant(WITH_ADDED)).numpy()
    assert [row[row >= 0].tolist() for row in found] == theirs(tokenizer, WITH_ADDED)


@pytest.mark.parametrize("prefixed", [True, False])
def test_added_tokens_and_the_blank_before_a_text_of_byte_pairs(prefixed, tmp_path):
    folder = write_folder("roberta", tmp_path)
    files = [str(folder / name) for name in ("vocab.json", "merges.txt")]
    tokenizer = ByteLevelBPETokenizer(*files, add_prefix_space=prefixed)
    rows = tokenizer.get_vocab_size() + 5
    tokenizer.add_tokens(["<ent>", "<ent> b"])
    tokenizer.save(str(folder / "tokenizer.json"))
    found = huggingface_preprocessor(folder, "RobertaBackbone", {"vocabulary_size": rows})
    texts = ["the dogs <ent> run", " the <ent> b", "<ent>", "a<ent>", ""]
    assert ids_of(found, texts) == theirs(tokenizer, texts)
    by_word = ByteLevelBPETokenizer(*files, add_prefix_space=True)
    by_word.add_tokens(["<ent>", "<ent> b"])
    split = found.tokenize_words(tf.ragged.constant([["the", "<ent>", "a<ent>dogs"]])).to_list()[0]
    assert split == theirs(by_word, ["the", "<ent>", "a<ent>dogs"])


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("keep_accents", [True, False])
def test_casing_and_added_tokens_of_a_sentence_piece_model(lower, keep_accents, tmp_path):
    folder = write_folder("albert", tmp_path)
    edit_json(folder / "tokenizer_config.json", do_lower_case=..., keep_accents=...)
    model = sentencepiece.SentencePieceProcessor(str(folder / "spiece.model"))
    scored = [(model.id_to_piece(n), model.get_score(n)) for n in range(model.vocab_size())]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=model.unk_id()))
    steps = [] if keep_accents else [normalizers.NFKD(), normalizers.StripAccents()]
    steps += [normalizers.Lowercase()] * lower
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_tokens(["<Ent>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"vocabulary_size": model.vocab_size() + 1}
    found = huggingface_preprocessor(folder, "AlbertBackbone", settings)
    # Without a blank before the token, which SentencePiece takes off the end of a text.
    texts = ["Two naïve Dogs<Ent> over", "<ent>the", "ÜBER"]
    assert ids_of(found, texts) == theirs(tokenizer, texts)


@pytest.mark.parametrize("lower", [True, False])
def test_a_presets_words_are_keras_hubs(lower, tmp_path):
    for strip, split in itertools.product((True, False), repeat=2):
        options = {"lowercase": lower, "strip_accents": strip, "split_on_cjk": split}
        tokenizer = keras_hub.tokenizers.BertTokenizer(PIECES, **options)
        assets = tmp_path / "assets" / "tokenizer"
        assets.mkdir(parents=True, exist_ok=True)
        (assets / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in PIECES), "utf-8")
        content = {"class_name": "BertTokenizer", "config": options}
        (tmp_path / "tokenizer.json").write_text(json.dumps(content), "utf-8")
        found = preset_preprocessor(tmp_path, "BertBackbone", {"vocabulary_size": ROWS})
        assert ids_of(found, TEXTS) == [list(map(int, row)) for row in tokenizer(TEXTS)]


def test_what_is_not_computed_is_refused_by_name(tmp_path):
    outside = {str(ROWS): {"content": "[NEW]"}}
    for config, message in [
        ({"strip_accents": True}, "strip_accents: expected false, as tokenizer.json has it, got"),
        ({"do_lower_case": "no"}, "do_lower_case: expected true or false, got 'no'"),
        ({"do_basic_tokenize": False}, "do_basic_tokenize: expected true, got 'False'"),
        ({"never_split": ["a"]}, "never_split: expected null"),
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "expected one of BertTokenizer, PreTrained"),
        ({"tokenizer_class": "BertTokenizerFast"}, None),
        ({"added_tokens_decoder": outside}, f"expected an id below {ROWS} .*resize_token"),
        ({"added_tokens_decoder": {"7": {"content": "a", "single_word": True}}}, "single_word"),
        ({"added_tokens_decoder": {"7": {"content": 3}}}, "expected a text as content"),
        ({"added_tokens_decoder": {"x": {"content": "a"}}}, "a whole number as id"),
        ({"added_tokens_decoder": {"7": {"content": "a" * 30_000}}}, "expected at most 20,000"),
        ({"added_tokens_decoder": [1]}, "added_tokens_decoder: expected an object"),
    ]:
        if message is None:
            bert(tmp_path, wordpiece(strip=False), **config)
            continue
        with pytest.raises(ArtifactError, match=message):
            bert(tmp_path, wordpiece(strip=False), **config)
    for part, value, message in [
        ("normalizer", None, "normalizer.type: expected 'BertNormalizer', got 'None'"),
        ("normalizer", {"type": "NFC"}, "normalizer.type: expected 'BertNormalizer', got 'NFC'"),
        ("pre_tokenizer", {"type": "Whitespace"}, "pre_tokenizer.type: expected"),
        ("model", {"type": "WordLevel"}, "model.type: expected 'WordPiece'"),
        ("model", {"max_input_chars_per_word": 0}, "max_input_chars_per_word: expected an integer"),
    ]:
        bert(tmp_path, wordpiece())
        edit_json(tmp_path / "tokenizer.json", **{part: value})
        with pytest.raises(ArtifactError, match=message):
            bert(tmp_path)
