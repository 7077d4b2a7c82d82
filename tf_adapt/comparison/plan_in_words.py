"""The plan of a comparison, from `plan.dry_run`, as a table and lines. Imports no TensorFlow."""

from typing import Any

from rich.table import Table

from hub_modules.storage.strict_yaml import float_text
from tf_adapt.comparison.budget.planned import budget_lines
from tf_adapt.comparison.plan.design_power import power_lines
from tf_adapt.comparison.plan.expected_costs import ExpectedCosts, costs_lines
from tf_adapt.comparison.search.section import NO_PRUNER
from tf_adapt.printing.words import counted
from tf_adapt.runs import run_schemas
from tf_adapt.statistics.power import Design

_MAY_EXTEND = (
    "  then, once, with twice the epochs or one more learning rate, those of adaptations of which "
    "a cell is not trained to the end (compare.extend; it may triple the training)"
)


def lines(plan: dict[str, Any]) -> list[str]:
    """The lines below the table of cells."""
    of_splits = {
        name: f"{counted(plan['examples'][name], 'example')}: {description}"
        for name, description in plan["splits"].items()
    }
    return [
        f"trains on {of_splits['train']}",
        f"chooses epochs and learning rates on {of_splits[plan['chosen_on']]}",
        f"scores {of_splits[plan['scored_on']]}",
        *_power(plan),
        *_slices(plan),
        *_parts(plan),
        *(f"{key}: {value:g}, by default" for key, value in plan["defaults"].items()),
        *_searched(plan),
        *_reads(plan),
        *_not_kept(plan),
        *(f"trains first, once: {path}" for path in plan.get("first", ())),
        *_within_minutes(plan),
        f"runs: {plan['runs']} = {_firsts(plan)}{counted(len(plan['cells']), 'cell')} × "
        f"{_sizes(plan)}{_runs_of_a_cell(plan)}",
        *([_MAY_EXTEND] if plan["extend"] else []),
        f"{counted(plan['threads'], 'thread')} a run; {counted(plan['jobs'], 'process')} at a "
        "time, on this machine as it is now",
        *costs_lines(ExpectedCosts(**plan["costs"]), plan["jobs"]),
        f"keeps about {_disk(plan) / 1e9:.1f} GB on disk: two checkpoints and the best weights of "
        "each run",
    ]


def _within_minutes(plan: dict[str, Any]) -> list[str]:
    """What a budget allows; what follows is then what all of it would take."""
    if "budget" not in plan:
        return []
    return [*budget_lines(plan["budget"], plan["folds"]), "without --minutes:"]


def _disk(plan: dict[str, Any]) -> float:
    """Bytes of the runs' checkpoints, each with Adam's two slots for each trained weight."""
    counts = [cell["parameters"] for cell in plan["cells"]]
    weights = [3 * count["total"] + 2 * 2 * count["trainable"] for count in counts]
    return plan["runs"] * run_schemas.BYTES_PER_WEIGHT * sum(weights) / len(weights)


def _power(plan: dict[str, Any]) -> list[str]:
    budget = plan.get("budget", {})
    repeats = budget.get("seeds", len(plan["seeds"]))
    design = Design(repeats * max(1, plan["folds"]), repeats, plan["items"])
    return power_lines(design, budget.get("finalists", len(plan["cells"])))


def _slices(plan: dict[str, Any]) -> list[str]:
    of_slices = ", ".join(f"{name} {count:,}" for name, count in plan["slices"].items())
    return [f"examples of {plan['scored_on']} in slices: {of_slices}"] if of_slices else []


def _parts(plan: dict[str, Any]) -> list[str]:
    """A line on the numbers of training examples, unless all of train is used."""
    numbers, available = plan["train_examples"], plan["examples"]["train"]
    if numbers == [available]:
        return []
    listed = ", ".join(f"{number:,}" for number in numbers)
    return [f"with parts of train, drawn anew with each seed: {listed} of {available:,} examples"]


def _searched(plan: dict[str, Any]) -> list[str]:
    """How settings are searched, and in which cells what."""
    search = plan["search"]
    if search is None:
        return []
    minutes = "" if search["minutes"] is None else f", at most {search['minutes']:g} minutes"
    pruner = "" if search["pruner"] == NO_PRUNER else f", ended early by {search['pruner']}"
    of_spaces: dict[str, list[str]] = {}
    for cell in plan["cells"]:
        of_spaces.setdefault(cell["space"], []).append(cell["cell"])
    return [
        f"searches by {search['sampler']}: {search['trials']} trials in each cell{minutes}{pruner}",
        *(f"{', '.join(names)}: {space}" for space, names in of_spaces.items()),
    ]


def _reads(plan: dict[str, Any]) -> list[str]:
    """A line on each thing that heads read."""
    cells: dict[str, list[str]] = {}
    for cell in plan["cells"]:
        if cell["reads"] is not None:  # the kind of task has heads to choose
            cells.setdefault(cell["reads"], []).append(cell["cell"])
    return [f"{', '.join(names)}: the head reads {reads}" for reads, names in cells.items()]


def _not_kept(plan: dict[str, Any]) -> list[str]:
    """A line for each cell of which a frozen encoder's outputs are over the budgets."""
    return [
        f"{cell['cell']}, {split}: {split_plan['reason']}"
        for cell in plan["cells"]
        for split, split_plan in (cell["kept"] or {"splits": {}})["splits"].items()
        if not split_plan["home"]
    ]


def _firsts(plan: dict[str, Any]) -> str:
    first = f"{len(plan['first'])} that others start from + " if "first" in plan else ""
    return first + (f"{plan['members']} members of ensembles + " if "members" in plan else "")


def _sizes(plan: dict[str, Any]) -> str:
    numbers = len(plan["train_examples"])
    return f"{numbers} numbers of training examples × " if numbers > 1 else ""


def _runs_of_a_cell(plan: dict[str, Any]) -> str:
    seeds = counted(len(plan["seeds"]), "seed")
    tried = "learning rates" if plan["search"] is None else "settings"
    if plan["folds"]:
        repeats = f"{counted(len(plan['seeds']), 'repeat')} of {plan['folds']} folds"
        rates = f", {plan['trials']} {tried} in the first" if plan["trials"] > 1 else ""
        return f"({repeats}{rates}) + the best cell on all examples"
    if plan["trials"] == 1:
        return seeds
    return f"({plan['trials']} {tried} to choose from + {seeds} with the chosen one)"


def cells_table(plan: dict[str, Any]) -> Table:
    """The cells as a table for a terminal."""
    table = Table(box=None, title_justify="left", pad_edge=False)
    for name in ("cell", "head", "trains"):
        table.add_column(name)
    table.add_column("parameters", justify="right")
    table.add_column("learning rates")
    table.add_column("epochs", justify="right")
    for cell in plan["cells"]:
        table.add_row(
            cell["cell"],
            cell["head"],
            "everything" if cell["trains_everything"] else ", ".join(reversed(cell["trains"])),
            f"{cell['parameters']['trainable']:,}",
            ", ".join(map(float_text, cell["learning_rates"])) or "searched",
            str(cell["epochs"]),
        )
    return table
