"""The tokenizer of a preset, or of a HuggingFace folder of the same families, from its files."""

from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.keras_hub.backbones import BACKBONES, vocabulary_rows
from hub_modules.preprocess import BertPreprocessor
from hub_modules.preprocess.byte_pairs import BytePairTokenizer
from hub_modules.preprocess.pieces import PiecePreprocessor
from hub_modules.preprocess.sentence_pieces import SentencePieceTokenizer
from hub_modules.sources.folder import read_json, read_text, read_vocabulary, require_file, setting

# HuggingFace's name of each SentencePiece model.
PIECE_FILES = {
    "XLMRobertaBackbone": "sentencepiece.bpe.model",
    "AlbertBackbone": "spiece.model",
    "DebertaV3Backbone": "spm.model",
}
_WORD_PIECES = ("BertBackbone", "ElectraBackbone", "DistilBertBackbone")
_LARGEST_MODEL = 50 * 2**20
_ROBERTA = {
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
        lower = setting(config, "lowercase", "true or false", path, default=False)
        return BertPreprocessor(read_vocabulary(assets / "vocabulary.txt", rows), lower)
    if backbone == "RobertaBackbone":
        return _byte_pairs(assets / "vocabulary.json", assets / "merges.txt", rows)
    return _sentence_pieces(assets / "vocabulary.spm", backbone, rows)


def huggingface_preprocessor(folder: Path, backbone: str, settings: dict):
    """The preprocessor of a HuggingFace folder: `vocab.txt`, `vocab.json` and `merges.txt`, or a
    SentencePiece model.

    Raises:
        ArtifactError: a file is missing or damaged.
    """
    rows, path = vocabulary_rows(settings), folder / "tokenizer_config.json"
    stored = read_json(path) if path.is_file() else {}
    if backbone in _WORD_PIECES:
        # As HuggingFace's own class where the folder says nothing.
        lower = setting(stored, "do_lower_case", "true or false", path, default=True)
        vocabulary = _required(folder / "vocab.txt")
        return BertPreprocessor(read_vocabulary(vocabulary, rows), lower)
    if backbone == "RobertaBackbone":
        return _byte_pairs(_required(folder / "vocab.json"), folder / "merges.txt", rows)
    options = {}
    if backbone == "AlbertBackbone":
        kind = "true or false"
        options["lower_case"] = setting(stored, "do_lower_case", kind, path, default=True)
        options["keep_accents"] = setting(stored, "keep_accents", kind, path, default=False)
    return _sentence_pieces(_required(folder / PIECE_FILES[backbone]), backbone, rows, **options)


def _required(path: Path) -> Path:
    advice = "the vocabulary in the form of the original model, beside the weights"
    if not path.is_file() and (path.parent / "tokenizer.json").is_file():
        raise ArtifactError(
            f"{path}: expected {advice}, got tokenizer.json alone, which is not read; download "
            f"{path.name} from the model's page into the folder"
        )
    return require_file(path, f"{advice}; download it from the model's page into the folder")


def _byte_pairs(vocabulary_path: Path, merges_path: Path, rows: int) -> PiecePreprocessor:
    require_file(vocabulary_path, "the tokenizer's pieces; get the whole folder again")
    vocabulary = read_json(vocabulary_path)
    ids = list(vocabulary.values())
    if not all(type(number) is int and 0 <= number < rows for number in ids):
        raise ArtifactError(
            f"{vocabulary_path}: expected an object of pieces with ids below {rows} (rows of the "
            "word embeddings), got something else; take the vocabulary that belongs to the weights"
        )
    lines = read_text(merges_path).split("\n")
    merges = [line for line in lines if line.strip() and not line.startswith("#version")]
    missing = [token for token in (*_ROBERTA.values(), "<unk>") if token not in vocabulary]
    missing = [token for token in missing if token not in ("<mask>", "<unk>")]
    if missing:
        raise ArtifactError(
            f"{vocabulary_path}: expected the special pieces {', '.join(_ROBERTA.values())}, got "
            f"none of {', '.join(missing)}; take the vocabulary that belongs to the weights"
        )
    special = {name: vocabulary[piece] for name, piece in _ROBERTA.items() if piece in vocabulary}
    unknown = vocabulary.get("<unk>", special["padding_id"])
    try:
        tokenizer = BytePairTokenizer(vocabulary, merges, unknown)
    except ArtifactError as error:
        raise ArtifactError(f"{merges_path}: {error}") from error
    special["vocab_size"] = rows
    return PiecePreprocessor(tokenizer, special, unknown, doubled=True, blank=" ")


def _sentence_pieces(path: Path, backbone: str, rows: int, **options) -> PiecePreprocessor:
    require_file(path, "the tokenizer's SentencePiece model; get the whole folder again")
    if path.stat().st_size > _LARGEST_MODEL:
        raise ArtifactError(
            f"{path}: expected at most {_LARGEST_MODEL} bytes, got {path.stat().st_size}"
        )
    shifted = backbone == "XLMRobertaBackbone"
    try:
        tokenizer = SentencePieceTokenizer(path.read_bytes(), shifted, **options)
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
        return PiecePreprocessor(tokenizer, special | {"vocab_size": rows}, 3, doubled=True)
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
        "vocab_size": rows,
    }
    if "[MASK]" in pieces:
        special["mask_id"] = pieces.index("[MASK]")
    elif backbone == "DebertaV3Backbone" and len(pieces) < rows:
        special["mask_id"] = len(pieces)
    return PiecePreprocessor(tokenizer, special, pieces.index(unknown), doubled=False)
