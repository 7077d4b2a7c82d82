"""The tables with a row for each cell, once for Markdown and HTML."""

from tf_adapt import words
from tf_adapt.report.blocks import Entry, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.words import visible


def seeds_table(order: list[Ranked], seeds: list) -> Table:
    """Every score: one column a seed."""
    columns = ["cell", "mean ± deviation", "lowest", "highest"]
    columns += [f"seed {visible(seed)}" for seed in seeds]
    rows = []
    for one in order:
        cell = one.cell
        summary = [
            words.mean_and_deviation(cell), words.score(cell["min"]), words.score(cell["max"])
        ]  # fmt: skip
        ended = zip(cell["scores"], cell["outcomes"], strict=True)
        rows.append([*_row(one.name, *summary), *([_seed_entry(*end)] for end in ended)])
    caption = (
        "Every score × 100; mean, lowest and highest are of the seeds that trained "
        "(where none did, of all)"
    )
    if any(one.cell["failed"]["at_baseline"] for one in order):
        caption += ". Failed: no better than the baseline on the split that chooses"
    return Table(caption, columns, rows)


def _seed_entry(score: float | None, outcome: str | None) -> Entry:
    if outcome == "diverged":
        return Entry("diverged")
    note = "failed" if outcome == "at_baseline" else ""
    return Entry(words.score(score), note)


def cost_table(order: list[Ranked]) -> Table:
    """What each cell costs, beside its score."""
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
    for one in order:
        costs = one.cell["costs"] or {}
        measured = ("training_seconds", "peak_memory_mb", "serving_seconds_per_1000")
        rows.append([
            field_of(one.name),
            field_of(words.mean_and_deviation(one.cell)),
            [_trainable(costs)],
            *(field_of(words.amount(costs.get(name))) for name in measured),
            field_of(words.amount(costs.get("task_megabytes"))),
        ])  # fmt: skip
    title = "Costs, means over seeds (of memory the least; a process's first run traces steps too)"
    return Table(title, columns, rows)


def tried_table(order: list[Ranked], chosen_on: str) -> Table:
    """Which learning rates were tried in each cell, and what they scored."""
    most = max((len(one.cell["tried"] or []) for one in order), default=0)
    if not most:
        rates = [_row(one.name, words.rate(one.cell["learning_rate"])) for one in order]
        return Table("Learning rates; none was chosen", ["cell", "rate"], rates)
    columns = ["cell", "chosen rate", *(f"trial {number}" for number in range(1, most + 1))]
    rows = []
    for one in order:
        chosen = one.cell["learning_rate"]
        trials = [_trial(trial, chosen) for trial in one.cell["tried"] or []]
        trials += [field_of("")] * (most - len(trials))
        rows.append([field_of(one.name), field_of(words.rate(chosen)), *trials])
    caption = (
        f"Learning rates tried, and their scores × 100 on {visible(chosen_on)}, with a seed that "
        "is not scored"
    )
    return Table(caption, columns, rows)


def weights_table(order: list[Ranked]) -> Table:
    """The learned mix of each cell that has one, bottom to top."""
    mixed = [one for one in order if one.cell["layer_weights"]]
    most = max(len(one.cell["layer_weights"]) for one in mixed)
    rows = [
        _row(one.name, *(f"{weight:.3f}" for weight in one.cell["layer_weights"]),
             *[""] * (most - len(one.cell["layer_weights"])))
        for one in mixed
    ]  # fmt: skip
    columns = ["cell", *(f"layer {number}" for number in range(most))]
    return Table("Learned weights of the layers; layer 0 is the lowest", columns, rows)


def confusion_table(one: Ranked, labels: list[str] | None, seeds: int) -> Table:
    """How often each label was taken for each."""
    matrix = one.cell["confusion"]
    names = [visible(label) for label in labels or range(len(matrix))]
    rows = []
    for name, counts in zip(names, matrix, strict=True):
        total = sum(counts)
        row = [
            [Entry(f"{count:,}", words.share(count, total), share=count / total if total else 0.0)]
            for count in counts
        ]
        rows.append([field_of(name), *row])
    caption = (
        f"{one.name}: examples counted over {words.counted(seeds, 'seed')}, and their share of "
        "the row"
    )
    return Table(caption, ["true label", *(f"predicted {name}" for name in names)], rows)


def named_values(caption: str, columns: tuple[str, str], values: dict) -> Table:
    """Two columns: a name and its value."""
    rows = [_row(visible(name), visible(value)) for name, value in values.items()]
    return Table(caption, list(columns), rows, left=(1,))


def _row(*texts: str) -> list[list[Entry]]:
    return [field_of(text) for text in texts]


def _trial(trial: dict, chosen: float | None) -> list[Entry]:
    is_chosen = chosen is not None and trial["learning_rate"] == chosen
    result = "diverged" if trial["score"] is None else words.score(trial["score"])
    note = f"at {words.rate(trial['learning_rate'])}" + (", chosen" if is_chosen else "")
    return [Entry(result, note, strong=is_chosen)]


def _trainable(costs: dict) -> Entry:
    trainable, total = costs.get("trainable_parameters"), costs.get("total_parameters")
    share = f"{words.share(trainable, total)} of all" if trainable is not None and total else ""
    return Entry(words.parameters(trainable), share)
