"""How two cells stand to each other: the one rule of verdict, guideline and report."""

AHEAD, BEHIND, ALIKE, OPEN = "ahead", "behind", "alike", "open"


def relation(pair: dict, name: str) -> str:
    """How a cell of a pair stands to the other one, by the keys of `pairs.compare_pairs`.

    Alike comes first: a difference that is shown to be within a point is no reason to pay for it,
    even where it is shown to be there.
    """
    if pair["alike"]:
        return ALIKE
    if not pair["decided"]:
        return OPEN
    return AHEAD if (pair["difference"] > 0) == (pair["a"] == name) else BEHIND
