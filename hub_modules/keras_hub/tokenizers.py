"""The tokenizer of a preset, or of a HuggingFace folder of the same families, from its files."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.keras_hub.backbones import BACKBONES, vocabulary_rows
from hub_modules.preprocess import BertPreprocessor
from hub_modules.preprocess.added_tokens import AddedTokens
from hub_modules.preprocess.bert import SPECIAL_TOKENS, UNKNOWN
from hub_modules.preprocess.byte_pairs import BytePairTokenizer
from hub_modules.preprocess.pieces import PiecePreprocessor
from hub_modules.preprocess.sentence_pieces import SentencePieceTokenizer
from hub_modules.preprocess.word_pieces import WordRules, huggingface_rules, keras_hub_rules
from hub_modules.sources.files.folder import (
    read_json,
    read_text,
    read_vocabulary,
    require_file,
    setting,
)
from hub_modules.sources.files.tokenizer_files import (
    FAST,
    TokenizerFiles,
    added_tokens,
    read_tokenizer_files,
    refuse_others,
    word_pieces,
)
from hub_modules.sources.layouts.causal import merge_text

# HuggingFace's names of SentencePiece models.
_MODELS = {
    "XLMRobertaBackbone": "sentencepiece.bpe.model",
    "AlbertBackbone": "spiece.model",
    "DebertaV3Backbone": "spm.model",
}
# What keras-hub's WordPiece must be like, as (key, values that are computed here).
_PRESET_WORD_PIECES = [
    ("split", (True,)),
    ("suffix_indicator", ("##",)),
    ("oov_token", (UNKNOWN,)),
]
_FLAG = "true or false"
_WORD_PIECES = ("BertBackbone", "ElectraBackbone", "DistilBertBackbone")
_LARGEST_MODEL = 50 * 2**20
ROBERTA = {
    "start_of_sequence_id": "<s>",
    "padding_id": "<pad>",
    "end_of_segment_id": "</s>",
    "mask_id": "<mask>",
}
_PIECES = {
    "AlbertBackbone": ("<pad>", "[CLS]", "[SEP]", "<unk>"),
    "DebertaV3Backbone": ("[PAD]", "[CLS]", "[SEP]", "[UNK]"),
}


def preset_preprocessor(folder: Path, backbone: str, settings: dict):
    """The preprocessor of a preset: `tokenizer.json` and `assets/tokenizer`.

    Raises:
        ArtifactError: a file is missing or damaged, or belongs to another backbone.
    """
    path, assets = folder / "tokenizer.json", folder / "assets" / "tokenizer"
    if not path.is_file():
        raise ArtifactError(
            f"{path}: expected the preset's tokenizer, got no such file; save it into the same "
            "folder (in keras-hub: tokenizer.save_to_preset)"
        )
    stored = read_json(path)
    expected, got = BACKBONES[backbone].tokenizer, setting(stored, "class_name", "a text", path)
    if got != expected:
        raise ArtifactError(
            f"{path}: class_name: expected {expected}, which belongs to {backbone}, got {got}; "
            "take the tokenizer of the same preset"
        )
    config = setting(stored, "config", "an object", path)
    rows = vocabulary_rows(settings)
    if backbone in _WORD_PIECES:
        rules = _preset_rules(config, path)
        return BertPreprocessor(read_vocabulary(assets / "vocabulary.txt", rows), rules=rules)
    if backbone == "RobertaBackbone":
        prefixed = setting(config, "add_prefix_space", _FLAG, path, default=False)
        paths = assets / "vocabulary.json", assets / "merges.txt"
        return _byte_pairs(_two_files(*paths), rows, prefixed)
    return _sentence_pieces(assets / "vocabulary.spm", backbone, rows)


def huggingface_preprocessor(folder: Path, backbone: str, settings: dict):
    """The preprocessor of a HuggingFace folder: `vocab.txt`, `vocab.json` and `merges.txt`, or in
    the place of both `tokenizer.json`; or a SentencePiece model.

    Raises:
        ArtifactError: a file is missing or damaged.
    """
    rows = vocabulary_rows(settings)
    files = read_tokenizer_files(folder, BACKBONES[backbone].model_type)
    if backbone in _WORD_PIECES:
        pieces = word_pieces(files, rows)
        special_ids = {pieces.index(piece) for piece in (*SPECIAL_TOKENS.values(), UNKNOWN)}
        rules = _huggingface_rules(files)
        return BertPreprocessor(
            pieces, rules=rules, added=_added(files, rows, special_ids, rules.normalize)
        )
    if backbone == "RobertaBackbone":
        prefixed = files.flag("add_prefix_space", "pre_tokenizer.add_prefix_space", False)
        path = folder / "vocab.json"
        is_fast = bool(files.fast) and not path.is_file()
        read = _one_file(files) if is_fast else _two_files(_required(path), folder / "merges.txt")
        return _byte_pairs(read, rows, prefixed, files)
    return _sentence_pieces(_required(folder / _MODELS[backbone]), backbone, rows, files)


def _preset_rules(config: dict, path: Path) -> WordRules:
    refuse_others(config, _PRESET_WORD_PIECES, path)
    return keras_hub_rules(
        lower_case=setting(config, "lowercase", _FLAG, path, default=False),
        strip_accents=setting(config, "strip_accents", _FLAG, path, default=False),
        split_chinese=setting(config, "split_on_cjk", _FLAG, path, default=True),
    )


def _huggingface_rules(files: TokenizerFiles) -> WordRules:
    # As HuggingFace's own class where the folder says nothing.
    lower = files.flag("do_lower_case", "normalizer.lowercase", True)
    key, chinese = "tokenize_chinese_chars", "normalizer.handle_chinese_chars"
    return huggingface_rules(
        lower_case=lower,
        strip_accents=files.flag("strip_accents", "normalizer.strip_accents", lower),
        split_chinese=files.flag(key, chinese, True),
        longest=files.longest_word(),
    )


def _required(path: Path) -> Path:
    advice = "the vocabulary in the form of the original model, beside the weights"
    if not path.is_file() and (path.parent / "tokenizer.json").is_file():
        raise ArtifactError(
            f"{path}: expected {advice}, got tokenizer.json alone, which is not read; download "
            f"{path.name} from the model's page into the folder"
        )
    return require_file(path, f"{advice}; download it from the model's page into the folder")


def read_merges(path: Path) -> list[str]:
    """The pairs of a `merges.txt`."""
    lines = read_text(path).split("\n")
    return [line for line in lines if line.strip() and not line.startswith("#version")]


class _BytePairs(NamedTuple):
    """The ids of pieces, and merges, each with the file that it is from."""

    vocabulary: dict
    merges: list[str]
    vocabulary_path: Path
    merges_path: Path


def _two_files(vocabulary: Path, merges: Path) -> _BytePairs:
    require_file(vocabulary, "the tokenizer's pieces; get the whole folder again")
    return _BytePairs(read_json(vocabulary), read_merges(merges), vocabulary, merges)


def _one_file(files: TokenizerFiles) -> _BytePairs:
    path = files.folder / FAST
    merges = setting(files.fast, "model.merges", "a long list", path)
    return _BytePairs(
        setting(files.fast, "model.vocab", "an object", path),
        [merge_text(merge) for merge in merges],
        path,
        path,
    )


def _byte_pairs(
    read: _BytePairs, rows: int, prefixed: bool, files: TokenizerFiles | None = None
) -> PiecePreprocessor:
    vocabulary, merges, vocabulary_path, merges_path = read
    ids = list(vocabulary.values())
    if not all(type(number) is int and 0 <= number < rows for number in ids):
        raise ArtifactError(
            f"{vocabulary_path}: expected an object of pieces with ids below {rows} (rows of the "
            "word embeddings), got something else; take the vocabulary that belongs to the weights"
        )
    missing = [token for token in (*ROBERTA.values(), "<unk>") if token not in vocabulary]
    missing = [token for token in missing if token not in ("<mask>", "<unk>")]
    if missing:
        raise ArtifactError(
            f"{vocabulary_path}: expected the special pieces {', '.join(ROBERTA.values())}, got "
            f"none of {', '.join(missing)}; take the vocabulary that belongs to the weights"
        )
    special = {name: vocabulary[piece] for name, piece in ROBERTA.items() if piece in vocabulary}
    unknown = vocabulary.get("<unk>", special["padding_id"])
    try:
        tokenizer = BytePairTokenizer(vocabulary, merges, unknown)
    except ArtifactError as error:
        raise ArtifactError(f"{merges_path}: {error}") from error
    added = _added(files, rows, {*special.values(), unknown}, tokenizer.normalize, True)
    special["vocab_size"] = rows
    return PiecePreprocessor(tokenizer, special, unknown, True, " ", prefixed, added)


def _added(
    files: TokenizerFiles | None,
    rows: int,
    special_ids: set[int],
    normalize: Callable[[tf.Tensor], tf.Tensor],
    blanks_count: bool = False,
) -> AddedTokens:
    """The added tokens of a HuggingFace folder; a preset has none."""
    as_written, normalized = (
        added_tokens(files, rows, special_ids, blanks_count) if files else ({}, {})
    )
    contents = normalize(tf.constant(list(normalized), tf.string)).numpy()
    ids = {c.decode("utf-8"): i for c, i in zip(contents, normalized.values(), strict=True) if c}
    return AddedTokens(as_written, ids)


def _casing(files: TokenizerFiles | None, backbone: str) -> dict[str, bool]:
    """The arguments of `SentencePieceTokenizer` that say how a text is changed before."""
    if files is None:
        return {}
    # As HuggingFace's own class where the folder says nothing; XLM-RoBERTa's has no such argument.
    albert, shifted = backbone == "AlbertBackbone", backbone == "XLMRobertaBackbone"
    lower = None if shifted else files.said("do_lower_case")
    accents = files.said("keep_accents") if albert else None
    return {
        "lower_case": files.agreed("do_lower_case", lower, files.changes("Lowercase"), albert),
        "keep_accents": files.agreed(
            "keep_accents", accents, files.leaves("StripAccents"), not albert
        ),
    }


def _sentence_pieces(
    path: Path, backbone: str, rows: int, files: TokenizerFiles | None = None
) -> PiecePreprocessor:
    require_file(path, "the tokenizer's SentencePiece model; get the whole folder again")
    if path.stat().st_size > _LARGEST_MODEL:
        raise ArtifactError(
            f"{path}: expected at most {_LARGEST_MODEL} bytes, got {path.stat().st_size}"
        )
    shifted = backbone == "XLMRobertaBackbone"
    try:
        tokenizer = SentencePieceTokenizer(path.read_bytes(), shifted, **_casing(files, backbone))
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from error
    pieces = tokenizer.pieces()
    # XLM-RoBERTa has two more: the padding, and the mask as the last.
    size = len(pieces) + (2 if shifted else 0)
    if size - shifted > rows:
        raise ArtifactError(
            f"{path}: expected at most {rows} pieces (rows of the word embeddings), got {size}; "
            "the model belongs to other weights"
        )
    if shifted:
        special = {"start_of_sequence_id": 0, "padding_id": 1, "end_of_segment_id": 2}
        special |= {"mask_id": size - 1} if size <= rows else {}
        added = _added(files, rows, {*special.values(), 3}, tokenizer.normalize)
        special["vocab_size"] = rows
        return PiecePreprocessor(tokenizer, special, 3, doubled=True, added=added)
    padding, start, end, unknown = _PIECES[backbone]
    missing = [piece for piece in _PIECES[backbone] if piece not in pieces]
    if missing:
        raise ArtifactError(
            f"{path}: expected the special pieces {', '.join(_PIECES[backbone])}, got none of "
            f"{', '.join(missing)}; take the model that belongs to the weights"
        )
    special = {
        "padding_id": pieces.index(padding),
        "start_of_sequence_id": pieces.index(start),
        "end_of_segment_id": pieces.index(end),
    }
    if "[MASK]" in pieces:
        special["mask_id"] = pieces.index("[MASK]")
    elif backbone == "DebertaV3Backbone" and len(pieces) < rows:
        special["mask_id"] = len(pieces)
    unknown_id = pieces.index(unknown)
    added = _added(files, rows, {*special.values(), unknown_id}, tokenizer.normalize)
    special["vocab_size"] = rows
    return PiecePreprocessor(tokenizer, special, unknown_id, doubled=False, added=added)
