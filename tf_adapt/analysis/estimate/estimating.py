"""Before training: what the frozen states of each layer tell of the labels, by six measures."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from tf_adapt.analysis.estimate import measures, predicting
from tf_adapt.analysis.kinds import KINDS
from tf_adapt.analysis.layers import Items, States, labelled, panels
from tf_adapt.analysis.mutual_information import edge
from tf_adapt.analysis.probes import check_targets, constant_score, score
from tf_adapt.analysis.sources import Source, checked_data_keys, read_source
from tf_adapt.comparison.advice.published import published
from tf_adapt.comparison.kept.estimate import configs_of, keep_estimate
from tf_adapt.comparison.plan.settings import is_comparison, load_comparison
from tf_adapt.comparison.record import RECORD, has_record
from tf_adapt.config.sections import Config
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.printing.words import metric_name
from tf_adapt.printing.words import score as score_in_words
from tf_adapt.report.estimate.measures import MEASURES, Estimate, LayerEstimate
from tf_adapt.tasks.task import Task

COMPARE = "`tf-adapt compare` finds out."
_ABOUT = ("module", "family")
CORRELATION, SCORES = "pearson", ("accuracy", "matthews", "pearson")


def estimate(config: str, overrides: tuple[str, ...] = ()) -> dict[str, Any]:
    """As `measured`, and `predictions` of 🔥 − ❄ (see `predicting.predictions`). The folder of a
    comparison keeps them, and its report shows them."""
    result = measured(config, overrides)
    result |= {"predictions": predicting.predictions(result, published())}
    if has_record(config):
        keep_estimate(_for_report(result), Path(config).absolute())
    return result


def _for_report(result: dict[str, Any]) -> Estimate:
    known = [field.name for field in fields(LayerEstimate)]
    predictions, lines = result["predictions"], []
    if predictions["rules"] is not None:
        lines = [predicting.first_line(predictions), *predicting.lines_of(predictions)]
    return Estimate(
        metric=result["metric"],
        constant=result["constant"],
        examples=result["examples"]["train"],
        ranking=[LayerEstimate(**{key: row[key] for key in known}) for row in result["ranking"]],
        predicted=lines,
    )


def measured(config: str, overrides: tuple[str, ...] = ()) -> dict[str, Any]:
    """The measures of every layer, and of the mean of all layers, of each encoder of a config, on
    train; `ranking` is by the linear probe.

    Args:
        config: of a run, or of a comparison, whose encoders and data count; or the folder of one.

    Raises:
        ConfigError, DataError, ArtifactError: as `probe_layers` and `load_comparison`.
    """
    sources, parts = _sources(config, overrides), []

    def about(task: Task, items: dict[str, Items]) -> dict[str, Any]:
        said, train = _about(task, items), items["train"]
        # Once for all layers: cutting thousands of groups takes seconds.
        parts[:] = measures.folds(train.targets, train.groups, said["metric"] != CORRELATION)
        return said

    def measure(task: Task, states: States, items: dict[str, Items], layer: int) -> dict:
        return _measured(task, states["train"][layer], items["train"].targets, parts)

    found = panels("estimate", sources, ("train",), about, measure, with_mean=True)
    (panel,) = labelled(found, with_module=True)
    rows = [
        {"encoder": series["label"], **{key: series[key] for key in _ABOUT}, **layer}
        for series in panel["series"]
        for layer in series["layers"]
    ]
    ranking = sorted(rows, key=lambda row: -row["probe"])
    return {
        "dataset": panel["dataset"],
        "kind": panel["kind"],
        "metric": panel["metric"],
        "compared_by": panel["compared_by"],
        "constant": panel["constant"],
        "examples": panel["examples"],
        "ranking": ranking,
    }


def _sources(config: str, overrides: tuple[str, ...]) -> list[Source]:
    if has_record(config):
        configs = configs_of(Path(config).absolute(), checked_data_keys(config, overrides))
        return [Source(one, None) for one in _by_encoder(configs)]
    if Path(config).is_dir():
        raise ConfigError(
            f"{config}: expected a config, or the folder that `tf-adapt compare` has as --out, got "
            f"a folder without {RECORD}; give one of these"
        )
    if not is_comparison(config):
        return [read_source(config, overrides)]
    comparison = load_comparison(config, overrides)
    # What a signal lays over a cell (further tasks, votes) is not asked about.
    own = {"data": comparison.data, "weak": comparison.weak, "tasks": None}
    configs = _by_encoder([cell.config for cell in comparison.cells])
    return [Source(one.model_copy(update=own), None) for one in configs]


def _by_encoder(configs: list[Config]) -> list[Config]:
    """The first config of each encoder."""
    encoders: dict[str, Config] = {}
    for config in configs:
        encoders.setdefault(config.encoder.model_dump_json(), config)
    return list(encoders.values())


def _metric(task: Task) -> str:
    """The score of the answers; for classes with another one their accuracy."""
    metric = KINDS[task.kind].metric(task)
    return metric if metric in SCORES else "accuracy"


def _about(task: Task, items: dict[str, Items]) -> dict[str, Any]:
    metric = _metric(task)
    train = items["train"]
    check_targets(train.targets, metric, "train")
    check_groups(train.groups, "train")
    return {
        "metric": metric,
        "compared_by": task.metric,
        "constant": constant_score(train.targets, train.targets, metric),
    }


def check_groups(groups: np.ndarray, what: str) -> None:
    """Checks that folds can be cut that share no group.

    Raises:
        DataError: fewer than five groups.
    """
    count = len(np.unique(groups))
    if count < measures.FOLDS:
        raise DataError(
            f"{what}: expected at least {measures.FOLDS} groups that share no text, for as many "
            f"folds (examples of one group, or sentences of one document, are in one fold), got "
            f"{count}; add examples of others"
        )


def _measured(
    task: Task, features: np.ndarray, labels: np.ndarray, parts: measures.Folds
) -> dict[str, float]:
    metric = _metric(task)
    given = features, labels, metric != CORRELATION
    return {
        "probe": score(labels, measures.linear_probe(*given, parts), metric),
        "neighbours": score(labels, measures.nearest_neighbours(*given, parts), metric),
        "log_me": measures.log_me(*given),
        "h_score": measures.h_score(*given),
        "trans_rate": measures.trans_rate(*given),
        "bits": edge(features, labels),
    }


def lines_of(result: dict[str, Any]) -> list[str]:
    """What the prediction is worth, the ranking, best first, and the prediction, for the
    terminal."""
    examples = result["examples"]["train"]
    head = f"{result['dataset']}: {examples:,} examples, {metric_name(result['metric'])} × 100"
    first = predicting.first_line(result["predictions"])
    lines = [first if result["predictions"]["better"] else f"{first} {COMPARE}"]
    lines.append(f"{head}; a constant answer has {score_in_words(result['constant'])}")
    names = [f"{row['encoder']}, layer {row['layer']}" for row in result["ranking"]]
    width = max(map(len, names))
    lines.append(" ".join([" " * width, *(f"{name:>12}" for name in MEASURES.values())]))
    for name, row in zip(names, result["ranking"], strict=True):
        shown = [100 * row["probe"], 100 * row["neighbours"]]
        shown += [row[key] for key in list(MEASURES)[2:]]
        lines.append(" ".join([f"{name:<{width}}", *(f"{value:12.3f}" for value in shown)]))
    return [*lines, *predicting.lines_of(result["predictions"])]
