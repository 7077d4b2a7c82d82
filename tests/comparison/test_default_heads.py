"""The heads of a comparison that names none: a cheap one beside the paper's on a frozen encoder."""

import itertools

import pytest

from tf_adapt.comparison.plan.default_heads import default_heads
from tf_adapt.comparison.plan.sections import EncoderEntry
from tf_adapt.errors import ConfigError
from tf_adapt.heads import kinds as heads_of_kinds
from tf_adapt.heads.table import build_head
from tf_adapt.tasks.kinds import labelled_kinds
from tf_adapt.tasks.task import Task


@pytest.fixture
def cells(comparison_of):
    """The cells of a comparison of ❄ and 🔥 without heads and rates, by name."""

    def load(data="sample_classification", encoders=("bert_small",), **changes):
        given = {"encoders": list(encoders), "heads": None, "learning_rates": None} | changes
        return {cell.name: cell for cell in comparison_of({"dataset": data}, **given).cells}

    return load


CHEAP = [
    ("sample_classification", "linear"),
    ("sample_pair_classification", "linear"),
    ("sample_pair_regression", "linear"),
    ("sample_tagging", "linear_tagger"),
]


def test_a_frozen_encoder_has_a_linear_head_too(cells):
    for data, head in CHEAP:
        found = cells(data, encoders=["elmo_small", "bert_small"])
        assert list(found) == [
            "elmo_small-feature_extraction",
            f"elmo_small-feature_extraction-{head}",
            "elmo_small-fine_tuning",
            "bert_small-feature_extraction",
            f"bert_small-feature_extraction-{head}",
            "bert_small-fine_tuning",
        ]
        assert len({len(cell.rates) for cell in found.values()}) == 1
        assert found[f"bert_small-feature_extraction-{head}"].config.head == head
        assert found[f"bert_small-feature_extraction-{head}"].rates == (3e-2, 1e-2, 3e-3)
        assert found["bert_small-feature_extraction"].rates == (6e-3, 3e-3, 1e-3)


def test_heads_of_the_config_are_all_there_are(cells):
    for heads in [["default"], ["bcn", "linear"]]:
        assert [cell.config.head for cell in cells(heads=heads).values()] == heads * 2


def test_texts_read_separately_have_no_linear_head_on_bert(cells):
    encoders = [{"handle": name, "pairs": "separate"} for name in ("bert_small", "elmo_small")]
    assert list(cells("sample_pair_classification", encoders=encoders)) == [
        "bert_small-separate-feature_extraction",
        "bert_small-separate-fine_tuning",
        "elmo_small-separate-feature_extraction",
        "elmo_small-separate-feature_extraction-linear",
        "elmo_small-separate-fine_tuning",
    ]


def test_an_untrained_encoder_has_its_default_head_alone(cells):
    found = cells(encoders=[{"handle": "bert_small", "pretrained": False}])
    assert [cell.config.head for cell in found.values()] == ["default", "default"]


def test_a_width_by_adaptation_is_that_of_the_default_head(cells):
    found = cells(head_units={"freeze": 50}, epochs={"freeze": 9})
    assert [cell.config.head_units for cell in found.values()] == [50, None, None]
    assert [cell.config.training.epochs for cell in found.values()] == [9, 9, 2]


def test_a_mistake_in_the_data_is_said_once(cells):
    with pytest.raises(ConfigError) as error:
        cells("sample_clasification")
    assert str(error.value).count("did you mean") == 1
    with pytest.raises(ConfigError, match="data.dataset"):
        cells(3)


def test_every_task_has_the_head_and_none_has_it_by_default():
    without = ("span_extraction", "dialog", "text_generation")
    kinds = [kind for kind in labelled_kinds() if kind not in without]
    for kind, family in itertools.product(kinds, ["elmo", "bert"]):
        data = {"format": "tsv", "kind": kind, "train": "x"}
        encoder = EncoderEntry(handle=f"{family}_small")
        first, cheap = default_heads(data, encoder, "feature_extraction")
        labels = ["O", "B-a", "I-a"] if kind == "tagging" else ["a", "b"]
        task = Task(kind, labels=None if "regression" in kind else labels)
        head = build_head(cheap, task, family, frozen=True)
        assert first == "default"
        assert heads_of_kinds.KINDS[kind].defaults[family][0] != cheap
        assert "bilstm" not in str(head.get_config())
        assert default_heads(data, encoder, "fine_tuning") == ["default"]


def test_an_unknown_module_is_taken_for_bert():
    encoder = EncoderEntry(handle="https://example.org/module", pairs="separate")
    data = {"kind": "pair_classification"}
    assert default_heads(data, encoder, "feature_extraction") == ["default"]
    assert (
        default_heads({"kind": "multilabel_classification"}, encoder, "feature_extraction")[1]
        == "linear"
    )
    assert default_heads(None, encoder, "feature_extraction") == ["default"]


def test_texts_in_windows_are_read_apart():
    encoder = EncoderEntry(handle="bert_small", long={"window": 128, "stride": 64})
    assert default_heads({"kind": "pair_classification"}, encoder, "feature_extraction") == [
        "default"
    ]
    assert len(default_heads({"kind": "classification"}, encoder, "feature_extraction")) == 2
