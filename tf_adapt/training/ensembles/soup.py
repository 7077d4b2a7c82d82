"""The average of the weights of several runs (a "soup"): one model, in a run folder of its own."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from hub_modules.storage import records
from hub_modules.storage.files import publish_folder
from tf_adapt.config.reading import dump_config
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.data.splits.shifted import domain_of, shifted_splits
from tf_adapt.errors import ConfigError
from tf_adapt.layers.moving_averages import moving_averages
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.runs import checkpoints, ensemble_folder, run_folder, run_schemas
from tf_adapt.runs.ensemble_folder import WEIGHTS, EnsembleFile, EnsembleMember
from tf_adapt.runs.kinds import KINDS as FILES
from tf_adapt.runs.prediction_files import write_predictions
from tf_adapt.serving.prediction.ensemble import Member, scores
from tf_adapt.serving.prediction.predict import to_predictions
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.serving.prediction.prediction_forms import predictions_text
from tf_adapt.statistics.selection import greedy_members
from tf_adapt.tasks.task import Task
from tf_adapt.training.ensembles.ensemble_members import Candidate, scored_splits
from tf_adapt.training.ensembles.ensemble_scores import (
    item_sums,
    score,
    split_result,
)
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving.run_config import saved_config
from tf_adapt.training.results.finish import layer_weights, versions
from tf_adapt.training.results.quality import quality
from tf_adapt.training.results.slices import scores_of_predictions

log = logging.getLogger(__name__)
# Arguments of an encoder or a head that change no weight.
_FREE = (
    *("name", "trainable", "dtype", "handle", "trust", "gradient_checkpointing"),
    *("trainable_groups", "unread_groups", "added"),
)


def soup(
    members: Sequence[Candidate], splits: Splits, out: Path, greedy: bool, trust: bool
) -> EnsembleFile:
    """Writes the mean of the members' weights as a run folder, scored where they were scored.

    The weights are those of encoder and head, each averaged with its counterparts: `Σ_m θ_m / M`.
    The folder has the config and the limits of the best member.

    Args:
        members: runs whose weights correspond: on one pretrained module, with one head and the same
            weights added by the adaptation.
        greedy: average only members that `greedy_members` keeps, by the score on dev.

    Raises:
        ConfigError: the weights of two members do not correspond.
        ArtifactError: as `tf_adapt.load_run`; the folder cannot be written.

    Source: Wortsman et al. 2022, "Model soups".
    """
    loaded = [member.load(trust) for member in members]
    for member, other in zip(members[1:], loaded[1:], strict=True):
        _check_corresponds(members[0], loaded[0].model, member, other.model)
    _warn_of_seeds(members)
    examples = scored_splits(splits)
    arrays = [checkpoints.to_arrays(run.model.weights) for run in loaded]
    task = replace(loaded[0].model.task, thresholds=None)
    chooses = any(member.task.thresholds is not None for member in members)

    def judged(member: Member) -> _Judged:
        answers = {name: member.answer(records) for name, records in examples.items()}
        choose = KINDS[task.kind].with_thresholds
        judged_task = choose(task, examples["dev"], answers["dev"]) if chooses else task
        predictions = {
            name: to_predictions(judged_task, examples[name], answer)
            for name, answer in answers.items()
        }
        sums = {
            name: item_sums(judged_task, examples[name], of_split)
            for name, of_split in predictions.items()
        }
        return _Judged(judged_task, predictions, sums, score(task.metric, sums["dev"]))

    alone = [judged(member) for member in loaded]
    best = max(range(len(alone)), key=lambda number: alone[number].score)
    model = loaded[best]
    del loaded

    def mean_of(kept: list[int]) -> _Judged:
        mean = mean_arrays([arrays[number] for number in kept])
        checkpoints.assign(model.model.weights, mean, "the mean of the members' weights")
        return judged(model)

    kept = list(range(len(members)))
    if greedy:
        kept = greedy_members(
            lambda some: mean_of(some).score, [judgement.score for judgement in alone]
        )
    of_mean = mean_of(kept)
    described = EnsembleFile(
        combine=WEIGHTS,
        chosen_on_dev=greedy,
        thresholds_on_dev=chooses,
        task=run_schemas.TaskArguments(**of_mean.task.get_config()),
        members=[
            EnsembleMember(
                run=ensemble_folder.place_of(member.folder, out),
                sha256=member.sha256,
                weight=1 / len(kept) if number in kept else 0.0,
            )
            for number, member in enumerate(members)
        ],
        results={
            name: split_result(
                task.metric, [judgement.sums[name] for judgement in alone], of_mean.sums[name], best
            )
            for name in examples
        },
    )
    _write(out, members, best, described, of_mean, examples, model.model)
    return described


def mean_arrays(arrays: Sequence[checkpoints.Arrays]) -> checkpoints.Arrays:
    """The mean of each array, computed in float64."""
    return {
        name: np.mean([of_member[name] for of_member in arrays], axis=0, dtype=np.float64).astype(
            value.dtype
        )
        for name, value in arrays[0].items()
    }


@dataclass(frozen=True)
class _Judged:
    """The predictions for the splits with the task's thresholds, `item_sums`, score on dev."""

    task: Task
    predictions: dict[str, list[Prediction]]
    sums: dict[str, np.ndarray]
    score: float


def _check_corresponds(
    first: Candidate, model: AdaptedModel, other: Candidate, others: AdaptedModel
) -> None:
    """Checks that weights of the same position are the same weight in both models."""
    if moving_averages(model.head):
        raise ConfigError(
            f"{first.folder}: expected a head without batch normalisation, whose averages belong "
            f"to one run's weights, got {type(model.head).__name__}; average the predictions of "
            "these runs (without --average weights)"
        )
    expected, got = _architecture(first, model), _architecture(other, others)
    for key in expected | got:
        if expected.get(key) != got.get(key):
            raise ConfigError(
                f"{other.folder}: {key}: expected {expected.get(key)}, as of {first.folder}, got "
                f"{got.get(key)}; only weights that correspond can be averaged: average the "
                "predictions of these runs (without --average weights)"
            )
    shapes = [
        [(weight.name, tuple(weight.shape)) for weight in weights_of.weights]
        for weights_of in (model, others)
    ]
    if shapes[0] != shapes[1]:
        pairs = zip_longest(*shapes)
        wanted, actual = next(pair for pair in pairs if pair[0] != pair[1])
        raise ConfigError(
            f"{other.folder}: expected the weights of {first.folder}, got {actual} for {wanted}; "
            "average the predictions of these runs (without --average weights)"
        )


def _architecture(candidate: Candidate, model: AdaptedModel) -> dict[str, Any]:
    """What decides which weights a model has, and their initial values."""
    encoder, head = model.encoder.get_config(), model.head.get_config()
    random = f"random numbers of seed {candidate.metrics['seed']}"
    drawn = saved_config(candidate.folder).adaptation.reinitialise
    return {
        "module": f"{candidate.module[:12]}…",
        "head": type(model.head).__name__,
        "start": _start(candidate) if model.encoder.pretrained else random,
        "reinitialise": drawn and f"{drawn} by {random}",
        "adaptation": model.encoder.added_weights,
        **{f"encoder.{key}": value for key, value in encoder.items() if key not in _FREE},
        **{
            f"head.{key}": value
            for key, value in head.items()
            if key not in _FREE and "dropout" not in key
        },
    }


def _start(candidate: Candidate) -> str:
    """The initial weights of a run's encoder, by origin; copies of a run are one origin."""
    start = candidate.metrics.get("start")
    if start is None:
        return "the module"
    what = "encoder and head" if start["head"] else "encoder"
    return f"a run ({what}, SHA-256 {start['weights'][:12]}…)"


def _warn_of_seeds(members: Sequence[Candidate]) -> None:
    seeds = sorted({member.metrics["seed"] for member in members})
    if len(seeds) > 1:
        log.warning(
            "the members have different seeds (%s): their heads, and what an adaptation adds, "
            "began with other random numbers, and the mean of such weights may be worse than each",
            ", ".join(map(str, seeds)),
        )


def _write(
    out: Path,
    members: Sequence[Candidate],
    best: int,
    described: EnsembleFile,
    of_mean: _Judged,
    examples: dict[str, list],
    model: AdaptedModel,
) -> None:
    of_best = members[best]
    number = of_best.metrics["best_epoch"] - 1
    task = of_mean.task
    form = FILES[task.kind].form
    with publish_folder(out) as aside:
        config = saved_config(of_best.folder).model_copy(update={"about": None})
        records.write(aside, run_folder.CONFIG, dump_config(config))
        run_folder.write_task(aside, task.get_config(), of_best.module)
        weights = checkpoints.to_arrays(model.weights)
        checkpoints.save_best(aside / "checkpoint", checkpoints.best_name(number), weights)
        for name, predictions in of_mean.predictions.items():
            text = predictions_text(form, task, examples[name], predictions, with_scores=True)
            write_predictions(aside, name, text)
        ensemble_folder.write(aside, described)
        metrics = _metrics(members, best, of_mean, examples)
        if "layer_weights" in metrics:
            metrics["layer_weights"] = layer_weights(model.head)
        run_folder.write_metrics(aside, metrics)


def _metrics(
    members: Sequence[Candidate], best: int, of_mean: _Judged, examples: dict[str, list]
) -> dict[str, Any]:
    """Those of the best member, with the scores of the mean; costs are of all members together."""
    metrics, slices = dict(members[best].metrics), members[best].reading.slices
    reached = {
        name: scores(of_mean.task, examples[name], predictions)
        for name, predictions in of_mean.predictions.items()
    }
    for name in ("forgetting", "distances"):  # not measured of the mean
        metrics.pop(name, None)
    further = shifted_splits(reached)
    abroad = {domain_of(name): reached.pop(name) for name in further}
    metrics |= reached | ({"shifted": abroad} if abroad else {})
    at_home = {name: of_mean.predictions[name] for name in reached}
    metrics["quality"] = {
        name: quality(of_mean.task, examples[name], predictions)
        for name, predictions in at_home.items()
    }
    if slices:
        metrics["slices"] = {
            name: scores_of_predictions(slices, of_mean.task, examples[name], predictions)
            for name, predictions in at_home.items()
        }
    if metrics.get("taught"):
        student = metrics["taught"]["student"] | reached
        metrics["taught"] = metrics["taught"] | {"student": student}
    serving = metrics["seconds"].get("serving_per_1000")
    seconds: dict[str, float] = {}
    for member in members:
        for name, value in member.metrics["seconds"].items():
            seconds[name] = round(seconds.get(name, 0.0) + value, 2)
    metrics["seconds"] = seconds | ({} if serving is None else {"serving_per_1000": serving})
    metrics["peak_memory_mb"] = max(member.metrics["peak_memory_mb"] for member in members)
    metrics["versions"] = versions()
    return metrics
