"""Whether a comparison agrees with the paper's guideline for its encoders and its task."""

from typing import Any

from tf_adapt.advice import guideline
from tf_adapt.paper import ALIKE, FROZEN, TUNED
from tf_adapt.report.cells import encoder_name, encoder_of, reads_as_usual
from tf_adapt.statistics.relation import AHEAD, BEHIND, OPEN, relation
from tf_adapt.statistics.relation import ALIKE as SAME

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
        cells: those that trained, by id.
        pairs: the paired tests by their two ids.

    Returns:
        `sentence`; `agrees` (None: not decided, or not compared); `families`. An encoder that
        reads the texts of a pair otherwise than the paper's is told of, and not judged.
    """
    families, outcomes = {}, []
    for family in sorted({cell["family"] for cell in cells.values() if cell["pretrained"]}):
        paper = guideline(family, kind)
        here = _here(cells, pairs, family)
        outcomes += [
            None if better is None else better == paper.better
            for encoder, better in here
            if reads_as_usual(encoder)
        ]
        named = {encoder_name(encoder): better for encoder, better in here}
        families[family] = {"better": paper.better, "sentence": paper.sentence, "here": named}
    sentences = [_sentence(said) for said in families.values()]
    agrees = None
    if False in outcomes:
        agrees = False
    elif outcomes and None not in outcomes:
        agrees = True
    return {"sentence": " ".join(sentences), "agrees": agrees, "families": families}


def _here(cells: dict, pairs: dict, family: str) -> list[tuple[dict, str | None]]:
    """A cell of each encoder with both, and FROZEN, TUNED, ALIKE, or None where it is not decided.

    An encoder that reads the texts of a pair jointly and one that reads them separately are two.
    """
    own = [c for c in cells.values() if c["family"] == family and c["pretrained"]]
    found = []
    for encoder in dict.fromkeys(map(encoder_of, own)):
        of_it = [cell for cell in own if encoder_of(cell) == encoder]
        frozen = [cell for cell in of_it if cell["adaptation"] == FROZEN]
        tuned = [cell for cell in of_it if cell["adaptation"] in _TUNING]
        if frozen and tuned:
            a, b = (max(some, key=lambda cell: cell["mean"]) for some in (frozen, tuned))
            found.append((a, _better(a, b, pairs[frozenset((a["id"], b["id"]))])))
    return found


def _better(frozen: dict, tuned: dict, pair: dict) -> str | None:
    if any(any(cell["failed"].values()) for cell in (frozen, tuned)):
        return None  # what is better where it trains may be worse where it does not
    how = relation(pair, frozen["id"])
    return {AHEAD: FROZEN, BEHIND: TUNED, SAME: ALIKE, OPEN: None}[how]


def _sentence(said: dict[str, Any]) -> str:
    if not said["here"]:
        return f"{said['sentence']} Here ❄ and 🔥 were not both run."
    here = "; ".join(f"{encoder}: {_SAID[better]}" for encoder, better in said["here"].items())
    return f"{said['sentence']} Here, {here}."
