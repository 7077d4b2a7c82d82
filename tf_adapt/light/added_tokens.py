"""Tokens that were added to a vocabulary: found in a text before it is split. No TensorFlow."""

import re
from collections.abc import Callable
from typing import Any


class AddedTokens:
    """Finds the added tokens of a tokenizer, as `hub_modules.preprocess.added_tokens` does.

    Args:
        tokenizer: of the library `tokenizers`.
    """

    def __init__(self, tokenizer: Any):
        normalizer = tokenizer.normalizer
        self.normalize = str if normalizer is None else normalizer.normalize_str
        self._as_written: dict[str, int] = {}
        self._normalized: dict[str, int] = {}
        for number, token in tokenizer.get_added_tokens_decoder().items():
            if token.normalized:
                self._normalized[self.normalize(token.content)] = number
            else:
                self._as_written[token.content] = number

    def __bool__(self) -> bool:
        return bool(self._as_written or self._normalized)

    def around(self, text: str, pieces: Callable[[str], list[int]]) -> list[int]:
        """The ids of the added tokens of a text, and between them those of the other parts.

        Args:
            pieces: a normalized text → ids.
        """

        def normalized(part: str) -> list[int]:
            return _around(self._normalized, self.normalize(part), pieces)

        return _around(self._as_written, text, normalized)


def _around(ids: dict[str, int], text: str, pieces: Callable[[str], list[int]]) -> list[int]:
    if not ids:
        return pieces(text)
    # The longest of several that begin at a place.
    pattern = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    parts = [part for part in re.split(f"({pattern})", text) if part]
    return [number for part in parts for number in ([ids[part]] if part in ids else pieces(part))]
