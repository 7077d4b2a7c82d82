"""The verdict of a comparison: what to use, how sure that is, and what it costs. Pure functions.

Three answers are possible. *Decided*: one cell is ahead of every other, by the paired tests with
Holm's correction. *Alike*: what the best is not ahead of lies within a point of it, so the smallest
of these cells is enough. *Not decided*: more seeds, or more test examples, are needed. Cells of
untrained networks are baselines: they are never recommended, but it is said if they are not beaten.
"""

from typing import Any

from tf_adapt.comparison.guidelines import agreement, is_alike
from tf_adapt.comparison.wording import describe_all, listed
from tf_adapt.words import (
    counted,
    difference,
    interval,
    mean_and_deviation,
    probability,
    score,
)

NAMED = 2


def verdict(content: dict[str, Any]) -> dict[str, Any]:
    """What `results` says, in sentences.

    Returns:
        `sentence`, `decided`, `best` (the cell with the highest mean), `alternatives` (cells that
        the best is not decided against), `recommended` (of these and the best, the one with the
        fewest trainable parameters; None where nothing is finished), `evidence` and `guideline`.
    """
    cells = {cell["id"]: cell for cell in content["cells"] if None not in cell["scores"]}
    names = describe_all(content["cells"])
    candidates = [name for name, cell in cells.items() if cell["pretrained"]]
    if not candidates:
        return _nothing()
    best = max(candidates, key=lambda name: cells[name]["mean"])
    pairs = {frozenset((pair["a"], pair["b"])): pair for pair in content["pairs"]}
    against = {name: pairs[frozenset((best, name))] for name in cells if name != best}
    rivals = {name: pair for name, pair in against.items() if cells[name]["pretrained"]}
    open_pairs = {name: pair for name, pair in rivals.items() if not pair["decided"]}
    level = [best, *open_pairs]
    recommended = min(level, key=lambda name: cells[name]["costs"]["trainable_parameters"])
    alike = bool(open_pairs) and all(map(is_alike, open_pairs.values()))
    sentence = _sentence(cells, names, best, recommended, rivals, open_pairs, alike, content)
    missing = [c["id"] for c in content["cells"] if c["pretrained"] and c["id"] not in cells]
    if missing:
        sentence += f" Not finished, and left out: {listed([names[name] for name in missing])}."
    return {
        "sentence": sentence,
        "decided": bool(rivals) and (alike or not open_pairs),
        "best": best,
        "alternatives": list(open_pairs),
        "recommended": recommended,
        "evidence": [
            _how_it_was_made(content),
            *_truncated(content["truncated"]),
            *_tests(cells, names, best, against),
            _costs(cells[recommended], names[recommended]),
            *_majority(content["majority"]),
            *_baseline(cells, names, recommended, pairs),
        ],
        "guideline": agreement(cells, pairs, content["kind"]),
    }


def _sentence(cells, names, best, recommended, rivals, open_pairs, alike, content) -> str:
    scores = {name: mean_and_deviation(cells[name]) for name in (best, recommended)}
    used = f"{names[recommended]}: {scores[recommended]} {content['metric']}"
    if not rivals:
        return f"Only one pretrained cell, {used}; there is nothing to choose from."
    if not open_pairs:
        return f"Use {used}, ahead of every other cell."
    others = [names[name] for name in (best, *open_pairs) if name != recommended]
    if alike:
        be = "are" if len(others) > 1 else "is"
        return (
            f"Use {used}. {listed(others)} {be} alike, within a point of the best, and it trains "
            "the fewest parameters of them."
        )
    rest = _few(open_pairs, rivals, names)
    return (
        f"Not decided between {names[best]} ({scores[best]}) and {rest}: "
        f"{_what_is_needed(open_pairs, len(content['seeds']))}. Until then, the one of them that "
        f"trains the fewest parameters is {names[recommended]} ({scores[recommended]})."
    )


def _few(open_pairs: dict, rivals: dict, names: dict[str, str]) -> str:
    """By name, or as a number where the names would hide the sentence; the report lists them."""
    if len(open_pairs) <= NAMED:
        return listed([names[name] for name in open_pairs])
    if len(open_pairs) == len(rivals):
        return f"any of the {len(rivals)} other pretrained cells"
    return f"{len(open_pairs)} of the {len(rivals)} other pretrained cells"


def _what_is_needed(open_pairs: dict, seeds: int) -> str:
    if seeds == 1:
        return "one seed says nothing about seeds; at least two more are needed"
    by_reason = {
        "seeds": [pair["seeds_needed"] for pair in open_pairs.values() if pair["seeds_needed"]],
        "many": [p for p in open_pairs.values() if p["why"] == "more_seeds"],
        "items": [p for p in open_pairs.values() if p["why"] == "more_test_examples"],
    }
    clauses = []
    if by_reason["seeds"]:
        more = max(max(by_reason["seeds"]) - seeds, 1)
        clauses.append(f"{counted(more, 'more seed')} would probably decide")
    if len(by_reason["many"]) > len(by_reason["seeds"]):
        clauses.append("more than 100 seeds would be needed")
    if by_reason["items"]:
        clauses.append("no number of seeds would do, only more test examples")
    if len(clauses) == 1:
        return clauses[0]
    return f"by the pair, {', or '.join(clauses)}"


def _how_it_was_made(content) -> str:
    return (
        f"Scored on {content['splits'][content['scored_on']]} "
        f"({counted(content['examples'][content['scored_on']], 'example')}), mean ± deviation of "
        f"{counted(len(content['seeds']), 'seed')}; epochs and learning rates "
        f"({content['trials']} tried in each cell) were chosen on "
        f"{content['splits'][content['chosen_on']]}."
    )


def _tests(cells, names, best, against) -> list[str]:
    """The three cells next to the best."""
    said = []
    for name in sorted(against, key=lambda name: -cells[name]["mean"])[:3]:
        pair, sign = against[name], 1 if against[name]["a"] == best else -1
        spread = "no interval"
        if pair["interval"] is not None:
            bounds = sorted(sign * bound for bound in pair["interval"])
            spread = f"{100 * pair['level']:.0f} % interval {interval(bounds)}"
        said.append(
            f"{names[best]} against {names[name]}: {difference(sign * pair['difference'])} points, "
            f"{spread}, p {probability(pair['p_holm'])} after Holm's correction: "
            f"{'decided' if pair['decided'] else 'not decided'}."
        )
    return said


def _costs(cell: dict, name: str) -> str:
    costs = cell["costs"]
    return (
        f"{name} trains {costs['trainable_parameters']:,} of {costs['total_parameters']:,} "
        f"parameters in {costs['training_seconds']:.0f} s, with {costs['peak_memory_mb']:,.0f} MB "
        f"of memory, needs {costs['serving_seconds_per_1000']:.1f} s for 1,000 examples, and "
        f"{costs['task_megabytes']:.1f} MB a task beside the module (means over the seeds, of "
        "memory the least)."
    )


def _truncated(truncated: dict[str, dict[str, int]]) -> list[str]:
    found = []
    for encoder, counts in truncated.items():
        parts = [f"{count:,} of {split}" for split, count in counts.items() if count]
        found += [f"{encoder}: {', '.join(parts)}"] if parts else []
    return [f"Examples cut at the encoder's limit: {'; '.join(found)}."] if found else []


def _majority(majority: dict | None) -> list[str]:
    if majority is None:
        return []
    share = score(majority["score"])
    return [
        f"{majority['label']!r}, train's most frequent label, for every example scores {share}."
    ]


def _baseline(cells, names, recommended, pairs) -> list[str]:
    """What the same network reaches without its pretraining."""
    encoder = cells[recommended]["encoder"]
    untrained = [n for n, c in cells.items() if not c["pretrained"] and c["encoder"] == encoder]
    if not untrained:
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


def _nothing() -> dict[str, Any]:
    return {
        "sentence": "Nothing to judge: no pretrained cell has finished with every seed.",
        "decided": False,
        "best": None,
        "alternatives": [],
        "recommended": None,
        "evidence": [],
        "guideline": {"sentence": "", "agrees": None, "families": {}},
    }
