"""Accuracies of runs by genre, and their correlation with the divergence from references."""

from collections import defaultdict

from tf_adapt.analysis.domains import correlation
from tf_adapt.comparison.plan.cells import short_name
from tf_adapt.errors import ConfigError
from tf_adapt.paper import FROZEN, TUNED
from tf_adapt.printing.words import counted
from tf_adapt.statistics.pairs import holm

LEVEL = 0.05


def with_series(runs: list[dict]) -> list[dict]:
    """The runs of `genre_scores`, each with the name of its `series`.

    A series is all runs of one adaptation and one encoder. Runs trained on several genres are a
    series apart from those trained on a single genre, as in the paper.

    Raises:
        ConfigError: two runs of a series have the same seed on the same genre.
    """
    encoders = _encoders(runs)
    known: dict[tuple, str] = {}
    result = []
    for run in runs:
        series = _name(run, run["adaptation"], encoders)
        for genre in run["accuracy"]:
            place = (series, genre, run["seed"])
            if place in known:
                raise ConfigError(
                    f"--run {run['run']}: expected one run for each seed of {series} on {genre}, "
                    f"got another of seed {run['seed']}, {known[place]}; leave one of them out"
                )
            known[place] = run["run"]
        result.append(run | {"series": series})
    return result


def mean_accuracies(runs: list[dict], genres: list[str]) -> dict[str, dict[str, float]]:
    """The mean accuracy over runs, by series and genre, in the order of `genres`."""
    by_series: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for genre, accuracy in run["accuracy"].items():
            by_series[run["series"]][genre].append(accuracy)
    return {
        series: {
            genre: sum(values[genre]) / len(values[genre]) for genre in genres if genre in values
        }
        for series, values in by_series.items()
    }


def differences(
    runs: list[dict], accuracies: dict[str, dict[str, float]]
) -> dict[str, dict[str, float]]:
    """The accuracy of fine-tuning minus feature extraction, by name and genre.

    For every encoder that has both.
    """
    encoders = _encoders(runs)
    result = {}
    for run in runs:
        tuned, frozen = (
            accuracies.get(_name(run, adaptation, encoders), {}) for adaptation in (TUNED, FROZEN)
        )
        common = {genre: value - frozen[genre] for genre, value in tuned.items() if genre in frozen}
        if common:
            result[_name(run, f"{TUNED} − {FROZEN}", encoders)] = common
    return result


def with_correlations(references: list[dict], compared: dict[str, dict[str, float]]) -> list[dict]:
    """The references of `from_references`, each with `correlations`.

    Args:
        compared: values by name and genre: accuracies or their differences.

    Returns:
        The references; their `correlations` with the divergence, by name: the result of
        `correlation`; `p_holm`, over all correlations of the analysis; `significant`, p_holm below
        0.05; `statement`.
    """
    results = [
        (reference["name"], name, _correlated(reference["genres"], values))
        for reference in references
        for name, values in compared.items()
    ]
    known = [result for _, _, result in results if result["p_value"] is not None]
    for result, p_holm in zip(known, holm([result["p_value"] for result in known]), strict=True):
        result.update(p_holm=p_holm, significant=p_holm < LEVEL)
    for reference, name, result in results:
        result["statement"] = f"{name}: {_statement(result, reference, len(known))}"
    return [
        reference
        | {
            "correlations": {
                name: result for of, name, result in results if of == reference["name"]
            }
        }
        for reference in references
    ]


def _encoders(runs: list[dict]) -> dict[str, str | None]:
    """Handle → the encoder's name in a series: as short as is unique; None for a single encoder."""
    handles = {run["encoder"] for run in runs}
    if len(handles) == 1:
        return dict.fromkeys(handles)
    are_short = len({short_name(handle) for handle in handles}) == len(handles)
    return {handle: short_name(handle) if are_short else handle for handle in handles}


def _name(run: dict, what: str, encoders: dict[str, str | None]) -> str:
    trained = "trained on several genres" if len(run["trained_on"]) > 1 else None
    return ", ".join(filter(None, (encoders[run["encoder"]], what, trained)))


def _correlated(genres: dict[str, dict], values: dict[str, float]) -> dict:
    result = correlation([genres[genre]["divergence"] for genre in values], list(values.values()))
    return result | {"p_holm": None, "significant": None}


def _statement(result: dict, reference: str, tests: int) -> str:
    if result["pearson"] is None:
        return (
            "no correlation with a divergence can be computed from "
            f"{counted(result['pairs'], 'genre')}; it takes three that differ"
        )
    verdict = "a significant correlation" if result["significant"] else "no significant correlation"
    low, high = result["interval"]
    corrected = f", after Holm's correction over {tests}: {result['p_holm']:.3f}"
    return (
        f"{verdict} with the divergence from {reference} (r = {result['pearson']:.2f}, 95 % "
        f"interval {low:.2f} to {high:.2f}, p = {result['p_value']:.3f}"
        f"{corrected if tests > 1 else ''}; {result['pairs']} genres)"
    )
