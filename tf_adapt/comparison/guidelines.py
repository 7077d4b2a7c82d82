"""Whether a comparison agrees with the paper's guideline for its encoders and its task."""

from typing import Any

from tf_adapt.advice import guideline
from tf_adapt.paper import ALIKE, COLOURED_FROM, FROZEN, TUNED

# What ends with everything learning, as in the paper.
_TUNING = (TUNED, "gradual_unfreezing")
_SAID = {
    FROZEN: "❄ is ahead",
    TUNED: "🔥 is ahead",
    ALIKE: "❄ and 🔥 are alike",
    None: "it is not decided between ❄ and 🔥",
}


def agreement(cells: dict[str, dict], pairs: dict[frozenset, dict], kind: str) -> dict[str, Any]:
    """The guideline for each family of encoders, and what came out here.

    ❄ of an encoder is its best cell with `feature_extraction`, 🔥 its best one that ends with
    everything learning as in the paper (fine_tuning, gradual_unfreezing).

    Args:
        cells: finished cells by id.
        pairs: the paired tests by their two ids.

    Returns:
        `sentence`; `agrees` (None: not decided, or not compared); `families`.
    """
    families = {}
    for family in sorted({cell["family"] for cell in cells.values() if cell["pretrained"]}):
        paper = guideline(family, kind)
        here = _here(cells, pairs, family)
        families[family] = {"better": paper.better, "sentence": paper.sentence, "here": here}
    sentences = [_sentence(said) for said in families.values()]
    outcomes = [
        None if better is None else better == said["better"]
        for said in families.values()
        for better in said["here"].values()
    ]
    agrees = None
    if False in outcomes:
        agrees = False
    elif outcomes and None not in outcomes:
        agrees = True
    return {"sentence": " ".join(sentences), "agrees": agrees, "families": families}


def is_alike(pair: dict) -> bool:
    """Whether the interval covers the seeds and is within the point from which table 2 colours."""
    known = pair["interval"] is not None and pair["why"] != "one_seed"
    return known and max(map(abs, pair["interval"])) <= COLOURED_FROM / 100


def _here(cells: dict, pairs: dict, family: str) -> dict[str, str | None]:
    """By encoder with both: FROZEN, TUNED, ALIKE, or None where it is not decided."""
    own = [c for c in cells.values() if c["family"] == family and c["pretrained"]]
    found = {}
    for encoder in dict.fromkeys((cell["encoder"], cell["pairs"]) for cell in own):
        of_it = [cell for cell in own if (cell["encoder"], cell["pairs"]) == encoder]
        frozen = [cell for cell in of_it if cell["adaptation"] == FROZEN]
        tuned = [cell for cell in of_it if cell["adaptation"] in _TUNING]
        if not (frozen and tuned):
            continue
        a, b = (max(some, key=lambda cell: cell["mean"]) for some in (frozen, tuned))
        pair = pairs[frozenset((a["id"], b["id"]))]
        better = None
        if is_alike(pair):
            better = ALIKE
        elif pair["decided"]:
            better = FROZEN if a["mean"] > b["mean"] else TUNED
        found[encoder[0]] = better
    return found


def _sentence(said: dict[str, Any]) -> str:
    if not said["here"]:
        return f"{said['sentence']} Here ❄ and 🔥 were not both run."
    here = "; ".join(f"{encoder}: {_SAID[better]}" for encoder, better in said["here"].items())
    return f"{said['sentence']} Here, {here}."
