"""Factors by layer group, and the group of a weight by its path."""

import math

import pytest

from tf_adapt.adaptation.layer_factors import decays, group_of_each, layer_factors
from tf_adapt.errors import ConfigError

GROUPS = ["embeddings", "layer_0", "layer_1", "adapters"]
KNOWN = {f"layer_{n}": [f"bert/layer_{n}/{w}" for w in ("kernel", "bias")] for n in range(12)}


def test_a_decay_goes_down_from_the_top():
    assert list(layer_factors(GROUPS, decay=0.4).items()) == [
        ("embeddings", pytest.approx(0.064)),
        ("layer_0", pytest.approx(0.16)),
        ("layer_1", 0.4),
        ("adapters", 1.0),
        ("head", 1.0),
    ]
    # FACTS c.12: ULMFiT divides by 2.6.
    assert layer_factors(["lstm_0", "lstm_1"], decay=1 / 2.6) == pytest.approx(
        {"lstm_0": 0.147929, "lstm_1": 0.384615, "head": 1.0}, abs=1e-6
    )
    for added in ("lora", "biases", "new_embeddings"):
        assert layer_factors(["layer_0", added], decay=0.4)[added] == 1.0
        assert layer_factors(["layer_0", added], decay=0.4)["layer_0"] == 0.4
    assert layer_factors(["lstm_0"], decay=1) == {"lstm_0": 1.0, "head": 1.0}


def test_a_table_says_what_is_not_one():
    ones = dict.fromkeys((*GROUPS, "head"), 1.0)
    assert layer_factors(GROUPS) == ones
    table = {"layer_0": 0.25, "head": 2, "embeddings": 0}
    assert layer_factors(GROUPS, factors=table) == ones | table


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decay": 0.4, "factors": {"head": 1.0}}, "expected one of them, got both; leave one out"),
        ({"decay": 0.0}, "decay: expected a number above 0 and up to 1, got 0.0"),
        ({"decay": 1.5}, "up to 1, got 1.5"),
        ({"decay": math.nan}, "got nan"),
        ({"decay": "0.4"}, "got '0.4'"),
        ({"decay": True}, "got True"),
        ({"factors": {"layer0": 0.5}}, "adapters, head, got 'layer0'; did you mean layer_0"),
        ({"factors": {"layer_0": -1.0}}, "factors.layer_0: expected a number from 0 up, got -1.0"),
        ({"factors": {"layer_0": math.inf}}, "got inf"),
        ({"factors": {"layer_0": math.nan}}, "got nan"),
        ({"factors": {"layer_0": None}}, "got None"),
    ],
)
def test_wrong_numbers_and_names_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        layer_factors(GROUPS, **options)


def test_whole_names_are_matched():
    names = ("layer_1", "layer_10", "layer_11", "my_layer_1")
    for front in ("bert", "bert_2", "model/bert"):
        paths = [f"{front}/{name}/kernel" for name in names]
        assert group_of_each(paths, KNOWN) == ["layer_1", "layer_10", "layer_11", "head"]


def test_a_second_encoder_is_the_head():
    paths = ["bert/layer_1/kernel", "bert_2/layer_1/kernel", "head/kernel"]
    assert group_of_each(paths, KNOWN) == ["layer_1", "head", "head"]


def test_weights_of_a_black_box_have_names_without_components():
    known = {"layer_1": ["layer_1.kernel"], "layer_10": ["layer_10.kernel"]}
    assert group_of_each(["layer_10.kernel", "head/kernel", "layer_1.kernel"], known) == [
        "layer_10",
        "head",
        "layer_1",
    ]


def test_without_known_weights_all_are_the_head():
    assert group_of_each(["layer_1/kernel"], {}) == ["head"]


def test_what_decays():
    for name in ("layer_0/attention/query/kernel", "kernel", "embeddings/word_embeddings"):
        assert decays(name)
    for name in (
        "bias",
        "char_cnn/highway_0/gate_bias",
        "transformer/layer_0/output_layer_norm/gamma:0",
        "layer_norm/beta:0",
    ):
        assert not decays(name)
