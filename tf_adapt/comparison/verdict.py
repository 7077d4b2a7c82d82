"""The verdict of a comparison: what to use, how sure that is, and what it costs. Pure functions.

How two cells stand is one rule, `tf_adapt.statistics.relation`.
*Decided*: the recommended cell is above the baseline, trained with every seed, and of every other
cell that trained it is ahead, or alike and the cheapest. Untrained networks count among the others,
and are never recommended. What is not decided is said first, and then what it would take; until
then the best mean is recommended, or a cheaper cell that is shown to be alike.
"""

from dataclasses import dataclass
from typing import Any

from tf_adapt.comparison.evidence import evidence
from tf_adapt.comparison.guidelines import agreement
from tf_adapt.comparison.needs import what_is_needed
from tf_adapt.comparison.wording import (
    answer_text,
    describe_all,
    failures,
    few,
    listed,
    with_score,
)
from tf_adapt.statistics.pairs import FEWEST_ITEMS
from tf_adapt.statistics.relation import ALIKE, BEHIND, OPEN, relation
from tf_adapt.words import (
    counted,
    difference,
    interval,
    mean_and_deviation,
    metric_name,
    score,
)


@dataclass(frozen=True)
class Standing:
    """The cells that trained, and how the others stand to the best and to the recommended one.

    Attributes:
        content: as in `report.json`.
        cells: those with a seed that trained, by id.
        names: of all cells, as sentences have them.
        pairs: the tests by their two ids.
        best: the pretrained cell with the highest mean.
        recommended: the best, or the cheapest of those shown to be alike.
        alike: pretrained cells alike with the best.
        open: pretrained cells that are neither behind the best nor alike.
        untrained_ahead, untrained_open: networks without pretraining that are ahead of the
            recommended cell, or not behind it.
    """

    content: dict[str, Any]
    cells: dict[str, dict]
    names: dict[str, str]
    pairs: dict[frozenset, dict]
    best: str
    recommended: str
    alike: list[str]
    open: list[str]
    untrained_ahead: list[str]
    untrained_open: list[str]

    @property
    def rivals(self) -> list[str]:
        """The other pretrained cells."""
        return [n for n, c in self.cells.items() if c["pretrained"] and n != self.best]

    def pair(self, other: str) -> dict:
        """The test of the best cell and another."""
        return self.pairs[frozenset((self.best, other))]

    def shown(self, name: str) -> str:
        """`bert_small with fine_tuning (linear head) at 81.0 ± 1.0`."""
        return with_score(self.names[name], self.cells[name])


def verdict(content: dict[str, Any]) -> dict[str, Any]:
    """What `results` says, in sentences.

    Returns:
        `sentence`, `decided`, `above_baseline` (whether any cell is), `best` (the pretrained cell
        with the highest mean), `alternatives` (cells that the best is not shown to be ahead of nor
        alike with), `recommended` (None where nothing trained), `evidence` and `guideline`.
    """
    found = _standing(content)
    if found is None:
        return _nothing_trained(content)
    obstacle = _obstacle(found)
    failed = _failed_cells(content, found.names)
    return {
        "sentence": " ".join([obstacle or _use(found), *failed]),
        "decided": obstacle is None,
        "above_baseline": any(test["above"] for test in content["baseline"]["cells"].values()),
        "best": found.best,
        "alternatives": found.open,
        "recommended": found.recommended,
        "evidence": evidence(content, found.cells, found.names, found.best, found.recommended),
        "guideline": agreement(found.cells, found.pairs, content["kind"]),
    }


def _standing(content: dict[str, Any]) -> Standing | None:
    cells = {cell["id"]: cell for cell in content["cells"] if cell["trained"]}
    able = [name for name, cell in cells.items() if cell["pretrained"]]
    if not able:
        return None
    pairs = {frozenset((pair["a"], pair["b"])): pair for pair in content["pairs"]}
    best = max(able, key=lambda name: cells[name]["mean"])
    others = {n: relation(pairs[frozenset((best, n))], best) for n in able if n != best}
    alike = [name for name, how in others.items() if how == ALIKE]
    recommended = min([best, *alike], key=lambda n: cells[n]["costs"]["trainable_parameters"])
    untrained = {
        name: relation(pairs[frozenset((recommended, name))], recommended)
        for name, cell in cells.items()
        if not cell["pretrained"]
    }
    return Standing(
        content,
        cells,
        describe_all(content["cells"]),
        pairs,
        best,
        recommended,
        alike,
        [name for name, how in others.items() if how in (OPEN, BEHIND)],
        [name for name, how in untrained.items() if how == BEHIND],
        [name for name, how in untrained.items() if how in (OPEN, ALIKE)],
    )


def _obstacle(found: Standing) -> str | None:
    """The headline where nothing is decided: the first reason that stands in the way."""
    content, cells, best = found.content, found.cells, found.shown(found.best)
    metric, above = metric_name(content["metric"]), content["baseline"]["cells"]
    if content["items"]["count"] < FEWEST_ITEMS:
        return (
            f"Not decided: {content['items']['text']} to score on, and at least {FEWEST_ITEMS} "
            f"items are needed for any test. The best so far is {best} {metric}."
        )
    if not any(test["above"] for test in above.values()):
        return _at_baseline(content, "is shown to be above", best)
    if len(content["seeds"]) == 1:
        return (
            "Not decided: one seed says nothing about the others; the tests need two at least. "
            f"The best so far is {best} {metric}."
        )
    if found.untrained_ahead:
        ahead = max(found.untrained_ahead, key=lambda name: cells[name]["mean"])
        return (
            f"An untrained network is ahead: {found.shown(ahead)} {metric}; the best pretrained "
            f"cell is {best}."
        )
    same = [found.names[n] for n in found.open if found.pair(n)["why"] == "identical"]
    if same:
        return (
            f"Not decided: {best} {metric} gives the same answers with every seed as "
            f"{listed(same)}, as if they were one model; check what is to differ between them."
        )
    if found.open:
        return _undecided(found, metric)
    if _failed(cells[found.recommended]) or _failed(cells[found.best]):
        return f"Not decided, for seeds failed: the best where it trained is {best} {metric}."
    if found.untrained_open:
        level = listed([found.shown(name) for name in found.untrained_open])
        return (
            f"Not decided: {found.shown(found.recommended)} {metric} is not shown to be ahead of "
            f"{level}."
        )
    if not above[found.recommended]["above"]:
        return (
            f"Not decided: {found.shown(found.recommended)} {metric} is not shown to be above the "
            f"baseline's {score(content['baseline']['score'])}."
        )
    if not found.rivals:
        return f"Nothing to choose from: only one pretrained cell trained, {best} {metric}."
    return None


def _use(found: Standing) -> str:
    """The headline where it is decided."""
    metric, cell = metric_name(found.content["metric"]), found.cells[found.recommended]
    used = f"Use {found.names[found.recommended]}: {mean_and_deviation(cell)} {metric}"
    if not found.alike:
        return f"{used}, ahead of every other cell."
    used = f"{used}, which trains the fewest parameters"
    if found.recommended != found.best:
        pair = found.pair(found.recommended)
        if pair["decided"]:
            sign = 1 if pair["a"] == found.best else -1
            bounds = interval(sorted(sign * bound for bound in pair["interval"]))
            gain = f"{difference(abs(pair['difference']))} ({bounds})"
            best = found.names[found.best]
            return f"{used}: {best} is ahead of it by less than a point, {gain}."
    others = [found.names[n] for n in (found.best, *found.alike) if n != found.recommended]
    be = "are" if len(others) > 1 else "is"
    return f"{used}: {listed(others)} {be} alike, within a point."


def _undecided(found: Standing, metric: str) -> str:
    pairs = [found.pair(name) for name in found.open]
    others = few([found.shown(name) for name in found.open], len(found.rivals))
    needed = what_is_needed(pairs, found.cells, len(found.content["seeds"]))
    until = "Until then, use it."
    if found.recommended != found.best:
        until = f"Until then, use {found.shown(found.recommended)}, alike and cheaper."
    return (
        f"Not decided: {found.shown(found.best)} {metric} has the best mean, but is not shown to "
        f"be ahead of {others}: {needed}. {until}"
    )


def _at_baseline(content: dict[str, Any], how: str, best: str) -> str:
    reached = f"{score(content['baseline']['score'])} {metric_name(content['metric'])}"
    return (
        f"No cell {how} the baseline: {answer_text(content)} to everything has {reached}; the best "
        f"cell is {best}."
    )


def _failed(cell: dict) -> bool:
    return any(cell["failed"].values())


def _failed_cells(content: dict[str, Any], names: dict[str, str]) -> list[str]:
    """`B diverged in 2 of 3 seeds (…).`: every pretrained cell of which a seed failed."""
    seeds = len(content["seeds"])
    failed = [cell for cell in content["cells"] if cell["pretrained"] and _failed(cell)]
    if len(failed) <= 2:
        return [f"{names[cell['id']]} {failures(cell, seeds)}." for cell in failed]
    total = sum(sum(cell["failed"].values()) for cell in failed)
    return [f"{counted(total, 'seed')} failed in {len(failed)} cells."]


def _nothing_trained(content: dict[str, Any]) -> dict[str, Any]:
    """No pretrained cell has a seed that trained: finished ones are at the baseline at best."""
    names = describe_all(content["cells"])
    pretrained = [cell for cell in content["cells"] if cell["pretrained"]]
    scored = [cell for cell in pretrained if cell["mean"] is not None]
    best = max(scored, key=lambda cell: cell["mean"], default=None)
    sentence = "Nothing to judge: no pretrained cell has finished with any seed."
    if best is not None:
        sentence = _at_baseline(content, "is above", with_score(names[best["id"]], best))
    cells = {} if best is None else {best["id"]: best}
    said = [] if best is None else evidence(content, cells, names, best["id"], best["id"])
    return {
        "sentence": " ".join([sentence, *_failed_cells(content, names)]),
        "decided": False,
        "above_baseline": False,
        "best": None,
        "alternatives": [],
        "recommended": None if best is None else best["id"],
        "evidence": said,
        "guideline": {"sentence": "", "agrees": None, "families": {}},
    }
