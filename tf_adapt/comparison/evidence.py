"""What a verdict rests on, in sentences."""

from typing import Any

from tf_adapt.comparison.wording import answer_text
from tf_adapt.report.cells import encoder_of
from tf_adapt.statistics.looks import LEVELS, level_of
from tf_adapt.words import (
    counted,
    difference,
    interval,
    mean_and_deviation,
    metric_name,
    probability,
    score,
)

TESTS_SHOWN = 3


def evidence(
    content: dict[str, Any],
    cells: dict[str, dict],
    names: dict[str, str],
    best: str,
    recommended: str,
) -> list[str]:
    """How the scores were made, the tests against the best cell, costs, baseline, pretraining.

    Args:
        cells: those that trained, by id.
        names: of all cells.
    """
    pairs = {frozenset((pair["a"], pair["b"])): pair for pair in content["pairs"]}
    against = {n: pairs[frozenset((best, n))] for n in cells if frozenset((best, n)) in pairs}
    return [
        _how_it_was_made(content),
        _items(content),
        *_truncated(content["truncated"], names),
        *_tests(cells, names, best, against),
        _looks(content["look"]),
        _costs(cells[recommended], names[recommended]),
        _baseline(content, names, recommended),
        *_pretraining(cells, names, recommended, pairs),
    ]


def _how_it_was_made(content) -> str:
    trials = content["trials"]
    chosen = "epochs were chosen"
    if trials > 1:
        chosen = (
            f"epochs and learning rates ({trials} tried in each cell, with a seed that is not "
            "scored) were chosen"
        )
    return (
        f"Scored on {content['splits'][content['scored_on']]} "
        f"({counted(content['examples'][content['scored_on']], 'example')}), mean ± deviation of "
        f"{counted(len(content['seeds']), 'seed')}; {chosen} on "
        f"{content['splits'][content['chosen_on']]}."
    )


def _items(content) -> str:
    items, examples = content["items"], content["examples"][content["scored_on"]]
    shared = items["overlap_with_train"]
    overlap = f"; {shared:,} of {examples:,} share a text with train" if shared else ""
    return f"Items of the tests: {items['text']}{overlap}."


def _truncated(truncated: dict[str, dict[str, int]], names: dict[str, str]) -> list[str]:
    found = []
    for cell, counts in truncated.items():
        parts = [f"{count:,} of {split}" for split, count in counts.items() if count]
        found += [f"{names[cell]}: {', '.join(parts)}"] if parts else []
    return [f"Examples cut at the encoder's limit: {'; '.join(found)}."] if found else []


def _tests(cells, names, best, against) -> list[str]:
    """The cells next to the best."""
    said = []
    for name in sorted(against, key=lambda name: -cells[name]["mean"])[:TESTS_SHOWN]:
        pair, sign = against[name], 1 if against[name]["a"] == best else -1
        spread = "no interval"
        if pair["interval"] is not None:
            bounds = sorted(sign * bound for bound in pair["interval"])
            spread = f"{100 * pair['level']:.4g} % interval {interval(bounds)}"
        said.append(
            f"{names[best]} against {names[name]}: {difference(sign * pair['difference'])} points, "
            f"{spread}, {_decision(pair)}."
        )
    return said


def _decision(pair: dict) -> str:
    if pair["p_holm"] is None:
        return "not tested"
    said = "decided" if pair["decided"] else "not decided"
    if pair["alike"]:
        said = "alike, within a point" + (", though decided" if pair["decided"] else "")
    return f"p {probability(pair['p_holm'])} after Holm's correction: {said}"


def _looks(look: int) -> str:
    level = level_of(look)
    if not level:
        return f"This is look {look} at this comparison: only the first {len(LEVELS)} may decide."
    return (
        f"This is look {look} of {len(LEVELS)} at this comparison, tested at {100 * level:.3g} %, "
        "so that all looks together decide falsely in at most 5 %."
    )


def _costs(cell: dict, name: str) -> str:
    costs = cell["costs"]
    return (
        f"{name} trains {costs['trainable_parameters']:,} of {costs['total_parameters']:,} "
        f"parameters in {costs['training_seconds']:.0f} s, with {costs['peak_memory_mb']:,.0f} MB "
        f"of memory, needs {costs['serving_seconds_per_1000']:.1f} s for 1,000 examples, and "
        f"{costs['task_megabytes']:.1f} MB a task beside the module (means over the seeds, of "
        "memory the least)."
    )


def _baseline(content: dict, names: dict, recommended: str) -> str:
    reached = f"{score(content['baseline']['score'])} {metric_name(content['metric'])}"
    said = f"The baseline, {answer_text(content)} to everything, has {reached}"
    found = content["baseline"]["cells"].get(recommended)
    if found is None:
        return f"{said}."
    p = f"p {probability(found['p_holm'])} after Holm's correction"
    if found["above"]:
        return f"{said}: {names[recommended]} is {difference(found['difference'])} above it, {p}."
    return f"{said}: {names[recommended]} is not shown to be above it, {p}."


def _pretraining(cells, names, recommended, pairs) -> list[str]:
    """What the same network reaches without its pretraining."""
    encoder = encoder_of(cells[recommended])
    untrained = [n for n, c in cells.items() if not c["pretrained"] and encoder_of(c) == encoder]
    if not untrained or not cells[recommended]["pretrained"]:
        return []
    best = max(untrained, key=lambda name: cells[name]["mean"])
    pair = pairs[frozenset((recommended, best))]
    ahead = cells[recommended]["mean"] - cells[best]["mean"]
    if pair["decided"] and ahead > 0:
        worth = f"the pretraining is worth {100 * ahead:.1f} points"
    else:
        worth = "the pretraining is not shown to be worth anything here"
    reached = f"{mean_and_deviation(cells[best])} ({names[best]})"
    return [f"The same network untrained reaches {reached}: {worth}."]
