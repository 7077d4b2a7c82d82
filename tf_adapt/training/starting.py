"""A run that begins from another run's best weights: config → run → weights of a new model.

Source: Phang, Févry, Bowman 2018, "Sentence Encoders on STILTs: Supplementary Training on
Intermediate Labeled-data Tasks".
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from hub_modules.native.lora import merged
from tf_adapt.config.sections import Config
from tf_adapt.data.prepare import task_of
from tf_adapt.data.splits import load_splits
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.runs.finished_run import FinishedRun, finished_run, kept_run, module_in_words
from tf_adapt.runs.run_folder import START
from tf_adapt.tasks.task import Task
from tf_adapt.training.compiled_model import compiled_model, configured_model
from tf_adapt.training.load_run import model_of

# Settings of a head that may differ: a language model's output is that of its module.
_FREE = ("dropout", "name", "dtype", "trainable", "seed", "output")


def starting_run(config: Config, folder: Path | None = None) -> FinishedRun | None:
    """The run that a config starts from; None without `start`.

    Args:
        folder: the run folder, whose copy of that run is used where it has one. A run that is
            trained first has no other place; without `folder` it is not there yet: None.

    Raises:
        ConfigError, ArtifactError: as `kept_run`.
    """
    start = config.start
    if start is None:
        return None
    if start.config is not None:
        return None if folder is None else finished_run(start.key, folder / START)
    if folder is None:
        return finished_run(start.key, start.run)
    return kept_run(start.key, start.run, folder / START)


def carries_head(config: Config, task: Task, before: Task) -> bool:
    """Whether the head begins from the run too: the kinds and labels of both tasks are equal."""
    return config.start.head and (before.kind, before.labels) == (task.kind, task.labels)


def start_from(model: AdaptedModel, config: Config, run: FinishedRun) -> None:
    """Sets the encoder's weights, and the head's where the tasks agree, to a run's best.

    Adapters and LoRA that both encoders have alike are carried over; LoRA that the new encoder has
    not, or has otherwise, is added to the kernels. The optimizer starts anew.

    Raises:
        ConfigError: the run has another module, execution or classification token, adapters that
            this encoder has no place for, or, with equal tasks, another head.
        ArtifactError: the run is damaged.
    """
    _check_module(model.encoder, config, run.module, run.config, str(run.folder))
    source = model_of(run.folder, run.config, Task(**run.task), run.metrics, config.encoder)
    _carry(model, config, source, run.config, str(run.folder))


def check_start_config(model: AdaptedModel, config: Config, start: Config) -> None:
    """Checks that a run can begin from another that is not trained yet; changes the model's values.

    Args:
        start: the config of the other run.

    Raises:
        ConfigError, ArtifactError: as `start_from`.
        DataError: the data of the other run are wrong.
    """
    source = configured_model(start, task_of(load_splits(start.data, start.weak)))
    _check_module(model.encoder, config, source.encoder.module_hash, start, config.start.place)
    _carry(model, config, source, start, config.start.place)


def _check_module(
    encoder: HubEncoder, config: Config, module: str, before: Config, name: str
) -> None:
    if module != encoder.module_hash:
        expected, got = module_in_words(config.encoder), module_in_words(before.encoder)
        raise ConfigError(
            f"{config.start.key}: expected a run on the module of encoder.handle ({expected}, hash "
            f"{encoder.module_hash[:12]}…), got {name} on {got} (hash {module[:12]}…); "
            "set encoder.handle and encoder.keep_layers to those of the run"
        )


def _carry(
    model: AdaptedModel, config: Config, source: AdaptedModel, before: Config, name: str
) -> None:
    """Assigns the weights of a run's model.

    Args:
        before: the config of the run.
        name: of the run, for messages.
    """
    token = before.encoder.classification_token
    _check_equal("classification_token", token, config.encoder.classification_token, name)
    encoder = model.encoder
    _check_equal("execution", source.encoder.execution, encoder.execution, name)
    _take_encoder(encoder, source.encoder, before, name)
    if carries_head(config, model.task, source.task):
        _take_head(model.head, source.head, name)


def started_model(config: Config, task: Task, run: FinishedRun | None) -> AdaptedModel:
    """The compiled model of a config, with the weights that it starts from.

    Args:
        run: of `starting_run`; None: the module's weights and a new head.

    Raises:
        ConfigError, ArtifactError: as `compiled_model` and `start_from`.
    """
    model = compiled_model(config, task)
    if run is not None:
        start_from(model, config, run)
    return model


def in_metrics(config: Config, task: Task, run: FinishedRun) -> dict[str, Any]:
    """The run that another starts from, as `metrics.json` shows it; `start` is its own start."""
    metrics = run.metrics
    split = "test" if metrics.get("test") else "dev"
    own = {START: metrics[START]} if metrics.get(START) else {}
    return {
        "run": config.start.place,
        "dataset": metrics["dataset"],
        "adaptation": metrics["adaptation"],
        "metric": metrics["metric"],
        "split": split,
        "score": metrics[split][metrics["metric"]],
        "head": carries_head(config, task, Task(**run.task)),
        "weights": run.weights,
        **own,
    }


def _check_equal(key: str, before: bool | str, now: bool | str, name: str) -> None:
    if before != now:
        before, now = (str(one).lower() for one in (before, now))  # as in YAML
        raise ConfigError(
            f"encoder.{key}: expected {before} as in {name}, whose weights the run starts "
            f"from, got {now}; set it to {before}"
        )


def _take_encoder(encoder: HubEncoder, source: HubEncoder, before: Config, name: str) -> None:
    if _added(encoder) == _added(source):
        _assign(encoder.weights, source.weights)
    elif source.adapters is not None:
        raise ConfigError(
            f"adaptation: expected the adapters of {name}, which the run starts from, and "
            "which the other adaptations have no place for; take its section adaptation as it is "
            f"({before.adaptation.model_dump(exclude_none=True)})"
        )
    else:
        known, own = _without_added(source), _without_added(encoder)
        with merged(source.native):
            _assign([own[one] for one in known], list(known.values()))
    encoder.as_stored = False


def _without_added(encoder: HubEncoder) -> dict[str, keras.Variable]:
    """The weights by name, but for those that an adaptation added."""
    found = pretrained_weights(encoder)
    if encoder.classification_token:
        named = encoder.native.weights_by_name().items()
        found |= {name: weight for name, weight in named if name.startswith("embeddings/new/")}
    return found


def _added(encoder: HubEncoder) -> dict[str, Any]:
    """What an adaptation added to an encoder, as plain values."""
    config = keras.saving.serialize_keras_object(encoder)["config"]
    size = encoder.adapter_size if encoder.adapters is not None else None
    return {"adapters": config["adapters"], "lora": config["lora"], "size": size}


def _take_head(head: keras.layers.Layer, source: keras.layers.Layer, name: str) -> None:
    if _described(head) != _described(source):
        raise ConfigError(
            f"head: expected that of {name}, since both tasks have the same labels: "
            f"{_shown(source)}; got {_shown(head)}. Take head and adaptation of that run, or set "
            "start.head: false for a new head"
        )
    _assign(head.weights, source.weights)


def _described(head: keras.layers.Layer) -> tuple:
    """What must be equal for weights to mean the same: class, settings but `_FREE`, shapes."""
    settings = {k: v for k, v in head.get_config().items() if not k.endswith(_FREE)}
    return type(head).__name__, settings, [tuple(weight.shape) for weight in head.weights]


def _shown(head: keras.layers.Layer) -> str:
    return f"{type(head).__name__} with {head.count_params():,} weights"


def _assign(weights: Sequence[keras.Variable], values: Sequence[keras.Variable]) -> None:
    for weight, value in zip(weights, values, strict=True):
        weight.assign(value.numpy())
