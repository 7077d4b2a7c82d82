"""Records keras-hub's GPT-2 of random weights: `python record.py`, with keras-hub 0.32 installed.

Writes the folder `preset`, as `save_to_preset` does, with the tokenizer of the recording of
HuggingFace's GPT-2, and `expected.npz`: inputs, states, ids of two texts.
"""

from pathlib import Path

import keras_hub
import numpy as np
import tensorflow as tf

HERE = Path(__file__).parent
TOKENIZER = HERE.parent / "huggingface_gpt2" / "model"
TEXTS = ["the cat didn't see", "two hats,  two mats"]


def main() -> None:
    backbone = keras_hub.models.GPT2Backbone(
        vocabulary_size=401,
        num_layers=2,
        num_heads=4,
        hidden_dim=8,
        intermediate_dim=12,
        max_sequence_length=16,
    )
    random = np.random.default_rng(3)
    backbone.set_weights([random.normal(0, 0.5, weight.shape) for weight in backbone.weights])
    files = {"vocabulary": TOKENIZER / "vocab.json", "merges": TOKENIZER / "merges.txt"}
    tokenizer = keras_hub.models.GPT2Tokenizer(**{name: str(file) for name, file in files.items()})
    backbone.save_to_preset(str(HERE / "preset"))
    tokenizer.save_to_preset(str(HERE / "preset"))
    mask = (np.arange(16) < np.array([[16], [7], [1]])).astype("int32")
    ids = random.integers(0, 401, (3, 16)).astype("int32") * mask
    # In a graph: called eagerly, this version joins two blanks before a word, unlike GPT-2's own.
    ids_of_texts = tf.function(lambda texts: tokenizer(texts))(tf.constant(TEXTS)).to_list()
    np.savez(
        HERE / "expected.npz",
        token_ids=ids,
        padding_mask=mask,
        states=np.asarray(backbone({"token_ids": ids, "padding_mask": mask})),
        texts=np.array(TEXTS),
        text_ids=np.concatenate(ids_of_texts),
        text_lengths=np.array(list(map(len, ids_of_texts))),
    )


if __name__ == "__main__":
    main()
