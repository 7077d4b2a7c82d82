"""The files of a tokenizer in a folder of HuggingFace's format, as text: `tokenizer.json`, which
the library `tokenizers` reads, and what transformers has beside it."""

from collections.abc import Mapping

from hub_modules.preprocess.byte_pairs import byte_signs
from hub_modules.sources.files.huggingface_files import as_json

_PLAIN = {"single_word": False, "lstrip": False, "rstrip": False}


def word_piece_texts(
    vocabulary: list[str],
    lower_case: bool,
    special: Mapping[str, str],
    doubled: bool,
    kind: str,
    strip_accents: bool | None = None,
    split_chinese: bool = True,
) -> dict[str, str]:
    """`vocab.txt`, `tokenizer.json` and `tokenizer_config.json` of WordPiece.

    Args:
        special: as `hub_modules.preprocess.bert.SPECIAL_TOKENS`.
        doubled: as of `pack_segments`.
        kind: the name of HuggingFace's class.
        strip_accents: None: where text is lower-cased.
    """
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    content = _tokenizer(
        ids,
        {piece: {} for piece in (*special.values(), "[UNK]") if piece in ids},
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": split_chinese,
            "strip_accents": strip_accents,
            "lowercase": lower_case,
        },
        splitter={"type": "BertPreTokenizer"},
        ends=_template(ids, special, doubled),
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        model={
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    )
    named = {
        "tokenizer_class": kind,
        "do_lower_case": lower_case,
        "strip_accents": strip_accents,
        "tokenize_chinese_chars": split_chinese,
        **_named(special, ids),
    }
    return {
        "vocab.txt": "".join(f"{piece}\n" for piece in vocabulary),
        "tokenizer.json": as_json(content),
        "tokenizer_config.json": as_json(named),
    }


def byte_pair_texts(
    vocabulary: list[str],
    merges: list[str],
    added: Mapping[str, dict[str, int]],
    special: Mapping[str, str],
) -> dict[str, str]:
    """`tokenizer.json` and `tokenizer_config.json` of a ModernBERT's byte-level BPE."""
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    tokens = {piece: {} for piece in (*special.values(), "[UNK]")}
    for name, rules in (("as_written", {}), ("normalized", {"normalized": True})):
        tokens |= {piece: {"special": False, **rules} for piece in added[name]}
    # A token that was added may be a piece of the merges too.
    merged = {*byte_signs(), *(piece for merge in merges for piece in _pieces_of(merge))}
    pieces = {piece: n for piece, n in ids.items() if piece in merged or piece not in tokens}
    ends = _template(ids, special, doubled=False)
    content = _byte_pair_tokenizer(ids, pieces, merges, tokens, ends, {"type": "NFC"})
    named = {"tokenizer_class": "PreTrainedTokenizerFast", **_named(special, ids)}
    return {"tokenizer.json": as_json(content), "tokenizer_config.json": as_json(named)}


def gpt2_texts(vocabulary: list[str], merges: list[str], end: str) -> dict[str, str]:
    """As `byte_pair_texts`, of GPT-2's own, which puts no token around a text."""
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    ends = _byte_level(add_prefix_space=True)
    content = _byte_pair_tokenizer(ids, ids, merges, {end: {}}, ends)
    named = {"tokenizer_class": "GPT2Tokenizer"}
    return {"tokenizer.json": as_json(content), "tokenizer_config.json": as_json(named)}


def roberta_texts(
    ids: dict[str, int], merges: list[str], special: Mapping[str, str], prefixed: bool
) -> dict[str, str]:
    """As `byte_pair_texts`, of RoBERTa's.

    Args:
        ids: piece → id.
        prefixed: whether a blank is put before each text.
    """
    tokens = {piece: {} for piece in (*special.values(), "<unk>") if piece in ids}
    ends = _template(ids, special, doubled=True)
    content = _byte_pair_tokenizer(ids, ids, merges, tokens, ends, prefixed=prefixed)
    named = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": prefixed}
    return {"tokenizer.json": as_json(content), "tokenizer_config.json": as_json(named)}


def _pieces_of(merge: str) -> list[str]:
    return [*merge.split(" "), merge.replace(" ", "")]


def _byte_pair_tokenizer(
    ids: dict[str, int],
    pieces: dict[str, int],
    merges: list[str],
    tokens: dict[str, dict],
    ends: dict,
    normalizer: dict | None = None,
    prefixed: bool = False,
) -> dict:
    """The content of `tokenizer.json` of a byte-level BPE.

    Args:
        ids: of all tokens.
        pieces: of those that a word is made of.
        merges: pairs of pieces, as `"Ġ t"`, the most important first.
        tokens: those that are found in a text before it is split, with rules of each.
        ends: what is put around a text.
        prefixed: whether a blank is put before each text.
    """
    return _tokenizer(
        ids,
        tokens,
        normalizer=normalizer,
        splitter=_byte_level(add_prefix_space=prefixed),
        ends=ends,
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
            "vocab": pieces,
            "merges": [merge.split(" ") for merge in merges],
        },
    )


def _tokenizer(
    ids: dict[str, int],
    tokens: dict[str, dict],
    normalizer: dict | None,
    splitter: dict,
    ends: dict,
    decoder: dict,
    model: dict,
) -> dict:
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
        "post_processor": ends,
        "decoder": decoder,
        "model": model,
    }


def _template(ids: dict[str, int], special: Mapping[str, str], doubled: bool) -> dict:
    a, b = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    begin, end = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in _ends(special))
    between = [end, end] if doubled else [end]
    number = 0 if doubled else 1
    second = [_of_type(part, number) for part in (b, end)]
    return {
        "type": "TemplateProcessing",
        "single": [begin, a, end],
        "pair": [begin, a, *between, *second],
        "special_tokens": {
            piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]} for piece in _ends(special)
        },
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
