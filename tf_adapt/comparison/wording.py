"""How a verdict names cells, and what it says of their scores and failures."""

from collections import Counter
from collections.abc import Sequence

from tf_adapt.report.cells import encoder_name
from tf_adapt.words import amount, mean_and_deviation, score, visible

NAMED = 2


def describe_all(cells: Sequence[dict]) -> dict[str, str]:
    """A name for each cell that says what it is; by its id where two would be called the same."""
    names = {cell["id"]: _described(cell) for cell in cells}
    counts = Counter(names.values())
    return {key: name if counts[name] == 1 else key for key, name in names.items()}


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def few(names: Sequence[str], rivals: int) -> str:
    """By name, or as a number where the names would hide the sentence; the report lists them."""
    if len(names) <= NAMED:
        return listed(names)
    if len(names) == rivals:
        return f"any of the {rivals} other pretrained cells"
    return f"{len(names)} of the {rivals} other pretrained cells"


def with_score(name: str, cell: dict) -> str:
    """`NAME at 81.0 ± 1.0`, the mean of the seeds that trained."""
    return f"{name} at {mean_and_deviation(cell)}"


def failures(cell: dict, seeds: int) -> str:
    """`failed in 2 of 3 seeds (1 diverged, 1 no better than the baseline on dev): 81.0 without
    them, 54.2 with them`."""
    kinds = {"diverged": "diverged", "at_baseline": "no better than the baseline on dev"}
    counts = {words: cell["failed"][kind] for kind, words in kinds.items() if cell["failed"][kind]}
    total = sum(counts.values())
    if len(counts) == 1 and cell["failed"]["diverged"]:
        said = f"diverged in {total} of {seeds} seeds"
    else:
        why = ", ".join(f"{n} {words}" if len(counts) > 1 else words for words, n in counts.items())
        said = f"failed in {total} of {seeds} seeds ({why})"
    if not cell["trained"]:
        return said
    pronoun = "it" if total == 1 else "them"
    return f"{said}: {score(cell['mean'])} without {pronoun}, {score(cell['mean_of_all'])} with"


def answer_text(content: dict) -> str:
    """The constant answer of the baseline, in words."""
    answer = content["baseline"]["answer"]
    if isinstance(answer, float):
        return f"train's mean, {amount(answer)},"
    if content["kind"] == "tagging":
        return "answering O"
    return f"answering {visible(repr(answer))}, train's most frequent label,"


def _described(cell: dict) -> str:
    settings = "".join(f" {key} {value}" for key, value in cell["settings"].items())
    return f"{encoder_name(cell)} with {cell['adaptation']}{settings} ({cell['head']} head)"
