"""ModernBERT as a module of ours; its program has BERT's inputs and outputs."""

from pathlib import Path

from hub_modules.by_family.bert import save_programs
from hub_modules.by_family.row import Row
from hub_modules.manifest_schemas import ModuleManifest
from hub_modules.native.relative.modern_bert import ModernBertEncoder
from hub_modules.preprocess import ModernBertPreprocessor
from hub_modules.sources import ModuleSource
from hub_modules.sources.layouts.modern_bert import (
    modern_bert_shapes,
    read_own_texts,
    write_own_texts,
)


def _text_settings(folder: Path, manifest: ModuleManifest) -> dict:
    return read_own_texts(folder, manifest.config.vocabulary_size)


def _preprocessor(texts: dict, config: dict, classification_token: bool):
    return ModernBertPreprocessor(**texts)


def _missing(source: ModuleSource) -> str:
    if None not in (source.vocabulary, source.merges, source.added):
        return ""
    return "a vocabulary and its merges with the weights, got none; add tokenizer.json"


def _save(encoder: ModernBertEncoder, source: ModuleSource, folder: Path, stored_as: str) -> None:
    write_own_texts(folder, source)
    preprocessor = ModernBertPreprocessor(source.vocabulary, source.merges, source.added)
    save_programs(encoder, preprocessor, folder, stored_as)


ROW = Row(
    ModernBertEncoder,
    modern_bert_shapes,
    _preprocessor,
    _text_settings,
    _missing,
    _save,
    None,
    in_one_piece="a ModernBERT, whose layers are not alike",
)
