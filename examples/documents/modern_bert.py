"""A small ModernBERT for trying long documents: random layers above lm_small's word embeddings.

    python examples/documents/modern_bert.py modules/modern_bert_random

Three layers of width 256, the first one global, and 8,192 positions. It shows what one long piece
costs; a pretrained ModernBERT shows what it is worth.
"""

import argparse
from pathlib import Path

import numpy as np

import tf_adapt as ta
from hub_modules.export import write_module
from hub_modules.find import find_module
from hub_modules.native.relative.modern_bert import ModernBertEncoder
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import SPECIAL_PIECES
from hub_modules.sources.layouts.causal import MERGES_FILE, VOCABULARY_FILE, merge_lines

SIZES = {"num_layers": 3, "num_heads": 4, "intermediate_width": 512, "max_positions": 8192}


def main() -> None:
    """Writes the module."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("out", type=Path)
    out = options.parse_args().out
    folder = find_module("lm_small")
    pieces = (folder / VOCABULARY_FILE).read_text("utf-8").split("\n")[:-1]
    words = ta.HubEncoder("lm_small").native.weights_by_name()["embeddings/word_embeddings"].numpy()
    config = {
        "vocabulary_size": len(pieces) + len(SPECIAL_PIECES),
        "width": words.shape[1],
        "global_layers": [0],
        **SIZES,
    }
    encoder = ModernBertEncoder(**config)
    encoder.build()
    weights = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    table = "embeddings/word_embeddings"
    weights[table] = np.concatenate([words, weights[table][len(pieces) :]])
    added = {piece: len(pieces) + i for i, piece in enumerate(SPECIAL_PIECES)}
    source = ModuleSource(
        "modern_bert",
        config,
        weights,
        vocabulary=[*pieces, *SPECIAL_PIECES],
        merges=merge_lines(folder / MERGES_FILE),
        added={"as_written": added, "normalized": {}},
    )
    write_module(source, out)


if __name__ == "__main__":
    main()
