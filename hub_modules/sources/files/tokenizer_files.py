"""A HuggingFace folder's description of its tokenizer: `tokenizer_config.json`, `tokenizer.json`.

The first has the arguments of a class, the second the tokenizer itself; either may be missing. What
both say must agree, and what is not computed here is refused by its name.

Source: HuggingFace transformers (`models/*/tokenization_*.py`); tokenizers (`tokenizer.json`).
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub_modules.errors import ArtifactError
from hub_modules.sources.files.folder import (
    SPECIAL_PIECES,
    check_vocabulary,
    lower_casing,
    read_json,
    read_vocabulary,
    setting,
)

CONFIG, FAST, OLD_ADDED = "tokenizer_config.json", "tokenizer.json", "added_tokens.json"
_LARGEST_FAST = 64 * 2**20  # those of XLM-RoBERTa have 17 MiB
_FLAG = "true or false"
_REMEDY = "such a tokenizer is not supported: take another model"
_READ_BY_KERAS = "such a tokenizer is not converted: give the folder as keras:"
# Classes that only read tokenizer.json.
_GENERAL = ("PreTrainedTokenizerFast", "TokenizersBackend")
_CLASSES = {
    "bert": ("BertTokenizer",),
    "electra": ("ElectraTokenizer", "BertTokenizer"),
    "distilbert": ("DistilBertTokenizer", "BertTokenizer"),
    "roberta": ("RobertaTokenizer",),
    "xlm-roberta": ("XLMRobertaTokenizer",),
    "albert": ("AlbertTokenizer",),
    "deberta-v2": ("DebertaV2Tokenizer",),
    "modernbert": ("PreTrainedTokenizerFast",),
    "mpnet": ("MPNetTokenizer",),
}
# What must be so in tokenizer.json, as (key path, values that are computed here); a key that is
# missing says nothing.
_WORD_PIECES = [
    ("model.type", ("WordPiece",)),
    ("model.unk_token", ("[UNK]",)),
    ("model.continuing_subword_prefix", ("##",)),
    ("normalizer.type", ("BertNormalizer",)),
    ("normalizer.clean_text", (True,)),
    ("pre_tokenizer.type", ("BertPreTokenizer",)),
]
_BYTE_PAIRS = [
    ("model.type", ("BPE",)),
    ("normalizer", (None,)),
    ("pre_tokenizer.type", ("ByteLevel",)),
    ("pre_tokenizer.use_regex", (True,)),
]
_UNIGRAMS = [("model.type", ("Unigram", "BPE"))]
# Changes of a text that a SentencePiece model makes too, or that `SentencePieceTokenizer` makes.
_CHANGES = ("Precompiled", "Replace", "Strip", "NFKD", "StripAccents", "Lowercase")
# As `_WORD_PIECES`, of tokenizer_config.json.
_ARGUMENTS = [
    ("do_basic_tokenize", (True, None)),
    ("never_split", (None, [])),
    ("split_by_punct", (False,)),
    ("subword_tokenizer_type", ("wordpiece",)),
]


@dataclass(frozen=True)
class TokenizerFiles:
    """The content of the two files, empty where there is none, of a model of a type."""

    folder: Path
    model_type: str
    config: dict
    fast: dict

    def said(self, key: str) -> bool | None:
        """What `tokenizer_config.json` says under a key; null says nothing."""
        return _flag(self.config, key, self.folder / CONFIG)

    def flag(self, key: str, fast_key: str, default: bool) -> bool:
        """What `tokenizer_config.json` says under `key` or `tokenizer.json` under `fast_key`.

        Raises:
            ArtifactError: both say something else, or it is neither true nor false.
        """
        fast = _flag(self.fast, fast_key, self.folder / FAST)
        return self.agreed(key, self.said(key), fast, default)

    def agreed(self, key: str, given: bool | None, fast: bool | None, default: bool) -> bool:
        """As `flag`, of what the two files say."""
        if given is not None and fast is not None and given != fast:
            raise ArtifactError(
                f"{self.folder / CONFIG}: {key}: expected {_json(fast)}, as {FAST} has it, got "
                f"{_json(given)}; take both files of the same model, or correct the wrong one"
            )
        values = [value for value in (given, fast) if value is not None]
        return values[0] if values else default

    def longest_word(self) -> int:
        """Most characters of a word of WordPiece."""
        key, kind = "model.max_input_chars_per_word", "an integer from 1 to 1000"
        return setting(self.fast, key, kind, self.folder / FAST, default=100)

    def changes(self, kind: str) -> bool | None:
        """Whether `tokenizer.json` makes this change before a text is split; None: it does not say.

        Raises:
            ArtifactError: it changes it in a way that is not computed here.
        """
        if "normalizer" not in self.fast:
            return None
        whole = self.fast["normalizer"] or {}
        steps = whole.get("normalizers", [whole]) if isinstance(whole, dict) else [whole]
        kinds = [step.get("type") if isinstance(step, dict) else step for step in steps]
        other = [kind for kind in kinds if kind not in (*_CHANGES, None)]
        if other:
            raise ArtifactError(
                f"{self.folder / FAST}: normalizer: expected {', '.join(_CHANGES)}, got "
                f"{str(other[0])[:100]!r}; {_REMEDY}"
            )
        return kind in kinds

    def leaves(self, kind: str) -> bool | None:
        """The opposite of `changes`; None: `tokenizer.json` does not say."""
        changes = self.changes(kind)
        return None if changes is None else not changes


def read_tokenizer_files(folder: Path, model_type: str) -> TokenizerFiles:
    """Reads both files and refuses what is not computed here.

    Args:
        model_type: as in `config.json`.

    Raises:
        ArtifactError: a file is damaged, or the tokenizer is of another kind.
    """
    config, fast = folder / CONFIG, folder / FAST
    files = TokenizerFiles(
        folder,
        model_type,
        read_json(config) if config.is_file() else {},
        read_json(fast, _LARGEST_FAST) if fast.is_file() else {},
    )
    known = (*_CLASSES[model_type], *_GENERAL)
    name = files.config.get("tokenizer_class") or known[0]
    if str(name).removesuffix("Fast") not in known and name not in known:
        raise ArtifactError(
            f"{config}: tokenizer_class: expected one of {', '.join(known)}, got "
            f"{str(name)[:100]!r}; {_REMEDY}"
        )
    refuse_others(files.config, _ARGUMENTS, config)
    refuse_others(files.fast, _KINDS.get(model_type, _UNIGRAMS), fast)
    return files


_KINDS = {
    "bert": _WORD_PIECES,
    "electra": _WORD_PIECES,
    "distilbert": _WORD_PIECES,
    "mpnet": _WORD_PIECES,
    "roberta": _BYTE_PAIRS,
    # Its normalization is checked by its source.
    "modernbert": [("model.type", ("BPE",))],
}


def added_tokens(
    files: TokenizerFiles, rows: int, special_ids: set[int], blanks_count: bool = False
) -> tuple[dict[str, int], dict[str, int]]:
    """The tokens that were added: token → id, of those found in a text as it is, and of those found
    after its normalization.

    Args:
        rows: of the word embeddings.
        special_ids: of the special tokens of the rows, which a text cannot name.
        blanks_count: whether blanks around a token are pieces of the text.

    Raises:
        ArtifactError: a token is damaged, has an id without an embedding, or is found by a rule
            that is not computed here.
    """
    as_written: dict[str, int] = {}
    normalized: dict[str, int] = {}
    for number, token, where in _listed(files):
        content = token.get("content")
        if type(content) is not str or not content or type(number) is not int:
            raise ArtifactError(
                f"{where}: expected a text as content and a whole number as id, got "
                f"{str(content)[:100]!r} and {str(number)[:100]!r}; get the folder again"
            )
        if number in special_ids:
            continue
        if not 0 <= number < rows:
            raise ArtifactError(
                f"{where}: {content[:100]!r}: expected an id below {rows} (rows of the word "
                f"embeddings), got {number}; save the model after model.resize_token_embeddings"
            )
        _refuse_rules(token, where, ("single_word", "lstrip", "rstrip")[: 1 + 2 * blanks_count])
        (normalized if token.get("normalized", True) else as_written)[content] = number
    return as_written, normalized


def word_pieces(
    files: TokenizerFiles, rows: int, special: Sequence[str] = SPECIAL_PIECES
) -> list[str]:
    """The pieces of `vocab.txt`; without it those of `tokenizer.json`, which newer versions of
    transformers save alone.

    Args:
        rows: rows of the embedding table.

    Raises:
        ArtifactError: as `read_vocabulary`; there is neither file; the ids are not 0, 1, 2, …
    """
    path = files.folder / "vocab.txt"
    if path.is_file():
        return read_vocabulary(path, rows, special)
    if not files.fast:
        raise ArtifactError(
            f"{path}: expected the word pieces, here or in {FAST}, got neither file; download one "
            "from the model's page into the folder"
        )
    where, model = files.folder / FAST, files.fast.get("model")
    ids = model.get("vocab") if isinstance(model, dict) else None
    numbers = list(ids.values()) if isinstance(ids, dict) else [None]
    if any(type(n) is not int for n in numbers) or sorted(numbers) != list(range(len(numbers))):
        raise ArtifactError(
            f"{where}: model.vocab: expected a section of word pieces with the ids 0, 1, 2, …, got "
            "something else; add vocab.txt, or save the tokenizer again"
        )
    return check_vocabulary(sorted(ids, key=ids.get), rows, str(where), special)


def word_piece_casing(
    files: TokenizerFiles, given: bool | None, rows: int, special: Sequence[str]
) -> bool:
    """Whether text is lower-cased, of a tokenizer that is the original BERT's otherwise.

    Args:
        given: as the user says.
        rows: of the word embeddings.
        special: the pieces that may be listed as added tokens.

    Raises:
        ArtifactError: it is unknown, or as `added_tokens`; another tokenizer.
    """
    where = files.folder / "tokenizer_config.json"
    recorded = files.flag("do_lower_case", "normalizer.lowercase", None)
    remedy = (
        'write {"do_lower_case": true} (or false) into this file, or convert the folder: `tf-adapt '
        f"module convert --from huggingface {shlex.quote(str(files.folder))} --lower-case --out "
        "DIR` (or --cased)"
    )
    lower_case = lower_casing(recorded, given, where, remedy)
    chinese = files.flag("tokenize_chinese_chars", "normalizer.handle_chinese_chars", True)
    accents = files.flag("strip_accents", "normalizer.strip_accents", lower_case)
    as_written, normalized = added_tokens(files, rows, set())
    added = [
        token for token in (*as_written, *normalized) if token not in (*special, "[UNK]", "<unk>")
    ]
    is_bert = files.model_type == "bert"
    remedy = f"{_READ_BY_KERAS}{files.folder}" if is_bert else _REMEDY
    for key, expected, got in (
        ("strip_accents", [lower_case], accents),
        ("tokenize_chinese_chars", [True], chinese),
        ("added tokens", [[]], added[:3]),
    ):
        if got not in expected:
            raise ArtifactError(
                f"{where}: {key}: expected {expected[0]}, as the original BERT, got "
                f"{str(got)[:100]}; {remedy}"
            )
    return lower_case


def _listed(files: TokenizerFiles) -> list[tuple[Any, dict, str]]:
    """(id, token, where) of the most detailed file that lists added tokens."""
    where = files.folder / FAST
    tokens = files.fast.get("added_tokens")
    if isinstance(tokens, list) and tokens:
        objects = [token if isinstance(token, dict) else {} for token in tokens]
        return [(token.get("id"), token, f"{where}: added_tokens") for token in objects]
    where = files.folder / CONFIG
    by_id = setting(files.config, "added_tokens_decoder", "an object", where, default={})
    if by_id:
        return [
            (
                int(number) if number.isdecimal() else number,
                token if isinstance(token, dict) else {},
                f"{where}: added_tokens_decoder",
            )
            for number, token in by_id.items()
        ]
    where = files.folder / OLD_ADDED
    old = read_json(where) if where.is_file() else {}
    named = files.config.get("additional_special_tokens") or []
    return [
        (number, {"content": content, "normalized": content not in named}, str(where))
        for content, number in old.items()
    ]


def _refuse_rules(token: dict, where: str, rules: tuple[str, ...]) -> None:
    for rule in rules:
        if token.get(rule):
            raise ArtifactError(
                f"{where}: {token['content'][:100]!r}: {rule}: expected false, got "
                f"{str(token[rule])[:20]}; such tokens are not supported: set it to false where "
                "your texts do not need it"
            )


def refuse_others(content: dict, needed: list, where: Path, remedy: str = _REMEDY) -> None:
    """Refuses the content of a file whose tokenizer (or model) is of another kind.

    Args:
        needed: (key path, values that are computed here); a key that is missing says nothing.
        remedy: ends the message.

    Raises:
        ArtifactError: a value is another one.
    """
    for path, expected in needed:
        got, present = content, True
        for key in path.split("."):
            present = present and (not isinstance(got, dict) or key in got)
            got = got.get(key) if isinstance(got, dict) else None
        if present and got not in expected:
            raise ArtifactError(
                f"{where}: {path}: expected {_json(expected[0])}, got {str(got)[:100]!r}; {remedy}"
            )


def _flag(content: dict, key: str, where: Path) -> bool | None:
    value = content
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return None if value is None else setting(content, key, _FLAG, where)


def _json(value: Any) -> str:
    return {True: "true", False: "false", None: "null"}.get(value, repr(value))
