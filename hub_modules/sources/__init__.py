"""Where weights come from: one file a foreign format, each with its name table as data.

Every file has `read(path, lower_case=None) -> ModuleSource`; a format that can also be written has
`write(source, folder)`.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class ModuleSource:
    """An encoder as plain data: what it takes to build it, and to turn text into its inputs.

    Args:
        family: "bert" or "elmo".
        config: the arguments of `BertEncoder` or `ElmoEncoder`.
        weights: our name → float32 array, in the shapes of the encoder's own weights.
        vocabulary: the word pieces by id; None for ELMo, or where the source has none.
        lower_case: whether text is lower-cased before it is cut into pieces; None for ELMo.
        output_layer: name → float32 array of the language model's output layer, by the names of
            `hub_modules.output_layers`; None where the source has none.
        output_words: ELMo: the words of the output layer by id.
        left_out: foreign names that were read over because the encoder has no use for them.
    """

    family: str
    config: dict
    weights: dict[str, np.ndarray]
    vocabulary: list[str] | None = None
    lower_case: bool | None = None
    output_layer: dict[str, np.ndarray] | None = None
    output_words: list[str] | None = None
    left_out: tuple[str, ...] = ()
