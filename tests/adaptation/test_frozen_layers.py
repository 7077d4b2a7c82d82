"""What is kept when, against tables written by hand: an ELMo and a BERT of three layers."""

import time

import pytest

from tf_adapt.adaptation import adaptations as a
from tf_adapt.adaptation import frozen_layers as boundaries
from tf_adapt.adaptation.frozen_layers import boundary, layers_to_keep

ELMO = ["char_cnn", "lstm_0", "lstm_1"]
BERT = ["embeddings", "layer_0", "layer_1", "layer_2"]
LETTERS = dict(zip("clme012p", [*ELMO, *BERT, "pooler"], strict=True))


def names(letters: str) -> list[str]:
    return [LETTERS[letter] for letter in letters]


# What learns; the highest layer with nothing that learns in it or below.
BOUNDARIES = [
    (ELMO, "", "m"),
    (ELMO, "m", "l"),
    (ELMO, "lm", "c"),
    (ELMO, "l", "c"),
    (ELMO, "clm", None),
    (ELMO, "c", None),
    (BERT, "", "2"),
    (BERT, "p", "2"),
    (BERT, "2p", "1"),
    (BERT, "0", None),  # BERT's embeddings are only looked up
    (BERT, "e", None),
    (BERT, "1", "0"),
]


def test_boundary():
    for layers, learning, expected in BOUNDARIES:
        number = boundary([*layers, "pooler", "head"], layers, {*names(learning), "head"})
        assert number == (None if expected is None else layers.index(LETTERS[expected])), learning
    # What an adaptation adds lies across all layers.
    for group in ("adapters", "lora", "biases"):
        assert boundary([*BERT, group, "head"], BERT, {group, "head"}) is None


def test_groups_between_the_layers_count():
    """An AWD-LSTM: its lower LSTMs are wider, and return no states."""
    groups = ["embeddings", "lstm_0", "lstm_1", "lstm_2", "head"]
    for learning in groups[:-1]:
        assert boundary(groups, ["embeddings", "lstm_2"], {learning, "head"}) is None
    assert boundary(groups, ["embeddings", "lstm_2"], {"head"}) == 1


# For each epoch: the layer it starts from, then those that later epochs start from; "" where the
# texts are read.
TABLES = [
    (a.feature_extraction(), ELMO, 2, ["m", "m"]),
    (a.fine_tuning(), ELMO, 2, ["", ""]),
    # One epoch with a frozen encoder: a pass over the texts would save nothing.
    (a.two_stage(), ELMO, 3, ["", "", ""]),
    (a.two_stage(head_epochs=2), BERT, 4, ["2", "2", "", ""]),
    (a.top_layers(), ELMO, 3, ["l", "l", "l"]),
    (a.top_layers(2), BERT, 2, ["0", "0"]),
    (a.top_layers(3), BERT, 2, ["", ""]),
    (a.top_layers(), ELMO, 1, [""]),
    (a.gradual_unfreezing(), ELMO, 5, ["mlc", "lc", "c", "", ""]),
    (a.gradual_unfreezing(), BERT, 7, ["210", "210", "10", "0", "", "", ""]),
    (a.gradual_unfreezing(), ELMO, 2, ["ml", "l"]),
    (a.gradual_unfreezing(every=2), ELMO, 7, ["mlc", "mlc", "lc", "lc", "c", "c", ""]),
    (a.chain_thaw(), ELMO, 5, ["", "", "", "", ""]),
    # The char CNN has learnt before it is frozen again, and lstm_0 before the boundary rises to it.
    (
        a.chain_thaw(every=2),
        ELMO,
        10,
        ["m", "m", "", "", "c", "c", "l", "l", "", ""],
    ),
    (a.sequential_unfreezing(1, 2), ELMO, 4, ["mc", "c", "c", ""]),
    (a.sequential_unfreezing(2, 2), BERT, 5, ["2", "2", "", "", ""]),
]


def check(adaptation, layers, epochs, room, expected):
    groups = [*layers, *(["pooler"] if layers is BERT else []), "head"]
    for epoch, letters in enumerate(expected):
        found = layers_to_keep(adaptation, groups, layers, epochs, 10, epoch, phase=0, room=room)
        assert found == names(letters), (adaptation.name, epochs, room, epoch)


def test_what_an_epoch_keeps():
    for adaptation, layers, epochs, expected in TABLES:
        check(adaptation, layers, epochs, 9, expected)


def test_phases_that_begin_within_an_epoch():
    adaptation = a.gradual_unfreezing(every=5, unit="steps")
    groups = [*ELMO, "head"]
    # Epochs of four steps: h h h h | h m m m | m m l l | l l l c
    found = [layers_to_keep(adaptation, groups, ELMO, 4, 4, epoch, 0, 9) for epoch in range(4)]
    assert found == [names("mlc"), names("lc"), names("c"), []]


def test_phases_that_end_by_patience():
    adaptation = a.chain_thaw(patience=1)
    groups = [*ELMO, "head"]
    found = [layers_to_keep(adaptation, groups, ELMO, 9, 4, 3, phase, 9) for phase in range(5)]
    assert found == [names("m"), [], names("c"), names("l"), []]
    adaptation = a.gradual_unfreezing(every=3, patience=1)
    found = [layers_to_keep(adaptation, groups, ELMO, 9, 4, 3, phase, 9) for phase in range(4)]
    assert found == [names("mlc"), names("lc"), names("c"), []]


# By the layers that there is room for: as in `TABLES`.
ROOMS = [
    (a.gradual_unfreezing(), ELMO, 0, ["", "", "", "", ""]),
    # One epoch a pass: it would save nothing.
    (a.gradual_unfreezing(), ELMO, 1, ["", "", "", "", ""]),
    (a.gradual_unfreezing(), ELMO, 2, ["ml", "l", "", "", ""]),
    (a.gradual_unfreezing(), BERT, 1, ["2", "2", "", "", "", "", ""]),
    (a.gradual_unfreezing(every=2), ELMO, 1, ["m", "m", "l", "l", "c", "c", ""]),
    (a.gradual_unfreezing(every=2), ELMO, 2, ["ml", "ml", "l", "l", "c", "c", ""]),
    (a.top_layers(), ELMO, 1, ["l", "l", "l"]),
]


def test_what_there_is_room_for():
    for adaptation, layers, room, expected in ROOMS:
        check(adaptation, layers, len(expected), room, expected)


@pytest.mark.parametrize("unit", ["epochs", "steps"])
@pytest.mark.parametrize("make", [a.gradual_unfreezing, a.chain_thaw])
def test_the_third_and_later_of_equal_epochs_change_nothing(monkeypatch, make, unit):
    def kept() -> list:
        return [
            layers_to_keep(make(every, unit), [*ELMO, "head"], ELMO, epochs, 4, epoch, 0, room)
            for every in (1, 2, 3, 5, 7, 10, 13)
            for room in range(4)
            for epochs in (1, 2, 3, 9, 30)
            for epoch in range(epochs)
        ]

    quick = kept()
    monkeypatch.setattr(boundaries, "_first_two_of_each", lambda phases, epochs, _: range(epochs))
    assert quick == kept()


def test_a_million_epochs_take_no_longer():
    started = time.process_time()
    for epoch in (0, 5, 999_999):
        layers_to_keep(a.top_layers(), [*ELMO, "head"], ELMO, 1_000_000, 10, epoch, 0, room=9)
    assert time.process_time() - started < 0.5
