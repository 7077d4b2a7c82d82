"""Native encoder against the module's own program: agreement, and which assumption is wrong."""

import pytest

from hub_modules.programs import program_check
from hub_modules.programs.program_check import ProgramCheck, check_program, suspects
from hub_modules.sources import tf1_elmo
from tf_adapt.errors import ArtifactError


@pytest.fixture
def module(reference):
    return reference / "tf1_hub_elmo" / "module"


def test_the_program_must_be_trusted(module, nothing_trusted):
    with pytest.raises(ArtifactError, match="--trust"):
        check_program(module)


@pytest.mark.slow
def test_a_tf1_module_agrees_with_its_program(module):
    check = check_program(module, trust=True)
    assert list(check.differences) == ["char_cnn", "lstm_0", "lstm_1", "mix"]
    assert 0 < max(check.differences.values()) < 2e-5
    # Both clips act in these sentences, so every assumption makes a difference.
    assert (check.agrees, check.fitting, check.undecided) == (True, {}, ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "wrong", "right"),
    [
        ("skip_connections", False, True),
        pytest.param("projection_clip", None, 3.0, marks=pytest.mark.large),
        pytest.param("activation", "tanh", "relu", marks=pytest.mark.large),
        pytest.param("sentence_boundaries", False, True, marks=pytest.mark.large),
        pytest.param("forget_bias", 0.0, 1.0, marks=pytest.mark.large),
    ],
)
def test_a_wrong_assumption_is_found(module, monkeypatch, key, wrong, right):
    """The encoder is built on another assumption than the program was."""
    monkeypatch.setitem(tf1_elmo.ASSUMED, key, wrong)
    check = check_program(module, trust=True)
    assert not check.agrees
    assert key in suspects(check)
    # None of the alternatives to the right encoder fits the wrong one …
    assert check.fitting == {}
    # … unless it is the right one.
    monkeypatch.setattr(program_check, "OTHERWISE", {"cell_clip": None, key: right})
    assert check_program(module, trust=True).fitting == {key: right}


def test_what_the_sentences_do_not_show_is_said(module, monkeypatch):
    """A bound that is never reached is as none."""
    monkeypatch.setitem(tf1_elmo.ASSUMED, "cell_clip", 3.0)
    monkeypatch.setattr(program_check, "OTHERWISE", {"cell_clip": 3.0, "activation": "tanh"})
    assert check_program(module, trust=True).undecided == ("cell_clip",)


def test_the_lowest_layer_that_differs_tells_what_may_be_wrong():
    for differences, named in (
        ({"char_cnn": 0.1, "lstm_0": 1.0}, "characters become ids"),
        ({"char_cnn": 0.0, "lstm_0": 1.0, "lstm_1": 2.0}, "begin and an end"),
        ({"char_cnn": 0.0, "lstm_0": 0.0, "lstm_1": float("nan")}, "skip_connections"),
        ({"char_cnn": 0.0, "lstm_0": 0.0, "mix": 2.0}, "mix of layers"),
    ):
        check = ProgramCheck(differences, {}, ())
        assert not check.agrees
        assert named in suspects(check)


def test_other_families_have_a_check_too(reference):
    check = check_program(reference / "published_hub_bert", trust=True)
    assert check.agrees
    # The program gives out no embeddings.
    assert list(check.differences)[0] == "layer_0"
