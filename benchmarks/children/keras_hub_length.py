"""keras-hub's preprocessing, which pads all to one length: here the shortest that fits."""

import keras_hub
import numpy as np


class LongestOfAll:
    """Texts (or pairs of them) to the inputs of `BertBackbone`."""

    def __init__(self, tokenizer, segments: list[list[str]]):
        units = np.sum([[len(row) for row in tokenizer(texts)] for texts in segments], axis=0)
        self.preprocessor = keras_hub.models.BertTextClassifierPreprocessor(
            tokenizer, sequence_length=int(units.max()) + len(segments) + 1
        )

    def __call__(self, *segments: list[str]) -> dict:
        given = segments[0] if len(segments) == 1 else segments
        return {name: np.asarray(one) for name, one in self.preprocessor(given).items()}
