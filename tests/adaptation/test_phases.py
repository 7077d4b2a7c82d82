"""Adaptations against full tables written by hand, for an ELMo and a BERT of six layers."""

import json

import pytest

from tf_adapt.adaptation import adaptations as a
from tf_adapt.adaptation.phases import Position
from tf_adapt.errors import ConfigError

ELMO = ["char_cnn", "lstm_0", "lstm_1", "head"]
BERT = ["embeddings", *(f"layer_{index}" for index in range(6)), "pooler", "head"]
BERT_ALL = "e012345ph"
ADDED = ["adapters", "lora", "biases", "new_embeddings"]
LETTERS = dict(zip([*BERT, *ELMO[:3], *ADDED], "e012345phclmaLbn", strict=True))
GPT2 = ["embeddings", "layer_0", "layer_1", "new_embeddings", "head"]


def table(adaptation, groups, times):
    """What trains at each time: a letter a group, bottom to top."""
    return ["".join(LETTERS[name] for name in adaptation(groups, time)) for time in range(times)]


# c, l, m: char_cnn, lstm_0, lstm_1; e, 0 to 5, p: embeddings, layers, pooler; h: head; a, L, b, n:
# adapters, LoRA, biases, new embeddings.
TABLES = [
    (a.feature_extraction(), ELMO, ["h", "h", "h"]),
    (a.feature_extraction(), BERT, ["h", "h", "h"]),
    (a.fine_tuning(), ELMO, ["clmh", "clmh"]),
    (a.fine_tuning(), BERT, [BERT_ALL, BERT_ALL]),
    (a.two_stage(), ELMO, ["h", "clmh", "clmh"]),
    (a.two_stage(head_epochs=3), BERT, ["h", "h", "h", BERT_ALL, BERT_ALL]),
    (a.top_layers(), ELMO, ["mh", "mh"]),
    (a.top_layers(2), ELMO, ["lmh", "lmh"]),
    (a.top_layers(), BERT, ["5ph", "5ph"]),
    (a.top_layers(6), BERT, ["012345ph"]),
    (a.gradual_unfreezing(), ELMO, ["h", "mh", "lmh", "clmh", "clmh"]),
    (a.gradual_unfreezing(every=2), ELMO, ["h", "h", "mh", "mh", "lmh", "lmh", "clmh", "clmh"]),
    (
        a.gradual_unfreezing(),
        BERT,
        ["h", "ph", "5ph", "45ph", "345ph", "2345ph", "12345ph", "012345ph", BERT_ALL, BERT_ALL],
    ),
    (a.gradual_unfreezing(every=3, unit="steps"), ELMO, 3 * ["h"] + 3 * ["mh"] + 3 * ["lmh"]),
    (a.chain_thaw(), ELMO, ["h", "c", "l", "m", "clmh", "clmh"]),
    (a.chain_thaw(), BERT, ["h", *"e012345p", BERT_ALL, BERT_ALL]),
    (a.sequential_unfreezing(), ELMO, ["h", "lmh", "clmh", "clmh"]),
    (
        a.sequential_unfreezing(head_epochs=1, upper_epochs=3),
        BERT,
        ["h", *3 * ["012345ph"], BERT_ALL],
    ),
    (a.two_stage(), GPT2, ["nh", "e01nh"]),
    (a.gradual_unfreezing(), GPT2, ["nh", "1nh", "01nh", "e01nh", "e01nh"]),
    (a.chain_thaw(), GPT2, ["nh", "e", "0", "1", "e01nh"]),
    (a.sequential_unfreezing(), GPT2, ["nh", "01nh", "e01nh"]),
    (a.bitfit(), [*GPT2[:-1], "biases", "head"], ["nbh", "nbh"]),
    (a.adapters(), [*BERT[:-1], "adapters", "head"], ["ah", "ah"]),
    (a.adapters(train_embeddings=True), [*BERT[:-1], "adapters", "head"], ["eah", "eah"]),
    (a.sequential_unfreezing(), ["char_cnn", "lstm_0", "adapters", "head"], ["ah", "lah", "clah"]),
    (a.lora(), [*BERT[:-1], "lora", "head"], ["Lh", "Lh"]),
    (a.sequential_unfreezing(), ["layer_0", "layer_1", "lora", "head"], ["Lh", "1Lh", "01Lh"]),
    (a.bitfit(), [*BERT[:-1], "biases", "head"], ["bh", "bh"]),
    (a.bitfit(), [*ELMO[:-1], "biases", "head"], ["bh", "bh"]),
    # Its head is fitted in closed form.
    (a.contrastive(), BERT, [BERT_ALL[:-1], BERT_ALL[:-1]]),
]


def test_what_trains_when():
    for adaptation, groups, expected in TABLES:
        assert table(adaptation, groups, len(expected)) == expected, (adaptation.name, groups)


def test_every_adaptation_has_a_table():
    assert {adaptation.name for adaptation, _, _ in TABLES} == set(a.ADAPTATIONS)
    for name, make in a.ADAPTATIONS.items():
        assert make().name == name and a.as_adaptation(name).name == name


def test_what_is_ever_trained():
    assert a.feature_extraction().ever_trained(ELMO) == ["head"]
    assert a.chain_thaw().ever_trained(ELMO) == ELMO
    assert a.top_layers(1).ever_trained(BERT) == ["layer_5", "pooler", "head"]


def test_with_a_patience_alone_a_phase_has_no_bound():
    assert table(a.two_stage(patience=2), ELMO, 99)[-1] == "h"
    assert table(a.chain_thaw(patience=2), ELMO, 99)[-1] == "h"
    lengths = [phase.length for phase in a.sequential_unfreezing(patience=1).phases(ELMO)]
    assert lengths == [None, None, None]
    assert [phase.length for phase in a.gradual_unfreezing(patience=1).phases(ELMO)] == 4 * [None]


def test_a_phase_that_ended_early_moves_those_that_follow():
    phases = a.gradual_unfreezing(every=3, patience=1).phases(ELMO)
    assert Position(1, since=1).at(phases, 3) == Position(1, 1)
    assert Position(1, since=1).at(phases, 4) == Position(2, 4)
    assert Position(1, since=1).at(phases, 99) == Position(3, 7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: a.gradual_unfreezing(every=0), "every: expected .* at least 1, got 0"),
        (lambda: a.two_stage(head_epochs=1.5), "head_epochs: .* got 1.5"),
        (lambda: a.chain_thaw(unit="hours"), "unit: expected one of epochs, steps, got 'hours'"),
        (lambda: a.chain_thaw(unit="steps", patience=1), "patience: expected unit: epochs"),
        (lambda: a.sequential_unfreezing(patience=0), "patience: .* at least 1, got 0"),
        (lambda: a.top_layers(True), "layers: expected a whole number of at least 1, got True"),
        (lambda: a.two_stage(patience=True), "patience: expected a whole number .*, got True"),
        (lambda: a.fine_tuning(reinitialise=True), "reinitialise: .* whole number .*, got True"),
        (lambda: a.contrastive(iterations=True), "iterations: expected a whole .*, got True"),
        (lambda: a.adapters(train_embeddings="no"), "train_embeddings: .* True or False, got 'no'"),
        (lambda: a.adapters(parallel="false"), "parallel: expected True or False, got 'false'"),
        (lambda: a.adapters(in_layers=1), "in_layers: expected a list of numbers .*, got 1"),
        (lambda: a.lora(in_layers=1), "in_layers: expected a list of numbers of layers .*, got 1"),
        (lambda: a.lora(target="query"), "target: expected a list of some of .*, got 'query'"),
        (lambda: a.lora(target=[["key"]]), r"target: expected some of .*, got \['key'\]"),
        (lambda: a.lora(alpha=True), "alpha: expected a number above 0, got True"),
        (lambda: a.top_layers(3).phases(ELMO), "at most 2 layers, got 3.*lstm_0, lstm_1"),
        (lambda: a.top_layers().phases(["module", "head"]), "at most 0 layers.*has none"),
        (lambda: a.adapters().phases(ELMO), "adapters needs .* the group adapters, got"),
        (lambda: a.lora().phases(BERT), r"lora needs .*adaptation=ta.lora\(\)\) gives"),
        (lambda: a.bitfit().phases(BERT), r"bitfit needs .* the group biases, got"),
        (lambda: a.as_adaptation("thaw"), "expected one of feature_extraction, .*, got 'thaw'"),
        (lambda: a.as_adaptation("lpft"), r"got 'lpft'; did you mean two_stage\?"),
        (lambda: a.as_adaptation("SetFit"), r"got 'SetFit'; did you mean contrastive\?"),
        (lambda: a.as_adaptation({"name": "lora"}), "or an object as ta.lora.*, got {'name"),
        (lambda: a.as_adaptation(a.lora), "or an object as ta.lora.*, got <function lora"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_freeze_and_tune_are_names_too():
    assert a.as_adaptation("freeze").name == "feature_extraction"
    assert a.as_adaptation("tune").name == "fine_tuning"


@pytest.mark.parametrize(
    "adaptation",
    [
        a.chain_thaw(every=3, unit="steps"),
        a.two_stage(patience=2),
        a.top_layers(2),
    ],
)
def test_an_adaptation_of_a_model_comes_back_from_plain_values(adaptation):
    groups = ["embeddings", "layer_0", "layer_1", "head"]
    values = json.loads(json.dumps(adaptation.as_values(groups)))
    copy = type(adaptation).of_values(values)
    assert copy.phases(groups) == adaptation.phases(groups)
    fields = ("name", "unit", "patience")
    assert all(getattr(copy, name) == getattr(adaptation, name) for name in fields)
