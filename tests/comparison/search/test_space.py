"""The space of a search in a cell: what is in it, and what is refused."""

import pytest
from closed_form_search import SPACE

from tf_adapt.adaptation.adaptations import ADAPTATIONS
from tf_adapt.comparison.search.space import in_words
from tf_adapt.errors import ConfigError

RATE = {"training.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}}
WARMUP = {"training.warmup": {"choices": [0.1, 0.2]}}

CHOICES = {"choices": [2, 3]}


def only_with(when):
    return {"head_dropout": {"low": 0.1, "high": 0.5, "when": when}}


def test_the_first_alternative_that_holds_in_a_cell(searching):
    frozen, tuned = (cell.search.space for cell in searching().cells)
    assert in_words(frozen) == (
        "training.learning_rate 0.0001 to 0.1 by logarithm; schedule.name 'linear_decay', "
        "'slanted_triangular'; schedule.ratio 8 to 64 (with schedule.name 'slanted_triangular'); "
        "training.epochs 2 to 4"
    )
    assert (tuned[0].low, tuned[0].high) == (1e-5, 1e-2)
    assert tuned[-1].choices == (None, 0.4)
    names = [values.name for values in (*frozen, *tuned) if "rate" in values.name]
    assert names == ["training.learning_rate[0]", "training.learning_rate[1]"]


def test_whole_numbers_are_searched_between_whole_ends(searching):
    by_key = {values.key: values for values in searching().cells[0].search.space}
    assert isinstance(by_key["training.epochs"].low, int)
    assert isinstance(by_key["schedule.ratio"].low, float)


def test_the_paper_s_space(searching):
    frozen, tuned = (cell.search.space for cell in searching({"space": "paper"}).cells)
    shared = ["training.learning_rate", "head_dropout", "training.weight_decay", "training.epochs"]
    assert [values.key for values in frozen] == shared
    assert [values.key for values in tuned] == [*shared, "schedule.name", "optimizer.decay"]
    # Around the built-in rates of an ELMo: 6e-3 to 1e-3 frozen, 3e-3 to 3e-4 tuned.
    assert [(s[0].low, s[0].high) for s in (frozen, tuned)] == [(5e-4, 1.2e-2), (1.5e-4, 6e-3)]


def test_the_paper_s_space_takes_every_adaptation(searching):
    cells = searching({"space": "paper"}, adaptations=list(ADAPTATIONS)).cells
    by_name = {
        cell.config.adaptation.name: {values.key: values for values in cell.search.space}
        for cell in cells
    }
    assert by_name.keys() == ADAPTATIONS.keys()
    assert "head_dropout" not in by_name["contrastive"]  # whose head is fitted in closed form
    whole = next(c.config for c in cells if c.config.adaptation.name == "two_stage")
    epochs = by_name["two_stage"]["training.epochs"]
    assert whole.adaptation.head_epochs < epochs.low < epochs.high == whole.training.epochs


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"trials": 1}, "trials: expected a whole number from 2"),
        ({"sampler": "cmaes"}, "sampler: expected tpe, random or grid"),
        ({"space": {"head_dropout": {"choices": [0.1]}}}, "expected training.learning_rate in"),
        ({"space": RATE | {"trainin.epochs": {"choices": [1]}}}, "trainin: unknown key; did you"),
        ({"space": RATE | {"training.epochs": {"low": 0, "high": 3}}}, "epochs: expected a whole"),
        ({"space": RATE | {"training.epochs": {"low": 3, "high": 3}}}, "expected low below high"),
        ({"space": RATE | {"training.epochs": {"low": 3}}}, "expected low below high, got 3 and"),
        ({"space": RATE | {"training.epochs": {}}}, "expected low and high, or choices"),
        ({"space": RATE | {"training.warmup": {"low": 0, "high": 0.5, "log": True}}}, "above 0"),
        ({"space": RATE | {"training.seed": {"choices": [1, 2]}}}, "got training.seed, which all"),
        ({"space": RATE | {"data.train": {"choices": ["a"]}}}, "got data, which all share"),
        ({"space": RATE | {"head": {"choices": ["linear"]}}}, "got head, which all share"),
        (
            {"space": RATE | {"schedule.ratio": {"choices": [8.0], "when": {"schedul.name": 1}}}},
            "listed before in the space, got 'schedul.name'; did you mean schedule.name?",
        ),
        ({"space": RATE, "sampler": "grid"}, "expected choices with sampler: grid, got a range"),
        (
            {
                "space": {"training.learning_rate": {"choices": [1e-3, 1e-4]}},
                "sampler": "grid",
                "trials": 3,
            },
            "trials: expected 2, the number of settings of the grid",
        ),
        ({"space": RATE | {"head_dropout": {"choices": [0.1, 0.1]}}}, "expected each choice once"),
        ({"space": "papers"}, "space: expected paper, or a section"),
        ({"space": RATE | {"head_dropout": []}}, "or choices, got an empty list"),
        ({"space": RATE | {"adaptation": {"choices": ["tune"]}}}, "got adaptation.name, which all"),
        (
            {"space": RATE | {"training.epochs.x": {"choices": [1]}}},
            "search training.epochs itself",
        ),
        (
            {"space": RATE | {"training.class_weight.x": {"low": 0.5, "high": 2.0}}},
            "got one in training.class_weight, which is none in the config",
        ),
        (
            {"space": {"training.learning_rate": {"choices": [None, 1e-3]}}},
            "got null, which is kept as training.learning_rate 0.0",
        ),
        (
            {"space": RATE | only_with({"training.epochs": 2}) | {"training.epochs": CHOICES}},
            "listed before it in the space, got training.epochs in when",
        ),
        ({"space": RATE | only_with({"training.epochs": []})}, "in when, got an empty list for"),
        ({"space": RATE | only_with({"adaptation.name": {"a": 1}})}, "in when, got a section for"),
        (
            {"space": RATE | only_with({"adaptation.name": "fine_tunning"})},
            "adaptation.name has in a cell, got 'fine_tunning'; did you mean fine_tuning?",
        ),
        (
            {"space": RATE | only_with({"encoder.handle": "elmo_smal"})},
            "encoder.handle has in a cell, got 'elmo_smal'; did you mean elmo_small?",
        ),
        (
            {"space": RATE | WARMUP | only_with({"training.warmup": 0.3})},
            "training.warmup has in a cell, got 0.3",
        ),
        (
            {"space": SPACE | only_with({"training.epochs": [2, 5]})},
            "training.epochs has in a cell, got 5",
        ),
        (
            {"space": {"training.learning_rate": {"low": 1e-4, "high": 1e-3, "lg": True}}},
            "lg: unknown key; did you mean log?",
        ),
        ({"space": {"training.learning_rate": {"choices": 3}}}, "expected a list of texts, numb"),
    ],
)
def test_what_is_refused(searching, search, message):
    with pytest.raises(ConfigError, match=r"config\.yaml") as refused:
        searching(search)
    assert message in str(refused.value)


def test_a_wrong_number_is_told_once(searching):
    with pytest.raises(ConfigError) as refused:
        searching({"space": {"training.learning_rate": {"low": 1e-4, "high": float("inf")}}})
    assert str(refused.value).endswith("high: expected a number above low, got inf")
    assert " | " not in str(refused.value)


def test_what_a_run_s_config_keeps_in_another_form_is_refused(searching, tmp_path, monkeypatch):
    """Trials are read from the configs in their folders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more.txt").write_text("a text\n" * 10, "utf-8")
    given = {"unlabelled": str(tmp_path / "more.txt"), "perturbation": "words"}
    auxiliary = {"settings": {"default": {"auxiliary": {"consistency": given}}}}

    def refused(key, choices):
        space = RATE | {f"auxiliary.consistency.{key}": {"choices": choices}}
        with pytest.raises(ConfigError, match=f"space.auxiliary.consistency.{key}") as error:
            searching({"space": space}, **auxiliary)
        return str(error.value)

    assert "kept as auxiliary.consistency.perturbation.name 'words'; write" in refused(
        "perturbation", ["words", "mask"]
    )
    assert f"kept as auxiliary.consistency.unlabelled '{tmp_path}" in refused(
        "unlabelled", ["more.txt"]
    )
    key = "auxiliary.consistency.perturbation.name"
    space = RATE | {key: {"choices": ["words", "mask"]}}
    assert searching({"space": space}, **auxiliary).cells[0].search.space[-1].key == key


def test_a_condition_on_a_path_from_the_working_directory(searching, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vectors.txt").write_text("a 0.1 0.2\nb 0.3 0.4\n", "utf-8")
    space = RATE | only_with({"encoder.handle": "./vectors.txt"})
    for cell in searching({"space": space}, encoders=["vectors.txt"]).cells:
        assert cell.search.space[-1].key == "head_dropout"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rates": [1e-3]}, "learning_rates: expected null beside compare.search"),
        (
            {"encoders": [{"handle": "elmo_small", "learning_rates": [1e-3]}]},
            "encoders.0.learning_rates: expected null beside compare.search",
        ),
        ({"extend": True}, "extend: expected false beside compare.search"),
    ],
)
def test_what_excludes_a_search(searching, changes, message):
    with pytest.raises(ConfigError) as refused:
        searching(**changes)
    assert message in str(refused.value).replace("[0]", ".0")


def test_a_search_does_not_extend(searching):
    assert searching().extend is False and SPACE
