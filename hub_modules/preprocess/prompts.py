"""Prompts: what is put before each text that an encoder reads, as `query: `."""

from collections.abc import Sequence
from typing import Any, NoReturn

import tensorflow as tf

from hub_modules.errors import ConfigError
from hub_modules.preprocess.whole_texts import pack_texts


class PromptedPreprocessor(tf.Module):
    """A preprocessor that puts a prompt before each text; the rest is the preprocessor's own.

    The tokens of a prompt count towards the length of a text, whose end is cut where it is cut.

    Args:
        preprocessor: any preprocessor of whole texts.
        prompts: one for every text, or one for each text of a pair.
    """

    def __init__(self, preprocessor: Any, prompts: Sequence[str]):
        super().__init__(name="prompted_preprocessor")
        self.preprocessor = preprocessor
        self.prompts = tuple(prompts)

    def __call__(self, texts, max_length: int | None = None, truncate: bool = False) -> dict:
        """Texts → the encoder's inputs, tokenized and packed: see `pack_texts`."""
        return pack_texts(self, texts, max_length, truncate)

    def tokenize(self, texts: tf.Tensor, number: int = 0) -> tf.RaggedTensor:
        """Tokens of texts, each after the prompt of text `number` of a pair."""
        prompt = self.prompts[min(number, len(self.prompts) - 1)]
        return self.preprocessor.tokenize(tf.strings.join([prompt, tf.convert_to_tensor(texts)]))

    def tokenize_words(self, words: tf.RaggedTensor) -> NoReturn:
        """Refuses words, between which a prompt has no place.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "prompts (encoder.prompts): expected none for a task on the words of a text, got "
            f"{list(self.prompts)}; set them to []"
        )

    def __getattr__(self, name: str):
        if name == "preprocessor":  # while it is being made
            raise AttributeError(name)
        return getattr(self.preprocessor, name)
