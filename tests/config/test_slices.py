"""The section `slices` of a config: what is refused, and with which words."""

import os

import pytest

from hub_modules.storage.strict_yaml import parse_yaml
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import config_from, dump_config
from tf_adapt.errors import ConfigError
from tf_adapt.training.resolving.run_config import changed_keys


def make(slices, dataset="sample_pair_classification", **changes):
    content = {
        "data": {"dataset": dataset, "source": "sample"},
        "encoder": {"handle": "bert_small"},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3},
        "slices": slices,
    } | changes
    return config_from(content, "test")


def test_all_rules_in_one_config_and_back():
    config = make(
        {
            "negation": {"words": ["not", "no", "n't"]},
            "long": {"longer_than": 30, "words": ["a"]},
            "overlap": {"word_overlap_above": 0.8},
            "hard": {"wrong_in": "runs/a"},
            "mine": {"file": "ids.txt"},
        }
    )
    assert config.slices["negation"].words == ["not", "no", "n't"]
    content, _ = parse_yaml(dump_config(config), "again")
    assert config_from(content, "again") == config
    absolute = resolve_paths(config).slices
    assert absolute["hard"].wrong_in == os.path.abspath("runs/a")
    assert absolute["mine"].file == os.path.abspath("ids.txt")


def test_other_slices_are_no_other_run():
    assert changed_keys(make({}), make({"long": {"longer_than": 3}})) == {}


WRONG = [
    ({"x": {}}, r"slices.x: expected at least one rule of words, longer_than, .* got none"),
    ({"x": {"longer_then": 3}}, r"slices.x.longer_then: unknown key; did you mean longer_than"),
    ({"x": {"words": []}}, r"slices.x.words: expected a list of words"),
    ({"x": {"words": ["not", False]}}, r"slices.x.words.*text in quotes"),
    ({"x": {"words": ["New York"]}}, r"slices.x.words: .* 'New York', .* \['new', 'york'\]"),
    ({"x": {"words": ["don't"]}}, r"single words, got \"don't\""),
    ({"x": {"words": ["?"]}}, r"single words, got '\?', which is read as \[\]"),
    ({"x": {"longer_than": 0}}, r"slices.x.longer_than: expected a whole number from 1"),
    ({"x": {"word_overlap_above": 1}}, r"slices.x.word_overlap_above: expected a number from"),
    ({"a.b": {"longer_than": 3}}, r"slices.a.b: expected a name of letters, digits"),
    ({"x": {"longer_than": 3}, "X": {"longer_than": 4}}, r"differ in more than case, got x"),
    ({"x": {"file": "a\0b"}}, r"slices.x.file: expected the path"),
]


def test_wrong_slices():
    for slices, message in WRONG:
        with pytest.raises(ConfigError, match=message):
            make(slices)


def test_rules_that_do_not_fit_the_kind():
    with pytest.raises(ConfigError, match="x.word_overlap_above: .* classification, whose exam"):
        make({"x": {"word_overlap_above": 0.5}}, "sample_classification")
    with pytest.raises(ConfigError, match="x.wrong_in: expected null for pair_regression"):
        make({"x": {"wrong_in": "run"}}, "sample_pair_regression")
    with pytest.raises(ConfigError, match="x.wrong_in: expected null for dialog"):
        make({"x": {"wrong_in": "run"}}, "sample_dialog")
    for word in (",", "Straße", "İzmir"):  # of which some grow when they are casefolded
        assert make({"x": {"words": [word]}}, "sample_tagging").slices["x"].words == [word]
    with pytest.raises(ConfigError, match=r"single words, got 'New York', .* \['new', 'york'\]"):
        make({"x": {"words": ["New York"]}}, "sample_tagging")
    with pytest.raises(ConfigError, match="slices: expected none for a language model"):
        make(
            {"x": {"longer_than": 3}},
            data={"format": "text", "kind": "language_model", "train": "a.txt"},
            objective="language_model",
        )


LONG = {"long": {"longer_than": 3}}


def test_slices_with_heads_are_another_run():
    one, two = make(LONG, slice_heads=True), make({"long": {"longer_than": 4}}, slice_heads=True)
    assert list(changed_keys(one, two)) == ["slices.long.longer_than"]
    assert "slice_heads" in changed_keys(make(LONG), one)


WITHOUT_HEADS = [
    ({}, {}, "false together with no slices, got true: a head is trained for each"),
    (LONG, {"adaptation": "freeze"}, "with feature_extraction, .* share nothing that is"),
    (LONG, {"teacher": {"run": "r"}}, "with a teacher, got true: it has answers for the main"),
    (LONG, {"weak": {"votes": "v"}}, "with weak, got true: the labels of a slice's members"),
    (LONG | {"w": {"wrong_in": "r"}}, {}, "with a slice with wrong_in, .* no run predicts"),
]


def test_slices_without_heads():
    for slices, changes, message in WITHOUT_HEADS:
        with pytest.raises(ConfigError, match=f"slice_heads: expected .*{message}"):
            make(slices, slice_heads=True, **changes)


def test_only_classifications_have_heads_of_slices():
    with pytest.raises(ConfigError, match="slice_heads: .* with tagging, got true: they are for"):
        make(LONG, "sample_tagging", slice_heads=True)
