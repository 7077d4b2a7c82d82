"""The section of a report on a search: its budget, what it gained, what mattered, every trial."""

from typing import Any

from tf_adapt.printing import words
from tf_adapt.printing.words import counted, visible
from tf_adapt.report.blocks import Entry, Folded, Items, Picture, Section, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content
from tf_adapt.report.search.trials import (
    DIVERGED,
    STOPPED,
    CellTrials,
    SearchedTrial,
    SearchResults,
)

FIGURE = "search"
SAMPLERS = {
    "tpe": "a tree-structured Parzen estimator",
    "random": "random draws",
    "grid": "all settings of a grid",
}
# Numbers of trials in the table of expected scores.
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_ENDS = {STOPPED: "ended early", DIVERGED: "diverged"}


def search_section(content: Content, order: list[Ranked]) -> list[Section]:
    """The section; none without a search."""
    search = content.search
    if search is None:
        return []
    shown = [(entry, search.cells[entry.cell.id]) for entry in order]
    blocks: list[Any] = [Items(_how(search, content, shown))]
    if any(cell.expected_best for _, cell in shown):
        blocks.append(
            Picture(
                FIGURE,
                f"The expected best score on {visible(content.chosen_on)} of so many trials (Dodge "
                "et al. 2019), as if the trials were independent; a line that still rises says "
                "that more trials would gain. What was chosen is as much too good on this split.",
                "Expected best score against trials: " + "; ".join(entry.name for entry in order),
            )
        )
        blocks.append(_expected(shown, content))
    blocks += _importance(shown)
    blocks.append(_chosen(shown, content))
    blocks.append(Folded("Every trial", [_trials(entry, cell) for entry, cell in shown]))
    return [Section("The search", blocks)]


def _how(search: SearchResults, content: Content, shown: list) -> list[str]:
    each = "in each fold of the first repeat of each cell" if content.folds else "in each cell"
    minutes = "" if search.minutes is None else f", at most {search.minutes:g} minutes a cell"
    early = {
        "none": "none was ended early",
        "median": "one below the median of the others after an epoch was ended early",
        "hyperband": "Hyperband ended those early that fell behind after an epoch",
    }[search.pruner]
    spent = "; ".join(
        f"{entry.name}: {counted(len(cell.trials), 'trial')}, {words.amount(cell.seconds)} seconds"
        for entry, cell in shown
    )
    return [
        f"Settings were drawn by {SAMPLERS[search.sampler]}: {counted(search.trials, 'trial')} "
        f"{each}{minutes}; {early}.",
        f"A trial is scored on {visible(content.chosen_on)} alone, with a seed that no scored run "
        f"has; the setting of the best was run with {content.runs}.",
        f"What the search spent: {spent}.",
    ]


def _expected(shown: list[tuple[Ranked, CellTrials]], content: Content) -> Table:
    most = max(len(cell.expected_best) for _, cell in shown)
    counts = sorted({count for count in _COUNTS if count < most} | {most})
    rows = []
    for entry, cell in shown:
        known = cell.expected_best
        scores = [words.score(known[n - 1]) if n <= len(known) else "" for n in counts]
        rows.append([field_of(entry.name), *map(field_of, scores)])
    caption = f"Expected best score × 100 on {visible(content.chosen_on)} by the number of trials"
    return Table(caption, ["cell", *(counted(count, "trial") for count in counts)], rows)


def _importance(shown: list[tuple[Ranked, CellTrials]]) -> list[Table]:
    keys = dict.fromkeys(key for _, cell in shown for key in cell.importance)
    if not keys:
        return []
    rows = []
    for entry, cell in shown:
        shares = [cell.importance.get(key) for key in keys]
        texts = ["" if share is None else words.share(share, 1.0) for share in shares]
        rows.append([field_of(entry.name), *map(field_of, texts)])
    caption = "How much each key mattered for the score of the trials (PED-ANOVA)"
    return [Table(caption, ["cell", *map(visible, keys)], rows)]


def _chosen(shown: list[tuple[Ranked, CellTrials]], content: Content) -> Table:
    rows = []
    for entry, cell in shown:
        chosen = [trial for trial in cell.trials if trial.chosen]
        settings = [Entry(_values(trial), _note(trial, content.folds)) for trial in chosen]
        rows.append([field_of(entry.name), settings or field_of("none")])
    return Table("The chosen settings", ["cell", "setting"], rows, left=(1,))


def _note(trial: SearchedTrial, folds: int | None) -> str:
    fold = f"fold {trial.fold}, " if folds else ""
    return f"{fold}trial {trial.number}: {words.score(trial.score)}"


def _trials(entry: Ranked, cell: CellTrials) -> Table:
    rows = []
    for trial in cell.trials:
        name = str(trial.number) if trial.fold is None else f"fold {trial.fold}, {trial.number}"
        ended = _ENDS.get(trial.ended, "")
        score = [Entry(words.score(trial.score), ended, strong=trial.chosen)]
        epochs = "" if trial.epochs is None else str(trial.epochs)
        seconds = words.amount(trial.seconds)
        rows.append(
            [field_of(name), score, field_of(epochs), field_of(seconds), field_of(_values(trial))]
        )
    columns = ["trial", "score × 100", "epochs", "seconds", "setting"]
    return Table(entry.name, columns, rows, left=(4,))


def _values(trial: SearchedTrial) -> str:
    return ", ".join(f"{visible(key)} {_value(value)}" for key, value in trial.values.items())


def _value(value: Any) -> str:
    if value is None:
        return "null"
    return f"{value:g}" if isinstance(value, float) else visible(value)
