"""Small encoders of random weights as sources, to be written and read back."""

import numpy as np
import pytest

from hub_modules.sources import ModuleSource
from hub_modules.sources.bilm_tf import elmo_shapes
from hub_modules.sources.layouts.bert import bert_shapes

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"]


def random_weights(shapes: dict) -> dict:
    random = np.random.default_rng(0)
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def tiny_bert() -> ModuleSource:
    config = {
        "vocabulary_size": 9,
        "width": 6,
        "num_layers": 2,
        "num_heads": 3,
        "intermediate_width": 10,
        "max_positions": 5,
        "type_vocabulary_size": 2,
        "activation": "gelu_tanh",
        "layer_norm_epsilon": 1e-12,
        "dropout": 0.1,
        "attention_dropout": 0.2,
    }
    weights = random_weights(bert_shapes(config))
    return ModuleSource("bert", config, weights, list(PIECES), lower_case=True)


@pytest.fixture
def tiny_elmo() -> ModuleSource:
    config = {
        "filters": [[1, 3], [2, 4]],
        "character_width": 5,
        "num_highway": 2,
        "projection_width": 6,
        "lstm_width": 8,
        "num_layers": 2,
        "skip_connections": True,
        "cell_clip": 3.0,
        "projection_clip": None,
        "activation": "tanh",
    }
    return ModuleSource("elmo", config, random_weights(elmo_shapes(config)))


@pytest.fixture
def assert_same_source():
    def check(got: ModuleSource, expected: ModuleSource) -> None:
        assert got.config == expected.config
        assert (got.family, got.vocabulary, got.lower_case) == (
            expected.family,
            expected.vocabulary,
            expected.lower_case,
        )
        assert got.weights.keys() == expected.weights.keys()
        for name, array in expected.weights.items():
            assert got.weights[name].dtype == np.float32, name
            np.testing.assert_array_equal(got.weights[name], array, err_msg=name)

    return check
