"""Configs of encoders that read texts in windows: what cannot be together, and names of cells."""

import pytest

from tf_adapt.comparison.plan.settings import comparison_from
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError

DATA = {"dataset": "sample_classification", "source": "sample"}
TAGS = {"dataset": "sample_tagging", "source": "sample"}
LONG = {"window": 64, "stride": 32}
TRAINING = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3}


def make(long, encoder=None, training=None, **more):
    content = {
        "data": DATA,
        "encoder": {"handle": "bert_small", "long": long} | (encoder or {}),
        "adaptation": "fine_tuning",
        "training": TRAINING | (training or {}),
    }
    return config_from(content | more, "test")


def test_defaults_are_written_out():
    long = make({}).encoder.long
    assert (long.window, long.stride, long.pool) == (128, 64, "max")
    assert make(None).encoder.long is None


MISTAKES = [
    ({"long": {"window": 3}}, "encoder.long.window: expected a whole number from 4"),
    ({"long": {"window": 9, "stride": 8}}, "encoder.long.stride: expected at most 7, .*got 8"),
    ({"long": {"pool": "first"}}, "encoder.long.pool: expected max or mean"),
    ({"encoder": {"pairs": "joint"}}, "encoder.pairs: expected separate or null together"),
    ({"training": {"jit_compile": True}}, "training.jit_compile: expected false together"),
    (
        {"data": TAGS, "training": {"document_context": True}},
        "training.document_context: expected false together with encoder.long",
    ),
    (
        {"auxiliary": {"consistency": {"unlabelled": "a.tsv", "perturbation": "adversarial"}}},
        "auxiliary.consistency.perturbation: expected another one together with encoder.long",
    ),
    ({"data": {"dataset": "squad", "source": "tfds"}}, "encoder.long: expected null for"),
]


def test_c1_mistakes():
    for changes, message in MISTAKES:
        with pytest.raises(ConfigError, match=message):
            make(**{"long": {}} | changes)


def test_cells_are_named_by_their_windows():
    content = {
        "data": DATA,
        "compare": {
            "encoders": ["bert_small", {"handle": "bert_small", "long": LONG}],
            "adaptations": ["fine_tuning"],
            "heads": ["linear"],
            "learning_rates": [1e-3],
        },
        "training": {"epochs": 1, "batch_size": 8},
    }
    names = [cell.name for cell in comparison_from(content, "test").cells]
    assert names == [
        "bert_small-fine_tuning-linear",
        "bert_small-long_64_32_max-fine_tuning-linear",
    ]
