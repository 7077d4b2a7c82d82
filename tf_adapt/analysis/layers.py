"""Runs an analysis over every layer of pretrained and tuned encoders, a panel for each dataset."""

from collections import Counter
from collections.abc import Callable

import numpy as np

from tf_adapt.analysis import information, probes
from tf_adapt.analysis.progress import shown
from tf_adapt.analysis.sources import encoders, read_source, source_data
from tf_adapt.analysis.states import layer_numbers, mean_states
from tf_adapt.data.batches import prepare
from tf_adapt.data.splits import Splits, fingerprint
from tf_adapt.tasks import Task

Targets = dict[str, np.ndarray]
States = dict[str, np.ndarray]  # of each split `[layers, examples, width]`


def probe_layers(sources: tuple[str, ...], overrides: tuple[str, ...] = ()) -> list[dict]:
    """Diagnostic classifiers on every layer of each source, fitted on train, scored on dev.

    Returns:
        One dict for each dataset: `dataset`, `metric`, `examples`, `splits`, `truncated`,
        `constant` (the score of an answer that is always the same), and `series`: for each encoder
        what it is and `layers`, of each its number, `score` and `penalty`.

    Raises:
        ConfigError, DataError, ArtifactError: as `read_source`, `source_data`, `encoders` and
            `probes.probe`.
    """

    def about(task: Task, targets: Targets) -> dict:
        probes.check_targets(targets["train"], task.metric, "train")
        constant = probes.constant_score(targets["train"], targets["dev"], task.metric)
        return {"metric": task.metric, "constant": constant}

    def measure(task: Task, states: States, targets: Targets, layer: int) -> dict:
        train, dev = states["train"][layer], states["dev"][layer]
        return probes.probe(train, targets["train"], dev, targets["dev"], task.metric)

    return _panels(sources, overrides, ("train", "dev"), about, measure)


def inform_layers(sources: tuple[str, ...], overrides: tuple[str, ...] = ()) -> list[dict]:
    """Mutual information of every layer of each source with the labels of dev, and its checks.

    Returns:
        As `probe_layers`; `entropy` of the labels in bits (None for a regression), and of each
        layer `bits`, `random_labels` and `random_representations`.

    Raises:
        ConfigError, DataError, ArtifactError: as `probe_layers`.
    """
    drawn: dict[tuple, list[float]] = {}

    def about(task: Task, targets: Targets) -> dict:
        information.check_targets(targets["dev"], "dev")
        drawn.clear()
        return {"entropy": None if task.is_regression else information.entropy(targets["dev"])}

    def measure(task: Task, states: States, targets: Targets, layer: int) -> dict:
        found = information.layer_information(states["dev"][layer], targets["dev"])
        width = states["dev"].shape[-1]
        if width not in drawn:
            drawn[width] = information.random_representations(width, targets["dev"])
        return found | {"random_representations": drawn[width]}

    return _panels(sources, overrides, ("dev",), about, measure)


def _panels(
    sources: tuple[str, ...],
    overrides: tuple[str, ...],
    names: tuple[str, ...],
    about: Callable[[Task, Targets], dict],
    measure: Callable[[Task, States, Targets, int], dict],
) -> list[dict]:
    panels: dict[tuple, dict] = {}
    for source in [read_source(name, overrides) for name in sources]:
        splits, task = source_data(source)
        key = tuple(fingerprint(splits.examples[name]) for name in names)
        panel = panels.setdefault((splits.name, *key), _panel(splits, names))
        for what, encoder in encoders(source):
            if any(_is_same(what, series) for series in panel["series"]):
                continue
            prepared = {
                name: prepare(splits.examples[name], task, encoder, *source.config.training.limits)
                for name in names
            }
            targets = {name: prepared[name].targets.numpy() for name in names}
            panel |= about(task, targets)
            panel["truncated"] = {name: prepared[name].truncated for name in names}
            states = {
                name: mean_states(encoder, prepared[name], what=f"{splits.name} {name}")
                for name in names
            }
            numbers = layer_numbers(encoder)
            rows = [
                {"layer": numbers[layer], **measure(task, states, targets, layer)}
                for layer in shown(range(len(numbers)), f"{splits.name} layers")
            ]
            panel["series"].append(what | {"layers": rows})
    return _labelled(list(panels.values()))


def _panel(splits: Splits, names: tuple[str, ...]) -> dict:
    return {
        "dataset": splits.name,
        "kind": splits.kind,
        "examples": {name: len(splits.examples[name]) for name in names},
        "splits": {name: splits.descriptions[name] for name in names},
        "series": [],
    }


def _is_same(first: dict, second: dict) -> bool:
    return all(first[key] == second[key] for key in ("module_hash", "encoder", "run"))


def _labelled(panels: list[dict]) -> list[dict]:
    """Gives each series a `label`: as short as tells the series of each panel apart."""
    modules = {series["module_hash"] for panel in panels for series in panel["series"]}
    for panel in panels:
        for series in panel["series"]:
            start = "pretrained" if series["encoder"]["pretrained"] else "untrained"
            kinds = [series["module"]] if len(modules) > 1 else []
            kinds += [start] if start == "untrained" or not series["adaptation"] else []
            series["label"] = ", ".join([*kinds, *filter(None, [series["adaptation"]])])
        for key in ("seed", "run"):
            counts = Counter(series["label"] for series in panel["series"])
            for series in panel["series"]:
                if counts[series["label"]] > 1 and series[key] is not None:
                    series["label"] += f", {key} {series[key]}"
    return panels
