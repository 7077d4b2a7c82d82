"""Analyses of every layer of pretrained and tuned encoders, a panel for each dataset."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from hub_modules.families import FAMILIES
from tf_adapt.analysis import information, probes
from tf_adapt.analysis.progress import shown
from tf_adapt.analysis.sources import Source, encoders, read_source, source_data
from tf_adapt.analysis.states import layer_numbers, pooled_states
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.data.splits.read_splits import Splits, fingerprint
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.heads.table import refuse_first_state
from tf_adapt.tasks.task import Task

Targets = dict[str, np.ndarray]
States = dict[str, np.ndarray]  # by split, `[layers, examples, width]`


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

    def about(task: Task, targets: Targets) -> dict:
        metric = _metric(task)
        probes.check_targets(targets["train"], metric, "train")
        constant = probes.constant_score(targets["train"], targets["dev"], metric)
        return {"metric": metric, "constant": constant}

    def measure(task: Task, states: States, targets: Targets, layer: int) -> dict:
        train, dev = states["train"][layer], states["dev"][layer]
        return probes.probe(train, targets["train"], dev, targets["dev"], _metric(task))

    read = [read_source(name, overrides) for name in sources]
    return _panels(read, ("train", "dev"), about, measure, pooling, word_pieces, tagging=True)


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

    return _panels(
        [read_source(name, overrides) for name in sources], ("dev",), about, measure, pooling
    )


def _metric(task: Task) -> str:
    return "accuracy" if task.is_tagging else task.metric


def _panels(
    sources: list[Source],
    names: tuple[str, ...],
    about: Callable[[Task, Targets], dict],
    measure: Callable[[Task, States, Targets, int], dict],
    pooling: str | None = None,
    word_pieces: str | None = None,
    tagging: bool = False,
) -> list[dict]:
    panels: dict[tuple, dict] = {}
    for source in sources:
        splits, task = source_data(source, tagging)
        _check_vectors(task, pooling, word_pieces)
        key = tuple(fingerprint(splits.examples[name]) for name in names)
        panel = panels.setdefault((splits.name, *key), _panel(splits, names))
        for what, encoder in encoders(source):
            if any(_is_same(what, series) for series in panel["series"]):
                continue
            prepared = {
                name: prepare(splits.examples[name], task, encoder, *source.config.training.limits)
                for name in names
            }
            vectors = _vectors(task, encoder, pooling, word_pieces)
            targets = {name: _targets(prepared[name].targets) for name in names}
            panel |= about(task, targets) | vectors
            panel["truncated"] = {name: prepared[name].truncated for name in names}
            states = {
                name: pooled_states(
                    encoder, prepared[name], **vectors, what=f"{splits.name} {name}"
                )
                for name in names
            }
            numbers = layer_numbers(encoder)
            rows = [
                {"layer": numbers[layer], **measure(task, states, targets, layer)}
                for layer in shown(range(len(numbers)), f"{splits.name} layers")
            ]
            # Of a panel with several families the last encoder's are those of the panel.
            panel["series"].append(what | vectors | {"layers": rows})
    return _labelled(list(panels.values()))


def _check_vectors(task: Task, pooling: str | None, word_pieces: str | None) -> None:
    """Refuses what is for other tasks."""
    if task.is_tagging and pooling is not None:
        raise ConfigError(
            f"--pooling: expected none for tagging, whose items are words, got {pooling}; a word's "
            "vector from those of its pieces is --word-pieces"
        )
    if not task.is_tagging and word_pieces is not None:
        raise ConfigError(
            f"--word-pieces: expected none for {task.kind}, got {word_pieces}; it is for tagging, "
            "and --pooling for the others"
        )


def _vectors(
    task: Task, encoder: HubEncoder, pooling: str | None, word_pieces: str | None
) -> dict[str, str]:
    """How an item's vector comes from the states, as the arguments of `pooled_states`."""
    if task.is_tagging:
        return {"word_pieces": word_pieces or FAMILIES[encoder.family].word_piece}
    if pooling == "first":
        refuse_first_state("--pooling", encoder.family)
    return {"pooling": pooling or "mean"}


def _targets(targets: tf.Tensor | tf.RaggedTensor) -> np.ndarray:
    """Of every item; for tagging the words of all sentences in order."""
    return (targets.values if isinstance(targets, tf.RaggedTensor) else targets).numpy()


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
    """Adds to each series a `label`: as short as is unique in its panel."""
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
