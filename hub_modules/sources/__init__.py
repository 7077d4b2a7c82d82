"""Foreign weight formats, one a file, each with its table of names. `files` has what they are made
of, `layouts` what those of a family share.

Every file has `read(path, lower_case=None) -> ModuleSource`; a format that can also be written has
`write(source, folder)`.
"""

from dataclasses import dataclass

import numpy as np

from hub_modules.sources.layouts.layer_mix import LayerMix


@dataclass
class ModuleSource:
    """An encoder as plain data: its config and weights, and the vocabulary for its inputs.

    Args:
        family: "bert", "elmo", "causal", "lstm", "modern_bert" or "mpnet".
        config: the arguments of the family's encoder.
        weights: our name → float32 array, in the shapes of the encoder's own weights.
        vocabulary: the word pieces (lstm: words) by id; None for ELMo, or where the source has
            none.
        lower_case: whether text is lower-cased before tokenization; BERT, MPNet and lstm.
        output_layer: name → float32 array of the language model's output layer, by the names of
            `hub_modules.native.output_layers`; None where the source has none.
        output_words: ELMo: the words of the output layer by id.
        merges: causal and ModernBERT: the pairs of pieces that are merged, in this order.
        added: ModernBERT: the arguments of `AddedTokens`.
        left_out: foreign names that were skipped because the encoder does not use them.
        mix: ELMo: its mix of the layers; None where the source has none.
    """

    family: str
    config: dict
    weights: dict[str, np.ndarray]
    vocabulary: list[str] | None = None
    lower_case: bool | None = None
    output_layer: dict[str, np.ndarray] | None = None
    output_words: list[str] | None = None
    merges: list[str] | None = None
    added: dict[str, dict[str, int]] | None = None
    left_out: tuple[str, ...] = ()
    mix: LayerMix | None = None
