"""How a preprocessor reads texts, as what a light export has of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hub_modules.preprocess import BertPreprocessor, CausalPreprocessor, ElmoPreprocessor
from hub_modules.preprocess.byte_pairs import BLANK, CUT, LONGEST_PART
from hub_modules.preprocess.causal import END
from hub_modules.preprocess.elmo import CHARACTERS_PER_WORD, PAD_CHARACTER, WORD_BEGIN, WORD_END
from hub_modules.preprocess.modern_bert import NORMAL_FORM, ModernBertPreprocessor
from hub_modules.preprocess.word_pieces import UNKNOWN
from tf_adapt.errors import ConfigError
from tf_adapt.light.layout import TOKENIZERS, Characters, CharactersFile, Pieces
from tf_adapt.serving.light_exports.characters import (
    answer_characters,
    ranges_of,
    word_piece_characters,
)

# Of `BertPreprocessor`: most bytes of a word.
_LONGEST_WORD = 100


@dataclass
class ReaderFiles:
    """The files that readers need, each content once: path in the export → content."""

    content: dict[str, str] = field(default_factory=dict)

    def tokenizer(self, tokenizer: dict[str, Any]) -> str:
        """The path of a tokenizer's file."""
        text = json.dumps(tokenizer, ensure_ascii=False)
        for path, other in self.content.items():
            if other == text:
                return path
        count = sum(path.rpartition("/")[2][0].isdecimal() for path in self.content)
        return self._named(f"{count}", text)

    def characters(self, name: str, table: CharactersFile) -> str:
        """The path of a table of characters."""
        return self._named(name, json.dumps(table.model_dump(mode="json"), ensure_ascii=False))

    def answer_words(self) -> str:
        """The path of the table of the words that answers are made of."""
        return self.characters("answers", answer_characters())

    def _named(self, name: str, text: str) -> str:
        path = f"{TOKENIZERS}/{name}.json"
        self.content[path] = text
        return path


def reader_of(encoder: Any, files: ReaderFiles) -> Pieces | Characters:
    """The settings of an encoder's reader; the files that they name become `files`.

    Raises:
        ConfigError: texts are read in a way that a light export does not know.
    """
    preprocessor = getattr(encoder.preprocessor, "preprocessor", encoder.preprocessor)
    made = _READERS.get(type(preprocessor))
    settings = None if made is None else made(preprocessor, files)
    if settings is None:
        raise ConfigError(
            "format openvino: expected an encoder with its own WordPiece (BERT, MPNet), byte pairs "
            f"(GPT-2, ModernBERT) or ELMo's characters, got {encoder.handle} of the family "
            f"{encoder.family}, whose texts {type(preprocessor).__name__} reads otherwise; leave "
            "--format out, which writes a SavedModel"
        )
    return settings


def _word_pieces(preprocessor: BertPreprocessor, files: ReaderFiles) -> Pieces | None:
    if preprocessor.lower_case is None:
        return None
    special = preprocessor.special_token_ids
    model = {
        "type": "WordPiece",
        "unk_token": UNKNOWN,
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": _LONGEST_WORD,
        "vocab": _ids(preprocessor.vocabulary.value),
    }
    # The words have one blank around them.
    blanks = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
    name = "lower" if preprocessor.lower_case else "cased"
    return Pieces(
        tokenizer=files.tokenizer(_tokenizer(model, blanks)),
        characters=files.characters(name, word_piece_characters(preprocessor.lower_case)),
        padding=special["padding_id"],
        start=special["start_of_sequence_id"],
        end=special["end_of_segment_id"],
        unknown=preprocessor.unknown_id,
        doubled=preprocessor.doubled,
        longest=_LONGEST_WORD,
    )


def _of_gpt2(preprocessor: CausalPreprocessor, files: ReaderFiles) -> Pieces:
    return _byte_pairs(preprocessor, files, END, {}, last=preprocessor.classification_id)


def _of_modern_bert(preprocessor: ModernBertPreprocessor, files: ReaderFiles) -> Pieces:
    rules = {"single_word": False, "lstrip": False, "rstrip": False, "special": False}
    added = [
        {"id": number, "content": token, "normalized": name == "normalized", **rules}
        for name, tokens in preprocessor.added.value.items()
        for token, number in tokens.items()
    ]
    more = {"normalizer": {"type": NORMAL_FORM}, "added_tokens": added}
    return _byte_pairs(preprocessor, files, UNKNOWN, more)


def _byte_pairs(
    preprocessor: CausalPreprocessor | ModernBertPreprocessor,
    files: ReaderFiles,
    unknown: str,
    more: dict[str, Any],
    last: int | None = None,
) -> Pieces:
    special = preprocessor.special_token_ids
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "vocab": _ids(preprocessor.vocabulary.value),
        "merges": preprocessor.merges.value,
    }
    words = {"type": "Split", "pattern": {"Regex": _byte_pair_words()}, "behavior": "Isolated"}
    signs = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    cuts = {"type": "Split", "pattern": {"String": CUT}, "behavior": "Removed", "invert": False}
    steps = [words | {"invert": False}, cuts, signs | {"use_regex": False}]
    return Pieces(
        tokenizer=files.tokenizer(
            _tokenizer(model, {"type": "Sequence", "pretokenizers": steps}) | more
        ),
        padding=special["padding_id"],
        start=special["start_of_sequence_id"],
        end=special["end_of_segment_id"],
        unknown=preprocessor.unknown_id,
        doubled=preprocessor.doubled,
        last=last,
        blank=preprocessor.blank,
        longest=LONGEST_PART,
    )


def _byte_pair_words() -> str:
    """GPT-2's words with the letters, digits and blanks that TensorFlow knows, whose Unicode may be
    of another version. `CUT` is in no word."""
    letters, digits, blanks = map(_class_of, (r"\p{L}", r"\p{N}", BLANK))
    return (
        f"'s|'t|'re|'ve|'m|'ll|'d| ?[{letters}]+| ?[{digits}]+| ?[^{blanks}{letters}{digits}{CUT}]+"
        f"|[{blanks}]+(?![^{blanks}])|[{blanks}]+"
    )


def _class_of(pattern: str) -> str:
    return "".join(rf"\x{{{a:X}}}-\x{{{b:X}}}" for a, b in ranges_of(pattern))


def _characters(preprocessor: ElmoPreprocessor, files: ReaderFiles) -> Characters:
    return Characters(
        width=CHARACTERS_PER_WORD, begin=WORD_BEGIN, end=WORD_END, padding=PAD_CHARACTER
    )


def _ids(vocabulary: list[str]) -> dict[str, int]:
    return {piece: number for number, piece in enumerate(vocabulary)}


def _tokenizer(model: dict[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    nothing = ("truncation", "padding", "normalizer", "post_processor", "decoder")
    return {
        "version": "1.0",
        **dict.fromkeys(nothing),
        "added_tokens": [],
        "pre_tokenizer": words,
        "model": model,
    }


_READERS: dict[type, Callable[[Any, ReaderFiles], Pieces | Characters | None]] = {
    BertPreprocessor: _word_pieces,
    CausalPreprocessor: _of_gpt2,
    ModernBertPreprocessor: _of_modern_bert,
    ElmoPreprocessor: _characters,
}
