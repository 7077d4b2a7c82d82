"""The tables with a row for each cell, for both Markdown and HTML."""

from typing import Any

from tf_adapt.printing import words
from tf_adapt.printing.words import visible
from tf_adapt.report.blocks import Entry, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Teacher
from tf_adapt.report.scored_cells import DIVERGED, ONE_ANSWER, Costs, Trial
from tf_adapt.runs.run_schemas import BYTES_PER_WEIGHT


def seeds_table(order: list[Ranked], seeds: list[int], name: str = "seed") -> Table:
    """Every score: one column for each seed, with folds each repeat (`name`)."""
    columns = ["cell", "mean ± deviation", "lowest", "highest"]
    columns += [f"{name} {visible(seed)}" for seed in seeds]
    rows = []
    for entry in order:
        results = entry.cell.results
        summary = [results.shown, words.score(results.min), words.score(results.max)]
        ended = zip(results.scores, results.outcomes, strict=True)
        rows.append([*_row(entry.name, *summary), *([_seed_entry(*end)] for end in ended)])
    caption = (
        "Every score × 100; mean, lowest and highest are of those that trained "
        "(where none did, of all)"
    )
    if any(entry.cell.results.failed.one_answer for entry in order):
        caption += ". Failed: one answer to everything"
    return Table(caption, columns, rows)


def _seed_entry(score: float | None, outcome: str | None) -> Entry:
    if outcome == DIVERGED:
        return Entry("diverged")
    note = "failed" if outcome == ONE_ANSWER else ""
    return Entry(words.score(score), note)


def cost_table(order: list[Ranked], name: str = "seed") -> Table:
    """The costs of each cell, with its score; `name` as in `seeds_table`."""
    columns = [
        "cell",
        "score × 100",
        "trainable parameters",
        "training seconds",
        "peak memory, MB",
        "seconds per 1,000 served",
        "MB on disk per task",
    ]
    rows = []
    for entry in order:
        costs = entry.cell.costs
        measured = (costs.peak_memory_mb, costs.serving_seconds_per_1000, costs.task_megabytes)
        rows.append([
            field_of(entry.name),
            field_of(entry.cell.results.shown),
            [_trainable(costs)],
            field_of(words.amount(costs.training_seconds), note=_choosing(costs)),
            *(field_of(words.amount(value)) for value in measured),
        ])  # fmt: skip
    title = (
        f"Costs of a training, means over {name}s (of memory the least; a process's first run "
        "traces steps too)"
    )
    return Table(title, columns, rows)


def teacher_table(teacher: Teacher, order: list[Ranked]) -> Table:
    """The teacher, and its students below it."""
    columns = ["model", "score × 100", "parameters", "MB", "seconds per 1,000 served"]
    rows = [
        _row(
            f"teacher: {visible(teacher.run)}",
            words.score(teacher.score),
            words.parameters(teacher.parameters),
            words.amount(teacher.megabytes),
            words.amount(teacher.serving_seconds_per_1000),
        )
    ]
    for entry in order:
        costs = entry.cell.costs
        total = costs.total_parameters
        rows.append(
            _row(
                entry.name,
                entry.cell.results.shown,
                words.parameters(total),
                words.amount(None if total is None else total * BYTES_PER_WEIGHT / 1e6),
                words.amount(costs.serving_seconds_per_1000),
            )
        )
    further = words.counted(teacher.unlabelled, "text")
    caption = (
        f"Teacher and students: temperature {teacher.temperature:g}, weight of the teacher's "
        f"answers {teacher.weight:g}, {further} without labels; MB of weights in float32"
    )
    return Table(caption, columns, rows)


def sources_table(sources: dict[str, dict[str, Any]]) -> Table:
    """The sources of the training labels: how much each says, and how often it seems right."""
    rows = [
        _row(visible(name), f"{source['votes']:,}", words.score(source["accuracy"]))
        for name, source in sources.items()
    ]
    caption = "Sources of the training labels; accuracies × 100 are estimated from the votes alone"
    return Table(caption, ["source", "votes", "estimated accuracy × 100"], rows)


def tried_table(order: list[Ranked], chosen_on: str, folds: int | None = None) -> Table:
    """The learning rates tried in each cell, and their scores."""
    most = max((len(entry.cell.tried) for entry in order), default=0)
    if not most:
        rates = [_row(entry.name, words.rate(entry.cell.learning_rate)) for entry in order]
        return Table("Learning rates; none was chosen", ["cell", "rate"], rates)
    columns = ["cell", "chosen rate", *(f"trial {number}" for number in range(1, most + 1))]
    rows = []
    for entry in order:
        chosen = entry.cell.learning_rate
        trials = [_trial(trial, chosen) for trial in entry.cell.tried]
        trials += [field_of("")] * (most - len(trials))
        rows.append([field_of(entry.name), field_of(words.rate(chosen)), *trials])
    where = (
        "means over the folds of the first repeat" if folds else "with a seed that is not scored"
    )
    caption = f"Learning rates tried, and their scores × 100 on {visible(chosen_on)}, {where}"
    return Table(caption, columns, rows)


def weights_table(order: list[Ranked]) -> Table:
    """The learned layer weights of each cell that has some, bottom to top."""
    mixed = [entry for entry in order if entry.cell.layer_weights]
    most = max(len(entry.cell.layer_weights) for entry in mixed)
    rows = [
        _row(entry.name, *(f"{weight:.3f}" for weight in entry.cell.layer_weights),
             *[""] * (most - len(entry.cell.layer_weights)))
        for entry in mixed
    ]  # fmt: skip
    columns = ["cell", *(f"layer {number}" for number in range(most))]
    return Table("Learned weights of the layers; layer 0 is the lowest", columns, rows)


def confusion_table(entry: Ranked, labels: list[str] | None, seeds: str) -> Table:
    """The confusion matrix of a cell, with shares of each row."""
    matrix = entry.cell.confusion
    names = [visible(label) for label in labels or range(len(matrix))]
    rows = []
    for name, counts in zip(names, matrix, strict=True):
        total = sum(counts)
        row = [
            [Entry(f"{count:,}", words.share(count, total), share=count / total if total else 0.0)]
            for count in counts
        ]
        rows.append([field_of(name), *row])
    caption = f"{entry.name}: examples counted over {seeds}, and their share of the row"
    return Table(caption, ["true label", *(f"predicted {name}" for name in names)], rows)


def named_values(caption: str, columns: tuple[str, str], values: dict) -> Table:
    """Two columns: a name and its value."""
    rows = [_row(visible(name), visible(value)) for name, value in values.items()]
    return Table(caption, list(columns), rows, left=(1,))


def _row(*texts: str) -> list[list[Entry]]:
    return [field_of(text) for text in texts]


def _trial(trial: Trial, chosen: float | None) -> list[Entry]:
    is_chosen = chosen is not None and trial.learning_rate == chosen
    result = "diverged" if trial.score is None else words.score(trial.score)
    note = f"at {words.rate(trial.learning_rate)}" + (", chosen" if is_chosen else "")
    return [Entry(result, note, strong=is_chosen)]


def _choosing(costs: Costs) -> str:
    seconds = costs.choosing_seconds
    return "" if seconds is None else f"+ {words.amount(seconds)} to choose"


def _trainable(costs: Costs) -> Entry:
    trainable, total = costs.trainable_parameters, costs.total_parameters
    share = f"{words.share(trainable, total)} of all" if trainable is not None and total else ""
    return Entry(words.parameters(trainable), share)
