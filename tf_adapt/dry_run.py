"""What a run would train when and how fast, without training: `tf-adapt train CONFIG --dry-run`."""

from typing import Any

from rich.table import Table

from hub_modules.weights import count_parameters
from tf_adapt.compiling import compiled_model, penalised, precision
from tf_adapt.config import adaptation_of
from tf_adapt.config_sections import Config
from tf_adapt.data.batches import epoch_order, prepare
from tf_adapt.data.splits import load_splits
from tf_adapt.devices import make_strategy
from tf_adapt.planning import plan
from tf_adapt.tasks import Task
from tf_adapt.unfreezing import groups_of


def dry_run(config: Config) -> dict[str, Any]:
    """The plan of a run: see `tf_adapt.planning.plan`; and the factor of each group's rate.

    With a `patience`, phases may end earlier than planned. `never` names the groups that an
    adaptation with phases would let learn, had the run more epochs.

    Raises:
        ConfigError, DataError, ArtifactError: as `train` before its first step.
    """
    settings = config.training
    splits = load_splits(config.data)
    task = Task.of(splits)
    strategy = make_strategy(settings.devices, settings.strategy)
    with precision(settings.mixed_precision), strategy.scope():
        model = compiled_model(config, task)
        penalised(config, model)
    prepared = prepare(splits.examples["train"], task, model.encoder, *settings.limits)
    order = epoch_order(prepared.lengths, settings.batch_size, settings.seed, 0)
    adaptation, groups = adaptation_of(config.adaptation), groups_of(model.encoder)
    rows = plan(config, adaptation, model, steps_per_epoch=len(order))
    reached = {name for row in rows for name in row["groups"]}
    return {
        "adaptation": adaptation.name,
        "parameters": count_parameters(model.weights),
        "steps_per_epoch": len(order),
        "patience": adaptation.patience,
        "factors": {name: model.unscaled_optimizer.factors[name] for name in groups},
        "plan": rows,
        "never": [name for name in adaptation.ever_trained(groups) if name not in reached],
    }


def plan_table(found: dict[str, Any]) -> Table:
    """The plan as a table for a terminal."""
    table = Table(box=None, title_justify="left", pad_edge=False)
    for name in ("epoch", "steps", "trains"):
        table.add_column(name)
    table.add_column("parameters", justify="right")
    table.add_column("mean learning rate")
    for row in found["plan"]:
        first, last = row["steps"]
        # A no-break space keeps a name with its number where the line is too long.
        rates = "  ".join(
            f"{name}\u00a0{rate:.1e}" for name, rate in reversed(row["rates"].items())
        )
        table.add_row(
            str(row["epoch"]), f"{first}–{last}", _names(row), f"{row['parameters']:,}", rates
        )
    return table


def _names(row: dict[str, Any]) -> str:
    return ", ".join(reversed(row["groups"]))
