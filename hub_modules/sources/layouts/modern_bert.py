"""Shared by what reads and writes a ModernBERT: the shapes of our weights, and the vocabulary."""

import json
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import SPECIAL_PIECES, read_text
from hub_modules.sources.layouts.causal import (
    MERGES_FILE,
    VOCABULARY_FILE,
    check_byte_pairs,
    merge_lines,
    write_own_byte_pairs,
)
from hub_modules.storage.json_files import Schema, read_json

ADDED_FILE = "added_tokens.json"


class _Added(Schema):
    """Content of `added_tokens.json`."""

    as_written: dict[str, int]
    normalized: dict[str, int]


def modern_bert_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Our name → shape, of every weight of `ModernBertEncoder(**config)` that a module stores."""
    width, inner = config["width"], config["intermediate_width"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings/word_embeddings": (config["vocabulary_size"], width),
        "embeddings/layer_norm/gamma": (width,),
    }
    for layer in range(config["num_layers"]):
        for part in ("query", "key", "value", "output"):
            shapes[f"layer_{layer}/attention/{part}/kernel"] = (width, width)
        shapes[f"layer_{layer}/intermediate/kernel"] = (width, 2 * inner)
        shapes[f"layer_{layer}/output/kernel"] = (inner, width)
        if layer:
            shapes[f"layer_{layer}/attention_layer_norm/gamma"] = (width,)
        shapes[f"layer_{layer}/output_layer_norm/gamma"] = (width,)
    return shapes | {"final_norm/gamma": (width,)}


def check_texts(texts: dict, rows: int, where: str) -> dict:
    """`vocabulary`, `merges` and `added` of a `ModuleSource`, if they can be a ModernBERT's.

    Raises:
        ArtifactError: as `check_byte_pairs`; an added token is not the piece of its id.
    """
    pieces = texts["vocabulary"]
    check_byte_pairs(pieces, texts["merges"], rows, where, SPECIAL_PIECES)
    for tokens in texts["added"].values():
        for content, number in tokens.items():
            if not 0 <= number < len(pieces) or pieces[number] != content:
                raise ArtifactError(
                    f"{where}: added token {content[:100]!r}: expected the piece of its id "
                    f"{number}, got another; use the vocabulary that belongs to the weights, "
                    "unchanged"
                )
    return texts


def read_own_texts(folder: Path, rows: int) -> dict:
    """As `check_texts`, from a module of ours.

    Raises:
        ArtifactError: a file is missing or damaged, or as `check_texts`.
    """
    texts = {
        "vocabulary": read_text(folder / VOCABULARY_FILE).split("\n")[:-1],
        "merges": merge_lines(folder / MERGES_FILE),
        "added": read_json(folder / ADDED_FILE, _Added).model_dump(),
    }
    return check_texts(texts, rows, str(folder / VOCABULARY_FILE))


def write_own_texts(folder: Path, source: ModuleSource) -> None:
    """The reverse of `read_own_texts`."""
    write_own_byte_pairs(folder, source.vocabulary, source.merges)
    text = json.dumps(source.added, ensure_ascii=False, indent=1)
    (folder / ADDED_FILE).write_text(text, encoding="utf-8", newline="\n")
