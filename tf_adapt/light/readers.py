"""How a model reads: texts → tokens, rows of tokens → the inputs of its graph. No TensorFlow."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tf_adapt.errors import ArtifactError
from tf_adapt.light.added_tokens import AddedTokens
from tf_adapt.light.characters import SplitWords
from tf_adapt.light.layout import Characters, Pieces
from tf_adapt.light.rows import Tokens, Words


class PieceReader:
    """Word pieces or byte pairs, in rows as BERT's.

    Args:
        settings: of `light.json`.
        folder: of the export.

    Raises:
        ArtifactError: the tokenizer cannot be read.
    """

    def __init__(self, settings: Pieces, folder: Path):
        from tokenizers import Tokenizer

        self._settings = settings
        file = folder / settings.tokenizer
        try:
            self._tokenizer = Tokenizer.from_file(str(file))
        # Its errors have no type of their own.
        except Exception as error:
            raise ArtifactError(
                f"{file}: expected a tokenizer of HuggingFace's format, got another file "
                f"({str(error)[:200]}); export the run again"
            ) from None
        ids = [settings.padding, settings.start, settings.end, settings.unknown, settings.last or 0]
        if None in map(self._tokenizer.id_to_token, ids):
            raise ArtifactError(
                f"{file}: expected a token for each of the ids {sorted(set(ids))} of light.json, "
                "got none for one of them; export the run again"
            )
        self._added = AddedTokens(self._tokenizer)
        self._split = None
        if settings.characters is not None:
            self._split = SplitWords(folder / settings.characters, settings.longest)

    def texts(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, without special ones."""
        if self._split is None:
            return list(map(self._in_parts, texts))
        split = list(map(self._split, texts))
        if len(split) == 1:  # a batch would wake other threads
            return [self._tokenizer.encode(split[0], add_special_tokens=False).ids]
        encoded = self._tokenizer.encode_batch(split, add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

    def words(self, words: Sequence[str]) -> Words:
        """The tokens of each word of a sentence; none is without."""
        unknown = [self._settings.unknown]
        if self._split is None:
            return [self._of_word(word) or unknown for word in words]
        split = list(map(self._split, words))
        encoding = self._tokenizer.encode(" ".join(split), add_special_tokens=False)
        owners = [number for number, word in enumerate(split) for part in word.split(" ") if part]
        tokens: list[list[int]] = [[] for _ in words]
        for token, place in zip(encoding.ids, encoding.word_ids, strict=True):
            tokens[owners[place]].append(token)
        return [of_word or unknown for of_word in tokens]

    def _of_word(self, word: str) -> list[int]:
        blank = self._settings.blank
        if not self._added:
            return self._in_parts(blank + word)
        return self._added.around(word, lambda part: self._pieces(blank + part))

    def _in_parts(self, text: str) -> list[int]:
        """Byte pairs: longer words are merged in parts, see `hub_modules.preprocess.byte_pairs`."""
        longest = self._settings.longest
        words = []
        if len(text.encode()) > longest:
            split = self._tokenizer.pre_tokenizer.pre_tokenize_str
            words = split(self._added.normalize(text))
        # A sign of such a word is a byte.
        if all(len(signs) <= longest for signs, _ in words):
            return self._tokenizer.encode(text, add_special_tokens=False).ids
        return self._added.around(text, self._pieces)

    def _pieces(self, text: str) -> list[int]:
        """The tokens of a text that is normalized and has no added tokens."""
        model, longest = self._tokenizer.model, self._settings.longest
        return [
            token.id
            for signs, _ in self._tokenizer.pre_tokenizer.pre_tokenize_str(text)
            for start in range(0, len(signs), longest)
            for token in model.tokenize(signs[start : start + longest])
        ]

    def special_tokens(self, segments: int) -> int:
        """Number of special tokens in a row of so many segments."""
        return segments + 1 + (segments - 1 if self._settings.doubled else 0)

    def before_words(self, segments: int) -> int:
        """Special tokens before the last segment of a row."""
        return self.special_tokens(segments) - 1

    def pack(self, rows: Sequence[Sequence[Tokens]]) -> dict[str, np.ndarray]:
        """The inputs for rows of one segment, or two: see `hub_modules.preprocess.bert`.

        Shapes: → `[batch, time] int32`.
        """
        settings = self._settings
        joined = [self._row(segments) for segments in rows]
        time = max(len(ids) for ids, _ in joined)
        word_ids = np.full([len(rows), time], settings.padding, "int32")
        mask, types = np.zeros_like(word_ids), np.zeros_like(word_ids)
        for number, (ids, of_type) in enumerate(joined):
            word_ids[number, : len(ids)] = ids
            types[number, : len(ids)] = of_type
            mask[number, : len(ids)] = 1
        return {"input_word_ids": word_ids, "input_mask": mask, "input_type_ids": types}

    def _row(self, segments: Sequence[Tokens]) -> tuple[list[int], list[int]]:
        settings = self._settings
        ids, types = [settings.start, *segments[0], settings.end], [0] * (len(segments[0]) + 2)
        for segment in segments[1:]:
            if settings.doubled:
                ids.append(settings.end)
                types.append(2)  # it belongs to neither text
            ids += [*segment, settings.end]
            types += [1] * (len(segment) + 1)
        if settings.last is not None:
            ids[-1] = settings.last
        return ids, types


class CharacterReader:
    """Words of bytes, as ELMo's."""

    def __init__(self, settings: Characters, folder: Path):
        self._settings = settings

    def texts(self, texts: Sequence[str]) -> list[Tokens]:
        """The words of each text, split at white space of ASCII."""
        return [text.encode().split() for text in texts]

    def words(self, words: Sequence[str]) -> Words:
        """Each word is one token."""
        return [[word.encode()] for word in words]

    def special_tokens(self, segments: int) -> int:
        """0: the encoder adds the boundaries of sentences."""
        return 0

    def before_words(self, segments: int) -> int:
        """0: as `special_tokens`."""
        return 0

    def pack(self, rows: Sequence[Sequence[Tokens]]) -> dict[str, np.ndarray]:
        """The inputs for rows, whose segments are read one behind the other.

        Shapes: → `character_ids` `[batch, time, width] int32`, 0 at padding.
        """
        settings = self._settings
        joined = [[word for segment in segments for word in segment] for segments in rows]
        time = max(1, *map(len, joined))
        ids = np.zeros([len(rows), time, settings.width], "int32")
        for number, words in enumerate(joined):
            for place, word in enumerate(words):
                content = np.frombuffer(word[: settings.width - 2], "uint8")
                ids[number, place] = settings.padding
                ids[number, place, 0] = settings.begin
                ids[number, place, 1 : 1 + len(content)] = content + np.int32(1)
                ids[number, place, 1 + len(content)] = settings.end
        return {"character_ids": ids}


READERS = {"pieces": PieceReader, "characters": CharacterReader}
