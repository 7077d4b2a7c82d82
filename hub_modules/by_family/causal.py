"""GPT-2 as a module of ours; its program has BERT's inputs and outputs."""

from pathlib import Path

from hub_modules.by_family.bert import save_programs
from hub_modules.by_family.row import Row
from hub_modules.manifest_schemas import ModuleManifest
from hub_modules.native.causal import CausalEncoder
from hub_modules.preprocess import CausalPreprocessor
from hub_modules.sources import ModuleSource
from hub_modules.sources.layouts.causal import (
    causal_shapes,
    read_own_byte_pairs,
    write_own_byte_pairs,
)


def _text_settings(folder: Path, manifest: ModuleManifest) -> dict:
    vocabulary, merges = read_own_byte_pairs(folder, manifest.config.vocabulary_size)
    return {"vocabulary": vocabulary, "merges": merges}


def _preprocessor(texts: dict, config: dict, classification_token: bool):
    return CausalPreprocessor(
        **texts, classification_token=classification_token, rows=config["vocabulary_size"]
    )


def _missing(source: ModuleSource) -> str:
    if source.vocabulary is not None and source.merges is not None:
        return ""
    return (
        "a vocabulary and its merges with the weights, got none; add vocab.json and merges.txt to "
        "the source"
    )


def _save(encoder: CausalEncoder, source: ModuleSource, folder: Path, stored_as: str) -> None:
    write_own_byte_pairs(folder, source.vocabulary, source.merges)
    preprocessor = CausalPreprocessor(source.vocabulary, source.merges)
    save_programs(encoder, preprocessor, folder, stored_as)


ROW = Row(CausalEncoder, causal_shapes, _preprocessor, _text_settings, _missing, _save, None)
