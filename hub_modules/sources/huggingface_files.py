"""A folder of HuggingFace's format as files: configuration, weights, tokenizer."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from hub_modules.preprocess.byte_pairs import byte_signs
from hub_modules.storage.files import publish_folder

Beside = Mapping[str, str] | None
# HuggingFace's name of an activation → ours.
ACTIVATIONS = {"gelu": "gelu_exact", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
_PLAIN = {"single_word": False, "lstrip": False, "rstrip": False}


def write_folder(
    folder: str | Path,
    settings: dict,
    arrays: dict[str, np.ndarray],
    texts: Mapping[str, str],
    beside: Beside = None,
) -> None:
    """Writes `config.json`, `model.safetensors` and further files by name.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
    """
    texts = {"config.json": as_json(settings), **texts, **(beside or {})}
    write_files(folder, texts, "model.safetensors", arrays)


def write_files(
    folder: str | Path,
    texts: Mapping[str, str],
    weights: str,
    arrays: dict[str, np.ndarray],
    copied: Sequence[Path] = (),
) -> None:
    """Writes a new folder of texts by name, one file of weights, and copies of files.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
    """
    with publish_folder(folder) as aside:
        for name, text in texts.items():
            (aside / name).parent.mkdir(exist_ok=True)
            (aside / name).write_text(text, encoding="utf-8", newline="\n")
        for path in copied:
            shutil.copyfile(path, aside / path.name)
        save_file(arrays, aside / weights, metadata={"format": "pt"})


def word_piece_texts(
    vocabulary: list[str], lower_case: bool, special: Mapping[str, str], doubled: bool, kind: str
) -> dict[str, str]:
    """`vocab.txt`, `tokenizer.json` and `tokenizer_config.json` of a BERT or an MPNet.

    Args:
        special: as `hub_modules.preprocess.bert.SPECIAL_TOKENS`.
        doubled: as of `pack_segments`.
        kind: the name of HuggingFace's class.
    """
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    content = _tokenizer(
        ids,
        {piece: {} for piece in (*special.values(), "[UNK]") if piece in ids},
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": lower_case,
        },
        splitter={"type": "BertPreTokenizer"},
        ends=_ends(special),
        doubled=doubled,
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        model={
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    )
    return {
        "vocab.txt": "".join(f"{piece}\n" for piece in vocabulary),
        "tokenizer.json": as_json(content),
        "tokenizer_config.json": as_json(
            {"tokenizer_class": kind, "do_lower_case": lower_case, **_named(special, ids)}
        ),
    }


def byte_pair_texts(
    vocabulary: list[str],
    merges: list[str],
    added: Mapping[str, dict[str, int]],
    special: Mapping[str, str],
) -> dict[str, str]:
    """`tokenizer.json` and `tokenizer_config.json` of a ModernBERT's byte-level BPE."""
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    pairs = [merge.split(" ") for merge in merges]
    # A token that was added may be a piece of the merges too.
    merged = {*byte_signs(), *(piece for pair in pairs for piece in (*pair, "".join(pair)))}
    tokens = {piece: {} for piece in (*special.values(), "[UNK]")}
    for name, rules in (("as_written", {}), ("normalized", {"normalized": True})):
        tokens |= {piece: {"special": False, **rules} for piece in added[name]}
    content = _tokenizer(
        ids,
        tokens,
        normalizer={"type": "NFC"},
        splitter=_byte_level(add_prefix_space=False),
        ends=_ends(special),
        doubled=False,
        decoder=_byte_level(add_prefix_space=True),
        model={
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {p: n for p, n in ids.items() if p in merged or p not in tokens},
            "merges": pairs,
        },
    )
    named = {"tokenizer_class": "PreTrainedTokenizerFast", **_named(special, ids)}
    return {"tokenizer.json": as_json(content), "tokenizer_config.json": as_json(named)}


def as_json(content: dict) -> str:
    """A file's text."""
    return json.dumps(content, indent=1, ensure_ascii=False)


def _tokenizer(
    ids: dict[str, int],
    tokens: dict[str, dict],
    normalizer: dict,
    splitter: dict,
    ends: tuple[str, str],
    doubled: bool,
    decoder: dict,
    model: dict,
) -> dict:
    first, last = ends
    a, b = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    begin, end = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in ends)
    between = [end, end] if doubled else [end]
    number = 0 if doubled else 1
    second = [_of_type(part, number) for part in (b, end)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": ids[piece], "content": piece, **_PLAIN, "normalized": False, "special": True}
            | rules
            for piece, rules in sorted(tokens.items(), key=lambda token: ids[token[0]])
        ],
        "normalizer": normalizer,
        "pre_tokenizer": splitter,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, a, end],
            "pair": [begin, a, *between, *second],
            "special_tokens": {
                piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]}
                for piece in (first, last)
            },
        },
        "decoder": decoder,
        "model": model,
    }


def _of_type(part: dict, number: int) -> dict:
    ((kind, content),) = part.items()
    return {kind: content | {"type_id": number}}


def _ends(special: Mapping[str, str]) -> tuple[str, str]:
    return special["start_of_sequence_id"], special["end_of_segment_id"]


def _named(special: Mapping[str, str], ids: dict[str, int]) -> dict[str, str]:
    first, last = _ends(special)
    named = {"cls_token": first, "sep_token": last, "pad_token": special["padding_id"]}
    named["unk_token"] = "[UNK]"
    return named | ({"mask_token": special["mask_id"]} if special["mask_id"] in ids else {})


def _byte_level(add_prefix_space: bool) -> dict:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": True,
    }
