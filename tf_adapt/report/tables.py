"""The tables of a report, once for Markdown and HTML."""

from tf_adapt import paper, words
from tf_adapt.paper import FROZEN, TUNED
from tf_adapt.report.blocks import Entry, Table, field_of
from tf_adapt.report.cells import Ranked, encoder_name, encoder_of, variant
from tf_adapt.statistics.pairs import AHEAD, BEHIND, relation
from tf_adapt.words import visible


def paper_table(content: dict) -> Table:
    """The table in the paper's form: encoders in rows, adaptations in columns."""
    cells = content["cells"]
    encoders = dict.fromkeys((encoder_of(cell), cell["pretrained"]) for cell in cells)
    present = dict.fromkeys(cell["adaptation"] for cell in cells)
    first = [name for name in (FROZEN, TUNED) if name in present]
    adaptations = first + [name for name in present if name not in first]
    rows = []
    for encoder in encoders:
        own = [cell for cell in cells if (encoder_of(cell), cell["pretrained"]) == encoder]
        toned = _tones(own, content)
        row = [field_of(encoder_name(own[0]))]
        for name in adaptations:
            fitting = [cell for cell in own if cell["adaptation"] == name]
            entries = [_score_entry(cell, toned, len(content["seeds"])) for cell in fitting]
            row.append(entries or field_of(words.NOTHING))
        rows.append(row)
    baseline = [Entry(words.score(content["baseline"]["score"]), baseline_text(content))]
    rows.append([field_of("baseline"), baseline, *[field_of("")] * (len(adaptations) - 1)])
    columns = ["encoder", *(_adaptation(name) for name in adaptations)]
    return Table(_paper_caption(content, cells), columns, rows)


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
    caption = "Every score × 100; mean, lowest and highest are of the seeds that trained"
    return Table(caption, columns, rows)


def _seed_entry(score: float | None, outcome: str | None) -> Entry:
    if outcome == "diverged":
        return Entry("diverged")
    note = "failed: no better than the baseline on dev" if outcome == "at_baseline" else ""
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


def _tones(cells: list[dict], content: dict) -> dict[str, tuple[str, float]]:
    """Which cell of an encoder is coloured: the better one of the best ❄ and the best 🔥, where
    their difference is decided; none where no cell is above the baseline."""
    if not (content["verdict"] or {}).get("above_baseline"):
        return {}
    best = {}
    for name in (FROZEN, TUNED):
        known = [c for c in cells if c["adaptation"] == name and c["trained"]]
        if not known:
            return {}
        best[name] = max(known, key=lambda cell: cell["mean"])
    frozen, tuned = best[FROZEN]["id"], best[TUNED]["id"]
    pair = next(p for p in content["pairs"] if {p["a"], p["b"]} == {frozen, tuned})
    if relation(pair, tuned) not in (AHEAD, BEHIND):
        return {}
    points = (best[TUNED]["mean"] - best[FROZEN]["mean"]) * 100
    tone = paper.colour(points)
    return {best[TUNED if points > 0 else FROZEN]["id"]: (tone, points)} if tone else {}


def _score_entry(cell: dict, toned: dict, seeds: int) -> Entry:
    notes = [variant(cell)]
    failed = sum(cell["failed"].values())
    if failed:
        notes.append(f"failed in {failed} of {words.counted(seeds, 'seed')}")
        if cell["trained"]:
            notes.append(f"{words.score(cell['mean_of_all'])} with them")
    tone, points = toned.get(cell["id"], (None, 0.0))
    if tone:
        notes.append(f"{tone}: 🔥 − ❄ {words.difference(points / 100)}")
    return Entry(words.mean_and_deviation(cell), "; ".join(notes), tone)


def baseline_text(content: dict) -> str:
    """What the baseline answers: `always 'yes'`."""
    answer = content["baseline"]["answer"]
    if isinstance(answer, float):
        return f"always {answer:.3g}, train's mean"
    if content["kind"] == "tagging":
        return "always O"
    return f"always {visible(repr(answer))}"


def _paper_caption(content: dict, cells: list[dict]) -> str:
    seeds = len(content["seeds"])
    spread = f"mean ± deviation over {seeds} seeds" if seeds > 1 else "one seed, so no deviation"
    if any(any(cell["failed"].values()) for cell in cells):
        spread += " (over those that trained, where seeds failed)"
    caption = (
        f"{words.metric_name(content['metric'])} × 100 on {visible(content['scored_on'])}, {spread}"
    )
    pairs = [(encoder_name(cell), cell["adaptation"]) for cell in cells]
    adaptations = {name for _, name in pairs}
    if not {FROZEN, TUNED} <= adaptations:
        return f"{caption}."
    of_several = ", of several heads the best," if len(set(pairs)) < len(pairs) else ""
    return (
        f"{caption}. Coloured as in the paper{of_several} and marked with a word where 🔥 − ❄ is "
        "at least +1.0 (tune) or at most −1.0 (freeze) and decided by the pairwise tests."
    )


def _adaptation(name: str) -> str:
    return f"{paper.SYMBOLS[name]} {name}" if name in paper.SYMBOLS else visible(name)


def _trainable(costs: dict) -> Entry:
    trainable, total = costs.get("trainable_parameters"), costs.get("total_parameters")
    share = f"{words.share(trainable, total)} of all" if trainable is not None and total else ""
    return Entry(words.parameters(trainable), share)
