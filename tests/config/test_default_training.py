"""Rates, epochs and batch size that a config leaves out, by the family of a module."""

from pathlib import Path

import pytest
import yaml

from tf_adapt.comparison.plan.settings import comparison_from
from tf_adapt.config.default_training import (
    FROZEN_LINEAR,
    LEFT_OUT,
    RATES,
    default_rates,
    family_of,
)
from tf_adapt.config.reading import config_from, dump_config

RECORDED = Path(__file__).parents[1] / "parity" / "recorded"
FAMILIES = [
    ("elmo_small", "elmo"),
    ("bert_small", "bert"),
    ("https://tfhub.dev/google/elmo/3", "elmo"),
    ("https://tfhub.dev/tensorflow/bert_en_uncased_L-12_H-768_A-12/4", None),
    ("no/such/folder", None),
    ("long" * 2000, None),
    ("long" * 2000 + ".txt", None),
    ("hf://no/such", None),
    (str(RECORDED / "huggingface_gpt2" / "model"), "causal"),
    (str(RECORDED / "huggingface_mpnet" / "model"), "mpnet"),
]


def test_the_family_of_a_handle():
    for handle, family in FAMILIES:
        assert family_of(handle) == family
        expected = RATES["elmo" if family == "elmo" else "bert"]["default"]
        assert default_rates(handle, "fine_tuning") == list(expected)


def test_a_tf1_module_is_an_elmo(tmp_path):
    (tmp_path / "tfhub_module.pb").write_bytes(b"\x08\x03")
    assert family_of(str(tmp_path)) == "elmo"


def test_an_empty_program_is_of_no_family(tmp_path):
    (tmp_path / "saved_model.pb").touch()
    assert family_of(str(tmp_path)) is None


CONFIG = {
    "data": {"dataset": "sample_classification", "source": "sample"},
    "encoder": {"handle": "bert_small"},
    "head": "linear",
}


@pytest.mark.parametrize(
    ("adaptation", "epochs", "rates"),
    [("freeze", 30, FROZEN_LINEAR), ("tune", 6, RATES["bert"]["default"])],
)
def test_a_run_takes_the_middle_of_the_rates_of_a_comparison(adaptation, epochs, rates):
    config = config_from(CONFIG | {"adaptation": adaptation}, "test")
    training = config.training
    assert (training.epochs, training.batch_size) == (epochs, 16)
    assert training.learning_rate == sorted(rates)[1]
    assert not training.model_fields_set
    given = config_from(CONFIG | {"adaptation": adaptation, "training": {"epochs": 2}}, "test")
    assert (given.training.epochs, given.training.batch_size) == (2, 16)
    again = config_from(yaml.safe_load(dump_config(given)), "test")
    assert again == given and set(LEFT_OUT) < again.training.model_fields_set


def test_a_comparison_has_epochs_by_adaptation():
    compare = {"encoders": ["bert_small"], "adaptations": ["freeze", "tune", "two_stage"]}
    content = {"data": CONFIG["data"], "compare": compare | {"heads": ["linear"]}}
    cells = comparison_from(content, "test").cells
    assert [cell.config.training.epochs for cell in cells] == [30, 6, 36]
    assert cells[2].config.adaptation.head_epochs == 30
    assert {cell.config.training.batch_size for cell in cells} == {16}
