"""A run that begins from another run's best weights: config → run → weights of a new model.

Source: Phang, Févry, Bowman 2018, "Sentence Encoders on STILTs: Supplementary Training on
Intermediate Labeled-data Tasks".
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from hub_modules.native.added.lora import merged
from hub_modules.native.added.settings import Lora, TaskAttention
from tf_adapt.config.sections import Config
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.multi_task_model import MultiTaskModel
from tf_adapt.runs.finished_run import FinishedRun, finished_run, kept_run, module_in_words
from tf_adapt.runs.run_folder import START
from tf_adapt.tasks.task import Task
from tf_adapt.training.finished.load_run import model_of
from tf_adapt.training.resolving.compiled_model import compiled_model, configured_model
from tf_adapt.training.resolving.configured_splits import splits_of, tasks_of
from tf_adapt.training.resolving.run_config import saved_config

# Settings of a head that may differ: a language model's output is that of its module, the range of
# scores is where the weights begin.
_FREE = ("dropout", "name", "dtype", "trainable", "seed", "output", "score_range")


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


def start_from(model: AdaptedModel | MultiTaskModel, config: Config, run: FinishedRun) -> None:
    """Sets the encoder's weights, and the heads' where the tasks agree, to a run's best.

    Adapters and LoRA that both encoders have alike are carried over; LoRA that the new encoder has
    not, or has otherwise, is added to the kernels. The optimizer starts anew.

    Raises:
        ConfigError: the run has another module, execution or classification token, adapters that
            this encoder has no place for, or, with equal tasks, another head.
        ArtifactError: the run is damaged.
    """
    before = saved_config(run.folder)
    _check_module(model.encoder, config, run.module, before, str(run.folder))
    source = model_of(run.folder, before, _tasks_of(run), run.metrics, config.encoder)
    _carry(model, config, source, before, str(run.folder))


def check_start_config(model: AdaptedModel | MultiTaskModel, config: Config, start: Config) -> None:
    """Checks that a run can begin from another that is not trained yet; changes the model's values.

    Args:
        start: the config of the other run.

    Raises:
        ConfigError, ArtifactError: as `start_from`.
        DataError: the data of the other run are wrong.
    """
    source = configured_model(start, tasks_of(splits_of(start)))
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
    model: AdaptedModel | MultiTaskModel,
    config: Config,
    source: AdaptedModel | MultiTaskModel,
    before: Config,
    name: str,
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
    models, theirs = _models(model), _models(source)
    tasks, known = _by_name(models), _by_name(theirs)
    for task, other in _carried_heads(config, tasks, known, before.target).items():
        key = "head" if task is None else f"tasks.{task}.head"
        described = name if other is None else f"task {other} of {name}"
        _take_head(models[task].head, theirs[other].head, key, described)


def _carried_heads(
    config: Config,
    tasks: dict[str | None, Task],
    known: dict[str | None, Task],
    target: str | None,
) -> dict[str | None, str | None]:
    """Each task whose head is warm-started too, with the run's task that it comes from: one of
    the same kind and labels; of several that of the same name, else the target."""
    if not config.start.head:
        return {}
    heads = {}
    for name, task in tasks.items():
        for other in dict.fromkeys([name, target, *known]):
            if other in known and _alike(known[other], task):
                heads[name] = other
                break
    return heads


def _alike(task: Task, other: Task) -> bool:
    return (task.kind, task.labels) == (other.kind, other.labels)


def _models(model: AdaptedModel | MultiTaskModel) -> dict[str | None, AdaptedModel]:
    return model.models if isinstance(model, MultiTaskModel) else {None: model}


def _by_name(models: dict[str | None, AdaptedModel]) -> dict[str | None, Task]:
    return {name: model.task for name, model in models.items()}


def _tasks_of(run: FinishedRun) -> Task | dict[str, Task]:
    return {name: Task(**task) for name, task in run.tasks.items()} or Task(**run.task)


def started_model(
    config: Config, task: Task | dict[str, Task], run: FinishedRun | None
) -> AdaptedModel | MultiTaskModel:
    """The compiled model of a config, with the weights that it starts from.

    Args:
        task: of several tasks a dict by name.
        run: of `starting_run`; None: the module's weights and a new head.

    Raises:
        ConfigError, ArtifactError: as `compiled_model` and `start_from`.
    """
    model = compiled_model(config, task)
    if run is not None:
        start_from(model, config, run)
    return model


def in_metrics(
    config: Config, model: AdaptedModel | MultiTaskModel, run: FinishedRun
) -> dict[str, Any]:
    """The run that another starts from, as `metrics.json` shows it; `start` is its own start."""
    metrics = run.metrics
    split = "test" if metrics.get("test") else "dev"
    earlier = {START: metrics[START]} if metrics.get(START) else {}
    before = _tasks_of(run)
    known = before if isinstance(before, dict) else {None: before}
    heads = _carried_heads(config, _by_name(_models(model)), known, metrics.get("target"))
    return {
        "run": config.start.place,
        "dataset": metrics["dataset"],
        "adaptation": metrics["adaptation"],
        "metric": metrics["metric"],
        "split": split,
        "score": metrics[split][metrics["metric"]],
        "head": list(heads) if isinstance(model, MultiTaskModel) else bool(heads),
        "weights": run.weights,
        **earlier,
    }


def _check_equal(key: str, before: bool | str, now: bool | str, name: str) -> None:
    if before != now:
        before, now = (str(value).lower() for value in (before, now))  # as in YAML
        raise ConfigError(
            f"encoder.{key}: expected {before} as in {name}, whose weights the run starts "
            f"from, got {now}; set it to {before}"
        )


def _take_encoder(encoder: HubEncoder, source: HubEncoder, before: Config, name: str) -> None:
    added = source.added_weights
    if encoder.added_weights == added:
        _assign(encoder.weights, source.weights)
    elif isinstance(added, TaskAttention):
        raise ConfigError(
            f"task_attention: expected that of {name}, which the run starts from, with the tasks "
            f"{', '.join(added.tasks)}: their attention has no place in another encoder; "
            "start from a run of several tasks without task_attention"
        )
    elif not isinstance(added, Lora | None):
        raise ConfigError(
            f"adaptation: expected the adapters of {name}, which the run starts from, and "
            "which the other adaptations have no place for; take its section adaptation as it is "
            f"({before.adaptation.model_dump(exclude_none=True)})"
        )
    else:
        known, present = _without_added(source), _without_added(encoder)
        with merged(source.native):
            _assign([present[weight] for weight in known], list(known.values()))
    encoder.as_stored = False


def _without_added(encoder: HubEncoder) -> dict[str, keras.Variable]:
    """The weights by name, but for those that an adaptation added."""
    weights = pretrained_weights(encoder)
    if encoder.classification_token:
        named = encoder.native.weights_by_name().items()
        weights |= {name: weight for name, weight in named if name.startswith("embeddings/new/")}
    return weights


def _take_head(head: keras.layers.Layer, source: keras.layers.Layer, key: str, name: str) -> None:
    if _described(head) != _described(source):
        raise ConfigError(
            f"{key}: expected that of {name}, since both tasks have the same labels: "
            f"{_shown(source)}; got {_shown(head)}. {_advice(head, source)}, or set start.head: "
            "false"
        )
    _assign(head.weights, source.weights)


def _advice(head: keras.layers.Layer, source: keras.layers.Layer) -> str:
    """How a head gets to be like that of the run."""
    if getattr(source, "scaled", False) and not getattr(head, "scaled", False):
        return "Take head and adaptation of that run, train that run with head_scaled: false"
    # Without pooling there is no mix to set.
    names = ("pooling", "mixed", "scaled")
    names = names[::2] if getattr(source, "pooling", "") is None else names
    theirs, ours = source.get_config(), head.get_config()
    other = [name for name in names if theirs.get(name) != ours.get(name)]
    if type(head) is not type(source) or not other:
        return "Take head and adaptation of that run"
    values = {None: "null", True: "true", False: "false"}
    return "Set " + ", ".join(
        f"head_{name}: {values.get(theirs[name], theirs[name])}" for name in other
    )


def _described(head: keras.layers.Layer) -> tuple:
    """What must be equal for weights to mean the same: class, settings but `_FREE`, shapes."""
    settings = {k: v for k, v in head.get_config().items() if not k.endswith(_FREE)}
    return type(head).__name__, settings, [tuple(weight.shape) for weight in head.weights]


def _shown(head: keras.layers.Layer) -> str:
    return f"{type(head).__name__} with {head.count_params():,} weights"


def _assign(weights: Sequence[keras.Variable], values: Sequence[keras.Variable]) -> None:
    for weight, value in zip(weights, values, strict=True):
        weight.assign(value.numpy())
