"""The verdict of a comparison: what to use, how sure that is, and what it costs. Pure functions.

Three answers are possible. *Decided*: one cell is ahead of every other, by the paired tests with
Holm's correction. *Alike*: the cells that the best is not ahead of are within `ALIKE` of it, so the
cheapest of them is enough. *Not decided*: more seeds, or more test examples, are needed.
"""

from typing import Any

from tf_adapt.advice import guideline

# The paper colours a difference of at least one point (table 2): less is alike.
ALIKE = 0.01
COLOURED = ("feature_extraction", "fine_tuning")


def verdict(content: dict[str, Any]) -> dict[str, Any]:
    """What `results` says, in sentences.

    Returns:
        `sentence`, `decided`, `best` (the cell with the highest mean), `alternatives` (cells that
        the best is not decided against), `cheapest` (of these and the best), `recommended` (what
        the sentence says to use; None where nothing is finished), `evidence` and `guideline`.
    """
    cells = {cell["id"]: cell for cell in content["cells"] if _is_complete(cell)}
    candidates = [name for name, cell in cells.items() if cell["pretrained"]]
    if not candidates:
        return _nothing()
    best = max(candidates, key=lambda name: cells[name]["mean"])
    against = {_other(pair, best): pair for pair in content["pairs"] if best in _names(pair)}
    open_pairs = {n: p for n, p in against.items() if n in candidates and not p["decided"]}
    level = [best, *open_pairs]
    cheapest = min(level, key=lambda name: _cost(cells[name]))
    alike = all(map(_is_alike, open_pairs.values()))
    decided = not open_pairs
    recommended = best if decided else cheapest
    return {
        "sentence": _sentence(cells, best, recommended, open_pairs, alike, content),
        "decided": decided or alike,
        "best": best,
        "alternatives": list(open_pairs),
        "cheapest": cheapest,
        "recommended": recommended,
        "evidence": _evidence(cells, best, against, content),
        "guideline": _guideline(cells, content),
    }


def _sentence(cells, best, recommended, open_pairs, alike, content) -> str:
    scores = f"{_described(cells[recommended])}: {_score(cells[recommended])} {content['metric']}"
    if len([cell for cell in cells.values() if cell["pretrained"]]) == 1:
        return f"Only one cell: {scores}; there is nothing to compare it with."
    if not open_pairs:
        return f"Use {scores}, ahead of every other cell."
    names = _listed([_described(cells[name]) for name in open_pairs])
    if alike:
        same = "all within a point of one another" if len(open_pairs) > 1 else "within a point"
        return f"Use {scores}; {names} is {same}, and this is the cheapest to train."
    needed = [pair["seeds_needed"] for pair in open_pairs.values() if pair["seeds_needed"]]
    more = max(needed) - len(content["seeds"]) if needed else 0
    if len(content["seeds"]) == 1:
        what = "one seed says nothing about seeds; at least two more are needed"
    elif more > 0:
        what = f"{more} more seeds would be needed to tell them apart"
    else:
        what = "more seeds would not tell them apart, only more test examples would"
    return (
        f"Not decided between {_described(cells[best])} ({_score(cells[best])}) and {names}: "
        f"{what}. Until then the cheapest of them is {_described(cells[recommended])} "
        f"({_score(cells[recommended])})."
    )


def _evidence(cells, best, against, content) -> list[str]:
    found = [
        f"Scored on {content['splits'][content['scored_on']]} "
        f"({content['examples'][content['scored_on']]:,} examples), mean ± deviation of "
        f"{len(content['seeds'])} seed{'s' if len(content['seeds']) > 1 else ''}; epochs and "
        f"learning rates ({content['trials']} tried in each cell) were chosen on "
        f"{content['splits'][content['chosen_on']]}."
    ]
    for name, pair in sorted(against.items(), key=lambda item: -cells[item[0]]["mean"])[:3]:
        sign = 1 if pair["a"] == best else -1
        interval = "no interval"
        if pair["interval"] is not None:
            low, high = sorted(100 * sign * bound for bound in pair["interval"])
            interval = f"{100 * pair['level']:.0f} % interval {low:+.1f} to {high:+.1f}"
        found.append(
            f"{_described(cells[best])} against {_described(cells[name])}: "
            f"{100 * sign * pair['difference']:+.1f} points, {interval}, "
            f"p {pair['p_holm']:.3f} after Holm's correction: "
            f"{'decided' if pair['decided'] else 'not decided'}."
        )
    costs = cells[best]["costs"]
    found.append(
        f"{_described(cells[best])} trains {costs['trainable_parameters']:,} of "
        f"{costs['total_parameters']:,} parameters in {costs['training_seconds']:.0f} s, needs "
        f"{costs['peak_memory_mb']:,.0f} MB at most, {costs['serving_seconds_per_1000']:.1f} s for "
        f"1,000 examples, and {costs['task_megabytes']:.1f} MB a task beside the module."
    )
    untrained = [cell for cell in cells.values() if not cell["pretrained"]]
    for cell in sorted(untrained, key=lambda cell: -cell["mean"])[:1]:
        found.append(
            f"The same network untrained reaches {_score(cell)} ({cell['adaptation']}): what is "
            "above that is the pretraining's."
        )
    return found


def _guideline(cells, content) -> dict[str, Any]:
    """What the paper says of this case, and whether ❄ and 🔥 here agree with it."""
    found = {}
    for family in sorted({cell["family"] for cell in cells.values() if cell["pretrained"]}):
        paper = guideline(family, content["kind"])
        found[family] = {
            "better": paper.better,
            "sentence": paper.sentence,
            "here": _here(cells, family, content["pairs"]),
        }
        here = [one["better"] for one in found[family]["here"]]
        known = [better for better in here if better is not None]
        agrees = None if not known else all(better == paper.better for better in known)
        found[family]["agrees"] = agrees
    sentences = [_guideline_sentence(family, said) for family, said in found.items()]
    agreements = [said["agrees"] for said in found.values()]
    agrees = None if None in agreements or not agreements else all(agreements)
    return {"sentence": " ".join(sentences), "agrees": agrees, "families": found}


def _here(cells, family: str, pairs: list[dict]) -> list[dict[str, Any]]:
    """For each encoder of a family with ❄ and 🔥: the better one, "alike", or None: open."""
    found = []
    for pair in pairs:
        a, b = (cells.get(name) for name in _names(pair))
        if a is None or b is None or a["encoder"] != b["encoder"] or a["family"] != family:
            continue
        if not (a["pretrained"] and b["pretrained"]):
            continue
        if {a["adaptation"], b["adaptation"]} != set(COLOURED) or a["settings"] or b["settings"]:
            continue
        better = None
        if _is_alike(pair):
            better = "alike"
        elif pair["decided"]:
            better = (a if pair["difference"] > 0 else b)["adaptation"]
        found.append({"encoder": a["encoder"], "better": better})
    return found


def _guideline_sentence(family: str, said: dict[str, Any]) -> str:
    here = {True: "here it holds", False: "here it does not", None: "here it is not decided"}
    if not said["here"]:
        return f"{said['sentence']} Here ❄ and 🔥 of it were not both run."
    return f"{said['sentence']} In this comparison: {here[said['agrees']]}."


def _nothing() -> dict[str, Any]:
    return {
        "sentence": "Nothing to judge: no cell has finished with a score for every seed.",
        "decided": False,
        "best": None,
        "alternatives": [],
        "cheapest": None,
        "recommended": None,
        "evidence": [],
        "guideline": {"sentence": "", "agrees": None, "families": {}},
    }


def _is_complete(cell: dict) -> bool:
    return None not in cell["scores"]


def _is_alike(pair: dict) -> bool:
    """Whether the whole interval of the difference is within a point, and covers the seeds."""
    known = pair["interval"] is not None and pair["why"] != "one_seed"
    return known and max(map(abs, pair["interval"])) <= ALIKE


def _names(pair: dict) -> tuple[str, str]:
    return pair["a"], pair["b"]


def _other(pair: dict, name: str) -> str:
    return pair["b"] if pair["a"] == name else pair["a"]


def _cost(cell: dict) -> float:
    return cell["costs"]["training_seconds"] or 0.0


def _described(cell: dict) -> str:
    settings = "".join(f" {key} {value}" for key, value in cell["settings"].items())
    return f"{cell['encoder']} with {cell['adaptation']}{settings} ({cell['head']} head)"


def _score(cell: dict) -> str:
    deviation = "" if cell["deviation"] is None else f" ± {100 * cell['deviation']:.1f}"
    return f"{100 * cell['mean']:.1f}{deviation}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
