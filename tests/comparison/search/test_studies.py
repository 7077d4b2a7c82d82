"""A search as a study of Optuna: scales, conditions, ends of trials."""

import math
from itertools import count

import numpy as np
import optuna
import pytest
from scipy import stats

from tf_adapt.comparison.search import studies
from tf_adapt.comparison.search.section import SearchSection
from tf_adapt.comparison.search.space import Values
from tf_adapt.comparison.search.studies import PastTrial, importances, limits, next_values

SPACE = (
    Values("rate", "rate", 1e-5, 1e-1, log=True),
    Values("shape", "shape", choices=("linear", "triangular", None)),
    Values("ratio", "ratio[0]", 1, 64, log=True, when=(("shape", ("linear",)),)),
    Values("ratio", "ratio[1]", 0.0, 1.0, when=(("shape", ("triangular",)),)),
    Values("layers", "layers", 1, 4),
)
RANDOM = SearchSection(sampler="random")


def closed_form(values) -> float:
    """Best at a rate of 1e-3, triangular."""
    return -abs(math.log10(values["rate"]) + 3) - (values["shape"] != "triangular")


def test_draws_have_the_scale_the_type_and_the_conditions_of_their_keys():
    drawn = [next_values(SPACE, RANDOM, [], seed) for seed in range(300)]
    rates = [values["rate"] for values in drawn]
    assert stats.kstest(rates, stats.loguniform(1e-5, 1e-1).cdf).pvalue > 0.01
    assert all(rate == float(f"{rate:.3g}") for rate in rates)
    assert stats.chisquare(np.bincount([v["layers"] for v in drawn])[1:]).pvalue > 0.01
    for values in drawn:
        assert isinstance(values["layers"], int)
        kind = {"linear": int, "triangular": float, None: type(None)}[values["shape"]]
        assert type(values.get("ratio")) is kind
    whole = [v["ratio"] for v in drawn if v["shape"] == "linear"]
    assert min(whole) >= 1 and max(whole) <= 64 and np.median(whole) < 16  # by logarithm


def searched(section: SearchSection, trials: int, seed: int) -> list[PastTrial]:
    past: list[PastTrial] = []
    for _ in range(trials):
        values = next_values(SPACE, section, past, seed)
        score = closed_form(values)
        past.append(PastTrial(values, score, [score]))
    return past


@pytest.mark.slow
def test_the_parzen_estimator_finds_more_than_chance():
    best = {
        sampler: [
            max(trial.score for trial in searched(SearchSection(sampler=sampler), 25, seed))
            for seed in range(10)
        ]
        for sampler in ("tpe", "random")
    }
    # The best there is has 0.
    assert np.mean(best["tpe"]) > np.mean(best["random"]) / 2


def test_the_rate_and_the_shape_matter_the_number_of_layers_does_not():
    found = importances(SPACE, searched(RANDOM, 60, seed=3))
    assert sum(found.values()) == pytest.approx(1)
    assert found["layers"] < 0.1 < min(found["rate"], found["shape"])
    assert importances(SPACE, searched(RANDOM, 7, seed=3)) == {}


@pytest.mark.parametrize("pruner", ["median", "hyperband"])
def test_limits_are_what_the_pruner_of_optuna_decides(pruner):
    section, epochs = SearchSection(pruner=pruner), 9
    random, past, stopped = np.random.default_rng(0), [], 0
    study = optuna.create_study(
        study_name=studies.STUDY, direction="maximize", pruner=studies._pruner(section, epochs)
    )
    for _ in range(25):
        below, asked = limits(section, past, epochs, epochs), study.ask()
        curve: list[float] = []
        for epoch, gain in zip(range(1, epochs + 1), random.exponential(size=epochs), strict=True):
            curve.append(gain + (curve[-1] if curve else 0))
            asked.report(curve[-1], epoch)
            limit = below[epoch - 1] if epoch <= len(below) else None
            ends = limit is not None and curve[-1] < limit
            assert ends == (asked.should_prune() and epoch < epochs)
            if ends:
                break
        stopped += ends
        past.append(PastTrial({}, curve[-1], curve, stopped=ends))
        state = optuna.trial.TrialState.PRUNED if ends else None
        study.tell(asked, *((None, state) if ends else (curve[-1],)))
    assert 5 < stopped < 22


def test_no_pruner_ends_nothing_and_diverged_trials_have_no_say():
    past = [PastTrial({}, score, [score, score]) for score in (0.1, 0.2, 0.3, 0.4, 0.5)]
    assert limits(SearchSection(pruner="none"), past, 4, 4) == ()
    median = SearchSection(pruner="median")
    assert limits(median, past, 3, 4) == (None, 0.3)
    assert limits(median, [*past, PastTrial({}, None)], 3, 4) == (None, 0.3)
    assert limits(median, [*past, PastTrial({}, 0.6, [0.6, 0.6])], 3, 4) == (None, 0.35)
    assert limits(median, past[1:], 4, 4) == ()


def test_a_grid_is_gone_through_in_order():
    space = (
        Values("a", "a", choices=(1, 2)),
        Values("b", "b", choices=("x", "y"), when=(("a", (2,)),)),
        Values("c", "c", choices=(0, 1)),
    )
    section, past = SearchSection(sampler="grid", trials=6), []
    for _ in range(6):
        past.append(PastTrial(next_values(space, section, past, 0), 0.5))
    assert [tuple(trial.values.values()) for trial in past] == [
        (1, 0), (1, 1), (2, "x", 0), (2, "x", 1), (2, "y", 0), (2, "y", 1),
    ]  # fmt: skip


def test_a_trial_depends_on_seed_and_number_alone():
    section, past = SearchSection(), searched(SearchSection(), 8, seed=1)
    drawn = [next_values(SPACE, section, past, 1) for _ in range(2)]
    assert drawn[0] == drawn[1]
    seeds, others = count(2), set()
    while len(others) < 3:
        others.add(next_values(SPACE, section, past, next(seeds))["rate"])
