"""Accuracies of runs by genre: their means, and correlations against SciPy and a pencil."""

import pytest
from scipy.stats import pearsonr

from tf_adapt.analysis.accuracies import (
    differences,
    mean_accuracies,
    with_correlations,
    with_series,
)
from tf_adapt.errors import ConfigError

FROZEN, TUNED = "feature_extraction", "fine_tuning"


def run(accuracy, adaptation=TUNED, seed=0, encoder="bert_small", trained_on=1) -> dict:
    return {
        "run": f"{encoder}/{adaptation}/{seed}",
        "encoder": encoder,
        "adaptation": adaptation,
        "seed": seed,
        "accuracy": accuracy,
        "trained_on": {str(number): 100 for number in range(trained_on)},
    }


def reference(name: str, **divergences: float) -> dict:
    genres = {genre: {"divergence": value} for genre, value in divergences.items()}
    return {"name": name, "genres": genres}


def test_means_over_seeds_and_differences_of_the_common_genres():
    runs = with_series(
        [
            run({"a": 0.5}, seed=0),
            run({"a": 0.75}, seed=1),
            run({"b": 0.5}, seed=0),
            run({"a": 0.25}, FROZEN),
            run({"c": 1.0}, FROZEN),
        ]
    )
    accuracies = mean_accuracies(runs, ["c", "b", "a"])
    assert accuracies == {TUNED: {"b": 0.5, "a": 0.625}, FROZEN: {"c": 1.0, "a": 0.25}}
    assert list(accuracies[TUNED]) == ["b", "a"]
    assert differences(runs, accuracies) == {f"{TUNED} − {FROZEN}": {"a": 0.375}}


def test_encoders_and_training_data_are_compared_apart():
    handles = ["modules/x", "https://hub/y/4"]
    runs = with_series(
        [run({"a": 0.5}, name, encoder=handle) for handle in handles for name in (FROZEN, TUNED)]
        + [run({"a": 0.7}, encoder=handles[0], trained_on=2)]
    )
    accuracies = mean_accuracies(runs, ["a"])
    assert list(accuracies) == [
        f"x, {FROZEN}", f"x, {TUNED}", f"y, {FROZEN}", f"y, {TUNED}",
        f"x, {TUNED}, trained on several genres",
    ]  # fmt: skip
    assert list(differences(runs, accuracies)) == [
        f"{encoder}, {TUNED} − {FROZEN}" for encoder in "xy"
    ]
    alike = with_series([run({"a": 0.5}, encoder=handle) for handle in ("m/x", "n/x")])
    assert [one["series"] for one in alike] == [f"m/x, {TUNED}", f"n/x, {TUNED}"]


def test_two_runs_of_one_seed_on_one_genre_are_refused():
    with pytest.raises(ConfigError, match="one run for each seed of fine_tuning on a, got another"):
        with_series([run({"a": 0.5}), run({"a": 0.6})])


def test_correlations_of_each_reference_with_what_is_compared():
    references = [reference("x", a=0.1, b=0.2, c=0.3, d=0.4), reference("y", a=1, b=1, c=1, d=1)]
    steep = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.3999}
    weak = {"d": 0.4, "c": 0.2, "b": 0.3, "a": 0.1}
    x, y = with_correlations(references, {"steep": steep, "weak": weak})
    found = x["correlations"]
    expected = pearsonr([0.4, 0.3, 0.2, 0.1], list(weak.values()))
    assert (found["weak"]["pearson"], found["weak"]["p_value"]) == pytest.approx(tuple(expected))
    # Holm over two: the smaller p twice, the larger as it is.
    assert found["steep"]["p_holm"] == pytest.approx(2 * found["steep"]["p_value"])
    assert found["weak"]["p_holm"] == found["weak"]["p_value"] == pytest.approx(0.2)
    assert (found["steep"]["significant"], found["weak"]["significant"]) == (True, False)
    assert found["steep"]["statement"].startswith(
        "steep: a significant correlation with the divergence from x (r = 1.00, 95 % interval"
    )
    assert found["weak"]["statement"] == (
        "weak: no significant correlation with the divergence from x (r = 0.80, 95 % interval "
        "-0.70 to 1.00, p = 0.200, after Holm's correction over 2: 0.200; 4 genres)"
    )
    assert y["correlations"]["weak"]["significant"] is None
    assert "from 4 genres; it takes three that differ" in y["correlations"]["weak"]["statement"]


def test_one_correlation_needs_no_correction():
    (found,) = with_correlations([reference("x", a=1, b=2, c=4)], {"z": {"a": 1, "b": 5, "c": 3}})
    assert "Holm" not in found["correlations"]["z"]["statement"]
    (found,) = with_correlations([reference("x", a=1, b=2)], {"z": {"a": 1, "b": 5}})
    assert "computed from 2 genres; it takes three" in found["correlations"]["z"]["statement"]
