"""MPNet as a module of ours; its program has BERT's inputs and outputs."""

from pathlib import Path

from hub_modules.by_family.bert import save_programs
from hub_modules.by_family.row import Row
from hub_modules.manifest_schemas import ModuleManifest
from hub_modules.native.relative.mpnet import MPNetEncoder
from hub_modules.preprocess import BertPreprocessor
from hub_modules.preprocess.bert import MPNET_TOKENS
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import read_vocabulary, write_vocabulary
from hub_modules.sources.mpnet import mpnet_shapes


def _text_settings(folder: Path, manifest: ModuleManifest) -> dict:
    rows, special = manifest.config.vocabulary_size, tuple(MPNET_TOKENS.values())
    vocabulary = read_vocabulary(folder / "vocab.txt", rows, special)
    return {"vocabulary": vocabulary, "lower_case": manifest.lower_case}


def _preprocessor(texts: dict, config: dict, classification_token: bool):
    return _of(**texts)


def _of(vocabulary: list[str], lower_case: bool) -> BertPreprocessor:
    return BertPreprocessor(vocabulary, lower_case, special=MPNET_TOKENS, doubled=True)


def _missing(source: ModuleSource) -> str:
    if source.vocabulary is not None and source.lower_case is not None:
        return ""
    return "a vocabulary and its casing with the weights, got none; add vocab.txt to the source"


def _save(encoder: MPNetEncoder, source: ModuleSource, folder: Path, stored_as: str) -> None:
    write_vocabulary(folder / "vocab.txt", source.vocabulary)
    preprocessor = _of(source.vocabulary, source.lower_case)
    save_programs(encoder, preprocessor, folder, stored_as)


ROW = Row(MPNetEncoder, mpnet_shapes, _preprocessor, _text_settings, _missing, _save, None)
