"""Analyses of every layer of pretrained and tuned encoders, a panel for each dataset."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tf_adapt.analysis import information, probes
from tf_adapt.analysis.kinds import KINDS
from tf_adapt.analysis.progress import shown
from tf_adapt.analysis.sources import Source, encoders, read_source, source_data
from tf_adapt.analysis.states import layer_numbers, pooled_states
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.groups import inseparable
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.tasks.task import Task

States = dict[str, np.ndarray]  # by split, `[layers, examples, width]`
MEAN = "mean"  # in place of a layer's number


@dataclass(frozen=True)
class Items:
    """The texts, pairs or words of a split.

    Attributes:
        targets: `[items]`, class ids or numbers.
        groups: `[items] int64`; items of one are not independent (`inseparable`).
    """

    targets: np.ndarray
    groups: np.ndarray


def probe_layers(
    sources: tuple[str, ...],
    overrides: tuple[str, ...] = (),
    pooling: str | None = None,
    word_pieces: str | None = None,
) -> list[dict]:
    """Diagnostic classifiers on every layer of each source, fitted on train, scored on dev.

    For tagging an item is a word, scored by its tag; folds may part the words of a sentence.

    Args:
        pooling: of a text's states to its vector (not for tagging): "mean" by default.
        word_pieces: for tagging, a word's vector from those of its pieces: "first" by default.

    Returns:
        One dict for each dataset: `dataset`, `metric`, `examples`, `splits`, `truncated`,
        `constant` (the score of a constant prediction), `pooling` or for tagging `word_pieces`,
        and `series`: for each encoder its description (see `encoders`) and `layers`, each with
        `layer` (number), `score`, `penalty`.

    Raises:
        ConfigError, DataError, ArtifactError: as `read_source`, `source_data`, `encoders` and
            `probes.probe`.
    """

    def about(task: Task, items: dict[str, Items]) -> dict:
        metric = KINDS[task.kind].metric(task)
        train, dev = items["train"].targets, items["dev"].targets
        probes.check_targets(train, metric, "train")
        return {"metric": metric, "constant": probes.constant_score(train, dev, metric)}

    def measure(task: Task, states: States, items: dict[str, Items], layer: int) -> dict:
        train, dev = states["train"][layer], states["dev"][layer]
        metric = KINDS[task.kind].metric(task)
        return probes.probe(train, items["train"].targets, dev, items["dev"].targets, metric)

    read = [read_source(name, overrides) for name in sources]
    return panels("probes", read, ("train", "dev"), about, measure, pooling, word_pieces)


def inform_layers(
    sources: tuple[str, ...], overrides: tuple[str, ...] = (), pooling: str | None = None
) -> list[dict]:
    """Mutual information of every layer of each source with the labels of dev, and its checks.

    Returns:
        As `probe_layers`, with `entropy` of the labels in bits (None for a regression) instead of
        `metric` and `constant`; each layer has `bits`, `random_labels`, `random_representations`.

    Raises:
        ConfigError, DataError, ArtifactError: as `probe_layers`.
    """
    drawn: dict[tuple, list[float]] = {}

    def about(task: Task, items: dict[str, Items]) -> dict:
        information.check_targets(items["dev"].targets, "dev")
        drawn.clear()
        return {"entropy": KINDS[task.kind].entropy(items["dev"].targets)}

    def measure(task: Task, states: States, items: dict[str, Items], layer: int) -> dict:
        targets = items["dev"].targets
        measured = information.layer_information(states["dev"][layer], targets)
        width = states["dev"].shape[-1]
        if width not in drawn:
            drawn[width] = information.random_representations(width, targets)
        return measured | {"random_representations": drawn[width]}

    read = [read_source(name, overrides) for name in sources]
    return panels("information", read, ("dev",), about, measure, pooling)


def panels(
    analysis: str,
    sources: list[Source],
    names: tuple[str, ...],
    about: Callable[[Task, dict[str, Items]], dict],
    measure: Callable[[Task, States, dict[str, Items], int], dict],
    pooling: str | None = None,
    word_pieces: str | None = None,
    with_mean: bool = False,
) -> list[dict]:
    """A panel for each dataset, see `probe_layers`.

    Args:
        names: the splits that are encoded.
        about: task, items → what the panel says beside its series.
        measure: task, states, items, the layer's place → what is said of a layer.
        with_mean: measures the mean of the layers too, which is called `mean`.
    """
    by_data: dict[tuple, dict] = {}
    for source in sources:
        splits, task = source_data(source, analysis)
        row = KINDS[task.kind]
        row.check_vectors(task.kind, pooling, word_pieces)
        key = tuple(fingerprint(splits.examples[name]) for name in names)
        panel = by_data.setdefault((splits.name, *key), _panel(splits, names))
        for what, encoder in encoders(source):
            same = ("module_hash", "encoder", "run")
            if any(all(what[key] == series[key] for key in same) for series in panel["series"]):
                continue
            prepared = {
                name: prepare(splits.examples[name], task, encoder, *source.config.training.limits)
                for name in names
            }
            vectors = row.vectors(encoder, pooling, word_pieces)
            items = {name: items_of(splits.examples[name], prepared[name]) for name in names}
            panel |= about(task, items) | vectors
            panel["truncated"] = {name: prepared[name].truncated for name in names}
            states = {
                name: pooled_states(
                    encoder, prepared[name], **vectors, what=f"{splits.name} {name}"
                )
                for name in names
            }
            numbers = layer_numbers(encoder)
            rows = [
                {"layer": numbers[layer], **measure(task, states, items, layer)}
                for layer in shown(range(len(numbers)), f"{splits.name} layers")
            ]
            if with_mean:
                mean = {name: layers.mean(axis=0)[None] for name, layers in states.items()}
                rows.append({"layer": MEAN, **measure(task, mean, items, 0)})
            # Of a panel with several families the last encoder's are those of the panel.
            panel["series"].append(what | vectors | {"layers": rows})
    return labelled(list(by_data.values()))


def items_of(examples: list, prepared: PreparedData) -> Items:
    """The items of a split; for tagging the words of all sentences in order, of which those of one
    sentence are of one group."""
    groups = inseparable(examples)
    if prepared.sentence_splits is None:
        return Items(prepared.targets.numpy(), groups)
    words = np.repeat(groups, np.diff(prepared.sentence_splits))
    return Items(prepared.targets.values.numpy(), words)


def _panel(splits: Splits, names: tuple[str, ...]) -> dict:
    return {
        "dataset": splits.name,
        "kind": splits.kind,
        "examples": {name: len(splits.examples[name]) for name in names},
        "splits": {name: splits.descriptions[name] for name in names},
        "series": [],
    }


def labelled(panels: list[dict], with_module: bool = False) -> list[dict]:
    """Adds to each series a `label`: as short as is unique in its panel.

    Args:
        with_module: name the module even where there is one alone.
    """
    modules = {
        (series["module_hash"], series["module"]) for panel in panels for series in panel["series"]
    }
    of_name = Counter(name for _, name in modules)
    for panel in panels:
        for series in panel["series"]:
            start = "pretrained" if series["encoder"]["pretrained"] else "untrained"
            module = series["handle" if of_name[series["module"]] > 1 else "module"]
            kinds = [module] if with_module or len(modules) > 1 else []
            kinds += [start] if start == "untrained" or not series["adaptation"] else []
            series["label"] = ", ".join([*kinds, *filter(None, [series["adaptation"]])])
        settings = dict.fromkeys(key for series in panel["series"] for key in series["encoder"])
        for key in (*settings, "seed", "run"):
            _tell_apart(panel["series"], key)
    return panels


def _tell_apart(several: list[dict], key: str) -> None:
    """Adds the values of a key to the labels of series that are called alike and differ in it."""
    alike: dict[str, list[dict]] = {}
    for series in several:
        alike.setdefault(series["label"], []).append(series)
    for label, called in alike.items():
        values = [series["encoder"].get(key, series.get(key)) for series in called]
        if all(value == values[0] for value in values):
            continue
        for series, value in zip(called, values, strict=True):
            if value is not None and value is not False:
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                series["label"] = f"{label}, {key} {shown}"
