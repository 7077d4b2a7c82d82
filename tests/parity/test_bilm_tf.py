"""ELMo against bilm-tf's own recordings: the top layer, with the state carried along."""

import json

import h5py
import numpy as np

from hub_modules.native.elmo import ElmoEncoder
from hub_modules.sources import bilm_tf


def character_ids(words: list[str]) -> np.ndarray:
    """`[1, words, 50]`, from the definition in bilm-tf's `data.py`, one character at a time."""
    ids = np.full((1, len(words), 50), 261)
    for position, word in enumerate(words):
        letters = [byte + 1 for byte in word.encode("utf-8")[:48]]
        row = [259, *letters, 260]
        ids[0, position, : len(row)] = row
    return ids.astype(np.int32)


def test_top_layer_of_every_recorded_sentence(reference, compare):
    folder = reference / "bilm_tf"
    source = bilm_tf.read(folder)
    width = source.config["projection_width"]
    sentences = json.loads((folder / "lm_embeddings_sentences.json").read_text("utf-8"))
    recordings = sorted(folder.glob("lm_embeddings_*.hdf5"))
    assert recordings
    for recording in recordings:
        encoder = ElmoEncoder(**source.config, stateful=True)
        encoder.build()
        encoder.load_weights_by_name(source.weights)
        got, expected = [], []
        with h5py.File(recording, "r") as file:
            for number, sentence in enumerate(sentences[int(recording.stem.split("_")[-1])]):
                words = sentence if isinstance(sentence, list) else sentence.split()
                top = np.asarray(encoder({"character_ids": character_ids(words)})["layers"][-1][0])
                got.append(np.stack([top[:, :width], top[:, width:]]))
                expected.append(file[str(number)][()])
        compare(
            f"bilm-tf {recording.name}, top layer, {len(got)} sentences",
            np.concatenate(got, axis=1),
            np.concatenate(expected, axis=1),
            1e-5,
        )
