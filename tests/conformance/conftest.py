"""The table of public layers and heads: what each is made with and called with."""

from collections.abc import Callable
from dataclasses import dataclass, field

import keras
import numpy as np
import pytest
import tensorflow as tf

from hub_modules.bert import BertEncoder
from hub_modules.elmo import ElmoEncoder
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.tagger import LinearTagger

LENGTHS = (5, 3)  # real positions of the two rows of every batch
WIDTH = 6


@dataclass(frozen=True)
class Row:
    """A layer, and what it is called with.

    `inputs(extra)` gives its arguments with `extra` positions of padding after the longest row;
    `real` takes what is not padding out of its outputs; `unusual` completes `config` to a value
    other than the default for every argument.
    """

    layer: type
    config: dict
    inputs: Callable[[int], tuple]
    real: Callable
    unusual: dict = field(default_factory=dict)
    gives_logits: bool = True

    def make(self, seed: int = 0, **changes) -> keras.layers.Layer:
        """A built layer with normally distributed weights, so that no bias is zero."""
        keras.utils.set_random_seed(seed)
        layer = self.layer(**self.config | changes)
        layer(*self.inputs(0))
        random = np.random.default_rng(seed)
        for weight in layer.weights:
            if weight.dtype == "float32":
                weight.assign(random.normal(size=weight.shape, scale=0.3))
        return layer

    def results(self, layer: keras.layers.Layer, extra: int = 0, **options) -> list[np.ndarray]:
        """What a layer makes of this row's inputs, without the padding."""
        parts = self.real(layer(*self.inputs(extra), **options))
        return [np.asarray(tf.cast(part, tf.float32)) for part in parts]


def bert_inputs(extra: int) -> tuple:
    random = np.random.default_rng(1)
    time = LENGTHS[0] + extra
    mask = np.arange(time) < np.array(LENGTHS)[:, None]
    ids = random.integers(1, 20, size=(2, LENGTHS[0]))
    types = random.integers(0, 2, size=(2, LENGTHS[0]))
    spare = ((0, 0), (0, extra))
    inputs = {
        "input_word_ids": np.pad(ids, spare) * mask,
        "input_mask": mask,
        "input_type_ids": np.pad(types, spare) * mask,
    }
    return ({name: array.astype("int32") for name, array in inputs.items()},)


def elmo_inputs(extra: int) -> tuple:
    ids = np.random.default_rng(2).integers(1, 257, size=(2, LENGTHS[0], 50)).astype("int32")
    ids[1, LENGTHS[1] :] = 0
    return ({"character_ids": np.pad(ids, ((0, 0), (0, extra), (0, 0)))},)


def text(extra: int, seed: int) -> dict:
    """An encoder's outputs for a head, with junk at padding."""
    random = np.random.default_rng(seed)
    layers = []
    for _ in range(2):
        states = random.normal(size=(2, LENGTHS[0], WIDTH))
        states = np.pad(states, ((0, 0), (0, extra), (0, 0)), constant_values=1e3)
        states[1, LENGTHS[1] :] = -1e3
        layers.append(states.astype("float32"))
    mask = np.arange(LENGTHS[0] + extra) < np.array(LENGTHS)[:, None]
    return {"layers": layers, "mask": mask, "pooled": layers[-1][:, 0]}


def one_text(extra: int) -> tuple:
    return ([text(extra, seed=3)],)


def two_texts(extra: int) -> tuple:
    return ([text(extra, seed=3), text(2 * extra, seed=4)],)


def text_and_pieces(extra: int) -> tuple:
    first_piece = np.pad([[0, 2, 3], [1, 2, -1]], ((0, 0), (0, extra)), constant_values=-1)
    return [text(extra, seed=3)], {"first_piece": first_piece.astype("int32")}


def real_states(outputs: dict) -> list:
    states = [layer[row, :n] for layer in outputs["layers"] for row, n in enumerate(LENGTHS)]
    return states + ([outputs["pooled"]] if "pooled" in outputs else [])


def real_words(*lengths: int) -> Callable:
    return lambda logits: [logits[row, :n] for row, n in enumerate(lengths)]


ROWS = {
    "BertEncoder": Row(
        BertEncoder,
        {
            "vocabulary_size": 20,
            "width": 8,
            "num_layers": 2,
            "num_heads": 2,
            "intermediate_width": 16,
            "max_positions": 64,
            "dropout": 0.2,
            "attention_dropout": 0.2,
        },
        bert_inputs,
        real_states,
        {"type_vocabulary_size": 3, "activation": "gelu_tanh", "layer_norm_epsilon": 1e-6},
        gives_logits=False,
    ),
    "ElmoEncoder": Row(
        ElmoEncoder,
        {
            "filters": [[1, 4], [2, 8]],
            "character_width": 4,
            "num_highway": 1,
            "projection_width": 6,
            "lstm_width": 10,
        },
        elmo_inputs,
        real_states,
        {
            "num_layers": 3,
            "skip_connections": False,
            "cell_clip": 2.0,
            "projection_clip": None,
            "activation": "tanh",
            "stateful": True,
        },
        gives_logits=False,
    ),
    "LinearHead, pooled": Row(
        LinearHead,
        {"num_outputs": 3, "dropout": 0.2},
        one_text,
        lambda logits: [logits],
        {"num_outputs": 1, "pooling": "max", "regression": True},
    ),
    "LinearHead, max": Row(
        LinearHead,
        {"num_outputs": 3, "dropout": 0.2, "pooling": "max"},
        one_text,
        lambda logits: [logits],
        {"num_outputs": 1, "regression": True},
    ),
    "LinearHead, regression of a pair": Row(
        LinearHead,
        {"num_outputs": 1, "dropout": 0.2, "pooling": "max", "regression": True},
        two_texts,
        lambda logits: [logits],
    ),
    "LinearTagger, pieces": Row(
        LinearTagger, {"num_outputs": 3, "dropout": 0.2}, text_and_pieces, real_words(3, 2)
    ),
    "LinearTagger, words": Row(
        LinearTagger, {"num_outputs": 3, "dropout": 0.2}, one_text, real_words(*LENGTHS)
    ),
}


def pytest_generate_tests(metafunc):
    """Every test that takes `row` runs once for each row; `encoder_row`: for each encoder's."""
    if "row" in metafunc.fixturenames:
        metafunc.parametrize("row", ROWS.values(), ids=ROWS)
    if "encoder_row" in metafunc.fixturenames:
        encoders = {name: row for name, row in ROWS.items() if not row.gives_logits}
        metafunc.parametrize("encoder_row", encoders.values(), ids=encoders)


@pytest.fixture
def rows() -> dict[str, Row]:
    return ROWS
