"""The table in the paper's form: encoders in rows, adaptations in columns."""

from tf_adapt import paper, words
from tf_adapt.paper import FROZEN, TUNED
from tf_adapt.report.blocks import Entry, Table, field_of
from tf_adapt.report.cells import encoder_name, encoder_of, variant
from tf_adapt.statistics.relation import AHEAD, BEHIND, OPEN, relation
from tf_adapt.words import shortened, visible

LONGEST_LABEL = 40


def paper_table(content: dict) -> Table:
    """The scores, coloured where the choice of 🔥 or ❄ is decided, and those of the baseline."""
    cells, rows = content["cells"], []
    present = dict.fromkeys(cell["adaptation"] for cell in cells)
    first = [name for name in (FROZEN, TUNED) if name in present]
    adaptations = first + [name for name in present if name not in first]
    for own in _by_encoder(cells):
        tones = _tones(own, content)
        row = [field_of(_row_name(own))]
        for name in adaptations:
            fitting = [cell for cell in own if cell["adaptation"] == name]
            entries = [_score_entry(cell, tones, len(content["seeds"])) for cell in fitting]
            row.append(entries or field_of(words.NOTHING))
        rows.append(row)
    # It adapts nothing, so that it is no column's own.
    reached = field_of(words.score(content["baseline"]["score"]))
    rows.append([[Entry("baseline", baseline_text(content))], *[reached] * len(adaptations)])
    columns = ["encoder", *(_adaptation(name) for name in adaptations)]
    return Table(_caption(content), columns, rows)


def baseline_text(content: dict) -> str:
    """What the baseline answers: `always 'yes'`."""
    answer = content["baseline"]["answer"]
    if isinstance(answer, float):
        return f"always {words.amount(answer)}, train's mean"
    if content["kind"] == "tagging":
        return "always O"
    return f"always {visible(repr(shortened(answer, LONGEST_LABEL)))}"


def _by_encoder(cells: list[dict]) -> list[list[dict]]:
    """The cells of each row."""
    rows: dict[tuple, list[dict]] = {}
    for cell in cells:
        rows.setdefault(_row_of(cell, cells), []).append(cell)
    return list(rows.values())


def _row_of(cell: dict, cells: list[dict]) -> tuple:
    """The encoder of a cell, pretrained or not.

    A cell of which no run has finished knows neither its module nor the family, by which texts are
    read jointly or separately: it stands with the others of its name.
    """
    if cell["module"] is None:
        own = (cell["encoder"], cell["pretrained"], cell["execution"])
        named = [
            one
            for one in cells
            if one["module"] and (one["encoder"], one["pretrained"], one["execution"]) == own
        ]
        cell = min(named, key=lambda one: one["pairs"] != cell["pairs"], default=cell)
    return (*encoder_of(cell), cell["pretrained"])


def _row_name(own: list[dict]) -> str:
    return encoder_name(next((cell for cell in own if cell["module"]), own[0]))


def _tones(own: list[dict], content: dict) -> dict[str, tuple[str, float]]:
    """Which cell of an encoder is coloured: the better one of the best ❄ and the best 🔥, where
    their difference is decided and no seed of either failed; none where no cell is above the
    baseline."""
    best = []
    for name in (FROZEN, TUNED):
        trained = [cell for cell in own if cell["adaptation"] == name and cell["trained"]]
        best += sorted(trained, key=lambda cell: -cell["mean"])[:1]
    if len(best) < 2 or not _above_baseline(content):
        return {}
    frozen, tuned = (cell["id"] for cell in best)
    pair = next(one for one in content["pairs"] if {one["a"], one["b"]} == {frozen, tuned})
    failed = any(any(cell["failed"].values()) for cell in best)
    how = OPEN if failed else relation(pair, tuned)
    if how not in (AHEAD, BEHIND):
        return {}
    points = abs(100 * pair["difference"]) * (1 if how == AHEAD else -1)
    tone = paper.colour(points)
    return {tuned if how == AHEAD else frozen: (tone, points)} if tone else {}


def _above_baseline(content: dict) -> bool:
    return bool((content["verdict"] or {}).get("above_baseline"))


def _score_entry(cell: dict, tones: dict, seeds: int) -> Entry:
    notes = [variant(cell)]
    failed = sum(cell["failed"].values())
    if failed:
        notes.append(f"failed in {failed} of {words.counted(seeds, 'seed')}")
        if cell["trained"]:
            pronoun = "it" if failed == 1 else "them"
            notes.append(f"{words.score(cell['mean_of_all'])} with {pronoun}")
    tone, points = tones.get(cell["id"], (None, 0.0))
    if tone:
        notes.append(f"{tone}: 🔥 − ❄ {words.difference(points / 100)}")
    return Entry(words.mean_and_deviation(cell), "; ".join(notes), tone)


def _caption(content: dict) -> str:
    cells, seeds = content["cells"], len(content["seeds"])
    spread = f"mean ± deviation over {seeds} seeds" if seeds > 1 else "one seed, so no deviation"
    if any(any(cell["failed"].values()) and cell["trained"] for cell in cells):
        spread += "; where some failed, over those that trained"
    said = [
        f"{words.metric_name(content['metric'])} × 100 on {visible(content['scored_on'])}, {spread}"
    ]
    compared = [
        (_row_of(cell, cells), cell["adaptation"])
        for cell in cells
        if cell["adaptation"] in (FROZEN, TUNED)
    ]
    if len({adaptation for _, adaptation in compared}) == 2:
        of_several = ", of several heads the best," if len(set(compared)) < len(compared) else ""
        said.append(
            f"Coloured as in the paper{of_several} and marked with a word where 🔥 − ❄ is at least "
            "+1.0 (tune) or at most −1.0 (freeze) and decided by the pairwise tests"
            if _above_baseline(content)
            else "Nothing is coloured, since no cell is shown to be above the baseline"
        )
    return ". ".join(said) + "."


def _adaptation(name: str) -> str:
    return f"{paper.SYMBOLS[name]} {name}" if name in paper.SYMBOLS else visible(name)
