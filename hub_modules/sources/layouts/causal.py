"""Shared by all sources of causal transformers: the shapes of our weights, and the vocabulary."""

import json
from collections.abc import Sequence
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.preprocess.byte_pairs import byte_signs
from hub_modules.preprocess.causal import END
from hub_modules.sources.files.folder import read_json, read_text, setting

VOCABULARY_FILE, MERGES_FILE = "vocab.txt", "merges.txt"
_REMEDY = "use the vocabulary and the merges that belong to the weights, unchanged"


def causal_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Our name → shape, of every weight of `CausalEncoder(**config)` that a module stores."""
    width, inner = config["width"], config["intermediate_width"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings/word_embeddings": (config["vocabulary_size"], width),
        "embeddings/position_embeddings": (config["max_positions"], width),
    }
    for layer in range(config["num_layers"]):
        for part in ("query", "key", "value", "output"):
            shapes[f"layer_{layer}/attention/{part}/kernel"] = (width, width)
            shapes[f"layer_{layer}/attention/{part}/bias"] = (width,)
        for part, rows, columns in (("intermediate", width, inner), ("output", inner, width)):
            shapes[f"layer_{layer}/{part}/kernel"] = (rows, columns)
            shapes[f"layer_{layer}/{part}/bias"] = (columns,)
        for part in ("attention_layer_norm", "output_layer_norm"):
            shapes |= _layer_norm(f"layer_{layer}/{part}", width)
    return shapes | _layer_norm("final_norm", width)


def _layer_norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}/gamma": (width,), f"{name}/beta": (width,)}


def read_byte_pairs(vocabulary: Path, merges: Path, rows: int) -> tuple[list[str], list[str]]:
    """The pieces by id and the merges, from GPT-2's `vocab.json` and `merges.txt`.

    Args:
        rows: of the word embeddings, which may have unused ones at its end.

    Raises:
        ArtifactError: a file is missing or damaged, or as `check_byte_pairs`.
    """
    pieces = by_id(read_json(vocabulary), vocabulary)
    return check_byte_pairs(pieces, merge_lines(merges), rows, str(vocabulary))


def read_tokenizer_json(path: Path, rows: int) -> tuple[list[str], list[str]]:
    """As `read_byte_pairs`, from the one file of HuggingFace's fast tokenizers.

    Raises:
        ArtifactError: as `read_byte_pairs`; another kind of tokenizer.
    """
    settings = read_json(path)
    kind = setting(settings, "model.type", "a text", path, default="BPE")
    splitter = setting(settings, "pre_tokenizer", "an object", path)
    prefix, normalizer = splitter.get("add_prefix_space", True), settings.get("normalizer")
    described = (kind, splitter.get("type"), splitter.get("use_regex", True), prefix, normalizer)
    if described != ("BPE", "ByteLevel", True, False, None):
        raise ArtifactError(
            f"{path}: expected GPT-2's byte-level BPE: model BPE, pre_tokenizer ByteLevel with "
            "use_regex and without add_prefix_space, no normalizer, got "
            f"{str(described)[:200]}; such a tokenizer is not supported"
        )
    ids = dict(setting(settings, "model.vocab", "an object", path))
    for token in _list(settings.get("added_tokens")):
        if isinstance(token, dict):
            ids[str(token.get("content"))] = token.get("id")
    merges = [merge_text(merge) for merge in _list(settings["model"].get("merges"))]
    return check_byte_pairs(by_id(ids, path), merges, rows, str(path))


def read_own_byte_pairs(folder: Path, rows: int) -> tuple[list[str], list[str]]:
    """As `read_byte_pairs`, from a module of ours.

    Raises:
        ArtifactError: as `read_byte_pairs`.
    """
    pieces = read_text(folder / VOCABULARY_FILE).split("\n")[:-1]
    merges = merge_lines(folder / MERGES_FILE)
    return check_byte_pairs(pieces, merges, rows, str(folder / VOCABULARY_FILE))


def write_own_byte_pairs(folder: Path, pieces: list[str], merges: list[str]) -> None:
    """The reverse of `read_own_byte_pairs`."""
    for name, lines in ((VOCABULARY_FILE, pieces), (MERGES_FILE, merges)):
        text = "".join(f"{line}\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def byte_pair_files(pieces: list[str], merges: list[str]) -> dict[str, str]:
    """The texts of GPT-2's `vocab.json` and `merges.txt`."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    lines = "".join(f"{line}\n" for line in ("#version: 0.2", *merges))
    return {"vocab.json": json.dumps(ids, ensure_ascii=False), MERGES_FILE: lines}


def check_byte_pairs(
    pieces: list[str],
    merges: list[str],
    rows: int,
    where: str,
    special: Sequence[str] = (END,),
) -> tuple[list[str], list[str]]:
    """Both, after a check that they can be those of a byte-level BPE.

    Raises:
        ArtifactError: a piece is empty, stands twice or holds a line break; a byte or a special
            piece is missing; there are more pieces than rows; a merge is no pair of pieces, or
            makes none.
    """
    known = set(pieces)
    if len(known) != len(pieces) or "" in known or any("\n" in piece for piece in pieces):
        raise ArtifactError(
            f"{where}: expected each piece once, none of them empty or with a line break, got "
            f"others; {_REMEDY}"
        )
    missing = [piece for piece in (*byte_signs(), *special) if piece not in known]
    if missing:
        raise ArtifactError(
            f"{where}: expected a piece for each byte and {', '.join(special)}, got none for "
            f"{missing[:5]} ({len(missing)} in all); {_REMEDY}"
        )
    if len(pieces) > rows:
        raise ArtifactError(
            f"{where}: expected at most {rows} pieces (rows of the word embeddings), got "
            f"{len(pieces)}; the vocabulary belongs to another model"
        )
    if not merges or len(set(merges)) != len(merges):
        raise ArtifactError(
            f"{where}: expected merges, each of them once, got {len(merges)} of which "
            f"{len(set(merges))} differ; {_REMEDY}"
        )
    for number, merge in enumerate(merges, start=1):
        pair = merge.split(" ")
        if len(pair) != 2 or not {*pair, "".join(pair)} <= known:
            raise ArtifactError(
                f"{where}: merge {number}: expected two pieces that make a third, got "
                f"{merge[:80]!r}; {_REMEDY}"
            )
    return pieces, merges


def by_id(ids: dict, where: Path) -> list[str]:
    """The pieces of a `{piece: id}` in the order of their ids.

    Raises:
        ArtifactError: the ids are not 0 to the number of pieces, each once.
    """
    if sorted(number for number in ids.values() if type(number) is int) != list(range(len(ids))):
        raise ArtifactError(
            f"{where}: expected the ids 0 to {len(ids) - 1}, each once, got others; {_REMEDY}"
        )
    return sorted(ids, key=ids.__getitem__)


def _list(value) -> list:
    return value if isinstance(value, list) else []


def merge_text(merge) -> str:
    """A merge of a `tokenizer.json`, a text or a list of two, as a line of `merges.txt`."""
    return " ".join(map(str, merge)) if isinstance(merge, list) else str(merge)


def merge_lines(path: Path) -> list[str]:
    """The merges of a `merges.txt`."""
    lines = [line.removesuffix("\r") for line in read_text(path).split("\n")]
    first = 1 if lines[0].startswith("#version") else 0
    return [line for line in lines[first:] if line]
