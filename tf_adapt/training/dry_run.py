"""The plan of a run, without training: `tf-adapt train CONFIG --dry-run`."""

from typing import Any

from rich.table import Table

from hub_modules.native.weights import count_parameters
from tf_adapt.adaptation.unfreezing import group_names
from tf_adapt.config.checks import adaptation_of
from tf_adapt.config.default_training import LEFT_OUT
from tf_adapt.config.reading import start_config
from tf_adapt.config.sections import Config
from tf_adapt.data.batches import PreparedData, prepare
from tf_adapt.data.multi_task_batches import TaskOrder
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.multi_task_model import MultiTaskModel
from tf_adapt.runs.slices import checked_members, training_members
from tf_adapt.tasks.task import Task
from tf_adapt.training.cache_plan import cache_plan
from tf_adapt.training.plan import MOST_ROWS
from tf_adapt.training.resolving.build import head_of, order_of, plan_of
from tf_adapt.training.resolving.compiled_model import penalised, precision
from tf_adapt.training.resolving.configured_splits import splits_of, tasks_of
from tf_adapt.training.resolving.devices import make_strategy
from tf_adapt.training.resolving.input_hashes import UNLABELLED
from tf_adapt.training.resolving.warm_start import check_start_config, started_model, starting_run
from tf_adapt.training.resolving.weighed_labels import weigh_labels
from tf_adapt.training.results.forgetting import source_task_of
from tf_adapt.training.teachers.teacher import check_student, check_teacher
from tf_adapt.training.teachers.unlabelled import read_unlabelled, unlabelled_of, with_placeholders


def dry_run(config: Config, has_teacher: bool = True) -> dict[str, Any]:
    """The rows of a run's `Plan`, and the learning-rate factor of each group.

    With `patience`, phases may end earlier than planned. `never` has the groups that a later phase
    would train if the run had more epochs; `kept` is what `cache_plan` says; `first` is the same of
    the run that is trained first, with its `config`. Of several tasks also
    `tasks`: examples, batches of a pass, weight, and the probability of the task in the steps of
    each epoch; with more than `MOST_ROWS` epochs in the first and the last ones.

    Args:
        has_teacher: False for a teacher that is trained first, and cannot be checked yet.

    Raises:
        ConfigError, DataError, ArtifactError: as `train` before its first step.
    """
    settings = config.training
    names = config.tasks or {}
    splits = splits_of(config)
    task = tasks_of(splits)
    of_target = splits[config.target] if names else splits
    checked_members(config.slices, of_target, config.slice_heads)
    if config.slice_heads:
        training_members(config.slices, of_target)
    start, first = starting_run(config), None
    if config.start is not None and config.start.config is not None:
        first = start_config(config.start.config)
    strategy = make_strategy(settings.devices, settings.strategy)
    with precision(settings.mixed_precision), strategy.scope():
        model = started_model(config, task, start)
        if first is not None:
            check_start_config(model, config, first)
        penalised(config.penalties, model)
    adaptation = adaptation_of(config.adaptation)
    source_task_of(config.forgetting, config.encoder, adaptation, model.encoder)
    groups = group_names(model.encoder)
    if names:
        prepared = {n: _prepared(config, splits[n].examples, task[n], model) for n in names}
        order = order_of(config, {n: data["train"].lengths for n, data in prepared.items()})
        steps = (order.steps_of(0), order.steps_of(settings.epochs))
    else:
        examples = dict(splits.examples)
        if config.teacher is not None:
            check_teacher(config.teacher.run, model) if has_teacher else check_student(model)
            path = config.teacher.unlabelled
            unlabelled = read_unlabelled(path, UNLABELLED, config.data, task)
            examples["train"] = with_placeholders(examples["train"], unlabelled, task)
        data, order = _prepared(config, examples, task, model), None
        weigh_labels(config, model, data["train"])
        unlabelled_of(
            config.auxiliary.consistency, config.data, settings.limits, task, model.encoder
        )
        order_of_first = model.epoch_order(data["train"], settings.batch_size, settings.seed, 0)
        steps = (len(order_of_first),)
    plan = plan_of(config, groups, *steps)
    rows = plan.rows(model)
    reached = {name for row in rows for name in row["groups"]}
    return {
        "adaptation": adaptation.name,
        **({} if names else dict(zip(("head", "reads"), _head(config, model), strict=True))),
        "defaults": defaults_of(config),
        "parameters": count_parameters(model.weights),
        "steps_per_epoch": plan.steps_per_epoch,
        **({} if order is None else {"tasks": _tasks(config, order)}),
        "patience": adaptation.patience,
        "factors": {name: model.unscaled_optimizer.factors[name] for name in groups},
        "plan": rows,
        # Several tasks train the encoder: none of its outputs are cached.
        "kept": None
        if names
        else cache_plan(
            config.features, plan, model, data, in_several_processes=settings.strategy is not None
        ),
        "never": [name for name in adaptation.ever_trained(groups) if name not in reached],
        **({} if first is None else {"first": {"config": config.start.config} | dry_run(first)}),
    }


def defaults_of(config: Config) -> dict[str, float]:
    """The keys of `training` that the config leaves to `tf_adapt.config.default_training`."""
    given = config.training.model_fields_set
    return {key: getattr(config.training, key) for key in LEFT_OUT if key not in given}


def _head(config: Config, model: AdaptedModel) -> tuple[str | None, str | None]:
    return head_of(config, model, model.trainable_weights)


def _prepared(
    config: Config, examples: dict[str, list], task: Task, model: AdaptedModel | MultiTaskModel
) -> dict[str, PreparedData]:
    limits = config.training.limits
    return {
        split: prepare(records, task, model.encoder, *limits) for split, records in examples.items()
    }


def _tasks(config: Config, order: TaskOrder) -> dict[str, Any]:
    epochs = config.training.epochs
    half = MOST_ROWS // 2
    shown = [epoch for epoch in range(epochs) if min(epoch, epochs - 1 - epoch) < half]
    return {
        name: {
            "examples": len(order.lengths[name]),
            "batches": order.batches_of(name),
            "weight": task.weight,
            "is_target": name == config.target,
            "probabilities": {epoch + 1: order.probabilities(epoch)[name] for epoch in shown},
        }
        for name, task in config.tasks.items()
    }


def tasks_table(plan: dict[str, Any]) -> Table:
    """The tasks as a table for a terminal; their probabilities where these change."""
    table = Table(box=None, title_justify="left", pad_edge=False)
    table.add_column("task")
    for name in ("examples", "batches", "weight"):
        table.add_column(name, justify="right")
    table.add_column("probability by epoch")
    for name, task in plan["tasks"].items():
        drawn, before = [], None
        for epoch, probability in task["probabilities"].items():
            text = f"{probability:.3f}"
            if text != before:
                drawn.append(f"{epoch}:\u00a0{text}")
            before = text
        target = " (target)" if task["is_target"] else ""
        numbers = (f"{task['examples']:,}", f"{task['batches']:,}", f"{task['weight']:g}")
        table.add_row(name + target, *numbers, "  ".join(drawn))
    return table


def plan_table(plan: dict[str, Any]) -> Table:
    """The plan as a table for a terminal."""
    table = Table(box=None, title_justify="left", pad_edge=False)
    for name in ("epoch", "steps", "trains"):
        table.add_column(name)
    table.add_column("parameters", justify="right")
    table.add_column("mean learning rate")
    for row in plan["plan"]:
        first, last = row["steps"]
        # A no-break space keeps a name and its number on one line.
        rates = "  ".join(
            f"{name}\u00a0{rate:.1e}" for name, rate in reversed(row["rates"].items())
        )
        epochs = f"{row['epoch']}–{row['last_epoch']}" if "last_epoch" in row else row["epoch"]
        table.add_row(str(epochs), f"{first}–{last}", _names(row), f"{row['parameters']:,}", rates)
    return table


def _names(row: dict[str, Any]) -> str:
    return ", ".join(reversed(row["groups"]))
