"""Contrastive tuning in a config: its head, its defaults, and what it cannot stand beside."""

import pytest
import yaml

from tf_adapt.comparison.plan.settings import comparison_from
from tf_adapt.config.reading import config_from, dump_config
from tf_adapt.errors import ConfigError

CONTENT = {
    "data": {"dataset": "sample_classification", "source": "sample"},
    "encoder": {"handle": "bert_small"},
    "adaptation": "contrastive",
}


def test_what_is_filled_in():
    config = config_from(CONTENT, "test")
    assert (config.head, config.adaptation.iterations) == ("linear", 20)
    training = config.training
    assert (training.epochs, training.batch_size, training.learning_rate) == (1, 16, 2e-5)
    data = {"dataset": "stsb", "data_dir": "data/stsb"}
    pairs = {"data": data, "encoder": {"handle": "bert_small", "pairs": "separate"}}
    of_pairs = config_from(CONTENT | pairs, "test")
    assert of_pairs.head == "cosine"
    assert config_from(yaml.safe_load(dump_config(of_pairs)), "test") == of_pairs


def test_cells_of_a_comparison():
    compare = {"encoders": ["bert_small"], "adaptations": ["contrastive", "fine_tuning"]}
    cells = comparison_from({"data": CONTENT["data"], "compare": compare}, "test").cells
    assert [cell.config.training.epochs for cell in cells] == [1, 6]
    assert [cell.config.head for cell in cells] == ["linear", "default"]
    assert [len(cell.rates) for cell in cells] == [3, 3] and cells[0].rates[1] == 2e-5


REFUSED = [
    (
        {"data": {"dataset": "sample_tagging", "source": "sample"}},
        "adaptation.name: contrastive is for classification and pair_regression, got tagging; take",
    ),
    ({"head": "bcn"}, "head: expected default or linear with adaptation: contrastive.* got bcn"),
    ({"head_mixed": True}, "head_mixed: expected none with adaptation: contrastive"),
    ({"training": {"class_weight": "balanced"}}, "class_weight: expected none .* got 'balanced'"),
    ({"training": {"jit_compile": True}}, "training.jit_compile: expected none"),
    ({"training": {"devices": "cpu:2"}}, "training.devices: expected none .* got 'cpu:2'"),
    ({"auxiliary": {"distillation": {"weight": 1.0}}}, "distillation: expected none .* a section"),
    (
        {"adaptation": {"name": "contrastive", "iterations": 0}},
        "iterations: .* from 1 to .*, got 0",
    ),
    (
        {
            "data": {"dataset": "sample_pair_regression", "source": "sample"},
            "encoder": {"handle": "bert_small", "pairs": "separate"},
            "adaptation": {"name": "contrastive", "iterations": 5},
        },
        "adaptation.iterations: expected null for pair_regression, .* got 5",
    ),
    ({"adaptation": {"name": "lora", "iterations": 2}}, "iterations: not a key of lora"),
]


@pytest.mark.parametrize(("more", "message"), REFUSED)
def test_what_it_cannot_stand_beside(more, message):
    with pytest.raises(ConfigError, match=message):
        config_from(CONTENT | more, "test")
