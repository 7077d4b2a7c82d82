"""A search as an Optuna study, rebuilt from the trials that there are.

Optuna draws settings, says how good a trial must be to go on, and how much each key matters. It
keeps no state: a study is made of past trials each time, and each trial has a seed of its own, so
that the same trials follow from the same folders.
"""

import copy
import functools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tf_adapt.comparison.search.section import GRID, NO_PRUNER, SearchSection
from tf_adapt.comparison.search.space import Values, drawn, grid, rounded
from tf_adapt.errors import ConfigError

# Trials before the sampler and the pruner learn from them. Optuna's pruner has 5 too, its sampler
# 10, which is half of a usual search here.
STARTUP = 5
# Trials below which nothing is said of the importance of keys.
FEWEST = 8
# Optuna tells the brackets of its Hyperband by a hash of this name and the trial's number.
STUDY = "search"
# Lower than every score.
_WORST = -1e9


@dataclass(frozen=True)
class PastTrial:
    """A trial that has ended.

    Attributes:
        values: by key.
        score: on dev, higher is better; None: it diverged.
        curve: the best score on dev up to each epoch.
        stopped: whether it was ended early.
    """

    values: Mapping[str, Any]
    score: float | None
    curve: Sequence[float] = ()
    stopped: bool = False


def check_installed() -> None:
    """Checks that Optuna is there, before anything is trained.

    Raises:
        ConfigError: it is not, or an earlier version.
    """
    _optuna()


def next_values(
    space: Sequence[Values], section: SearchSection, past: Sequence[PastTrial], seed: int
) -> dict[str, Any]:
    """The values of the trial after `past`, by key.

    Args:
        seed: of the search; together with the number of the trial that of its sampler.
    """
    if section.sampler == GRID:
        return next(islice(grid(space), len(past), None))
    study = _study_of_values(space, past)
    study.sampler = _sampler(section, seed, len(past))
    trial = study.ask()
    return drawn(space, functools.partial(_suggested, trial))


def limits(
    section: SearchSection, past: Sequence[PastTrial], epochs: int, most_epochs: int
) -> tuple[float | None, ...]:
    """By epoch, the lowest best score so far with which the pruner lets the next trial go on; None:
    any. Of the last of its `epochs` there is none; no trial has more than `most_epochs`.

    The decisions of the pruners are a matter of rank among the scores of past trials at that epoch,
    so that one of these, or the middle of two, is the limit.
    """
    if section.pruner == NO_PRUNER:
        return ()
    study = _study_of_curves(section, past, most_epochs)
    found = [_limit(study, past, epoch) for epoch in range(1, epochs)]
    return tuple(found) if any(limit is not None for limit in found) else ()


def importances(space: Sequence[Values], past: Sequence[PastTrial]) -> dict[str, float]:
    """How much each key matters for the score, in sum 1 (PED-ANOVA); empty: too few trials, or all
    scores are alike.

    References: Watanabe et al. 2023, "PED-ANOVA".
    """
    optuna, study = _optuna(), _study_of_values(space, past)
    scores = {trial.value for trial in study.trials if trial.value is not None}
    if len(past) < FEWEST or len(scores) < 2:
        return {}
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(value) for name, value in found.items()}


def _optuna():
    try:
        import optuna
    except ImportError:
        raise ConfigError(
            "compare.search needs Optuna, which is not installed: `pip install 'tf_adapt[search]'`"
        ) from None
    if int(optuna.__version__.split(".")[0]) < 5:
        raise ConfigError(
            f"compare.search: expected Optuna 5 or later, got {optuna.__version__}: `pip install "
            "'tf_adapt[search]'`"
        )
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _sampler(section: SearchSection, seed: int, number: int):
    samplers = _optuna().samplers
    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    if section.sampler == "random":
        return samplers.RandomSampler(seed=own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `group`, for conditional keys, is called experimental
        return samplers.TPESampler(
            seed=own, n_startup_trials=STARTUP, multivariate=True, group=True, constant_liar=False
        )


def _pruner(section: SearchSection, epochs: int):
    pruners = _optuna().pruners
    if section.pruner == "median":
        # The first epoch, which is in the warm-up of the rate, is not judged.
        return pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=2)
    return pruners.HyperbandPruner(min_resource=1, max_resource=epochs, reduction_factor=3)


def _distribution(values: Values):
    distributions = _optuna().distributions
    if values.choices:
        return distributions.CategoricalDistribution(values.choices)
    whole = isinstance(values.low, int)
    kind = distributions.IntDistribution if whole else distributions.FloatDistribution
    return kind(values.low, values.high, log=values.log)


def _suggested(trial, values: Values) -> Any:
    if values.choices:
        return trial.suggest_categorical(values.name, values.choices)
    if isinstance(values.low, int):
        return trial.suggest_int(values.name, values.low, values.high, log=values.log)
    value = trial.suggest_float(values.name, values.low, values.high, log=values.log)
    return rounded(values, value)


def _study_of_values(space: Sequence[Values], past: Sequence[PastTrial]):
    """A study of the past trials with their values, from which a sampler draws."""
    optuna = _optuna()
    study = optuna.create_study(direction="maximize", study_name=STUDY)
    states = optuna.trial.TrialState
    for trial in past:
        active: list[Values] = []
        drawn(space, lambda values, active=active, of=trial.values: _noted(values, active, of))
        state = states.FAIL if trial.score is None else states.COMPLETE
        state = states.PRUNED if trial.stopped else state
        study.add_trial(
            optuna.trial.create_trial(
                state=state,
                value=trial.score if state == states.COMPLETE else None,
                params={values.name: trial.values[values.key] for values in active},
                distributions={values.name: _distribution(values) for values in active},
                intermediate_values=dict(enumerate(trial.curve, 1)),
            )
        )
    return study


def _noted(values: Values, active: list[Values], of: Mapping[str, Any]) -> Any:
    active.append(values)
    return of[values.key]


def _study_of_curves(section: SearchSection, past: Sequence[PastTrial], epochs: int):
    """A study that went through the curves of the past trials, so that its pruner has its marks."""
    optuna = _optuna()
    study = optuna.create_study(
        direction="maximize",
        study_name=STUDY,
        sampler=optuna.samplers.RandomSampler(),
        pruner=_pruner(section, epochs),
    )
    states = optuna.trial.TrialState
    for trial in past:
        asked = study.ask()
        for epoch, score in enumerate(trial.curve, 1):
            asked.report(score, epoch)
            asked.should_prune()
        state = states.PRUNED if trial.stopped else states.FAIL
        is_whole = trial.score is not None and not trial.stopped
        study.tell(asked, *((trial.score,) if is_whole else (None, state)))
    return study


def _limit(study, past: Sequence[PastTrial], epoch: int) -> float | None:
    if not _is_pruned(study, epoch, _WORST):
        return None
    scores = sorted({trial.curve[epoch - 1] for trial in past if len(trial.curve) >= epoch})
    middles = [(low + high) / 2 for low, high in zip(scores, scores[1:], strict=False)]
    candidates = sorted([*scores, *middles])
    low, high = 0, len(candidates)  # the first candidate with which it goes on
    while low < high:
        middle = (low + high) // 2
        if _is_pruned(study, epoch, candidates[middle]):
            low = middle + 1
        else:
            high = middle
    return candidates[low] if low < len(candidates) else None


def _is_pruned(study, epoch: int, score: float) -> bool:
    """Whether the next trial would be ended with a score after an epoch; the study stays as it
    is."""
    trial = copy.deepcopy(study).ask()
    trial.report(score, epoch)
    return trial.should_prune()
