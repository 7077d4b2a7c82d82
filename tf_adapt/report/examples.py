"""Examples on which cells disagree, as blocks."""

from tf_adapt.report.blocks import Example
from tf_adapt.report.cells import Ranked
from tf_adapt.words import visible

LONGEST_TEXT, LONGEST_ANSWER = 600, 200


def examples(content: dict, order: list[Ranked]) -> list[Example]:
    """Each example with the cells grouped by their answer, the most frequent answer first."""
    return [_example(found, order) for found in content["disagreements"] or []]


def _example(found: dict, order: list[Ranked]) -> Example:
    texts = [("text" if found["text_b"] is None else "first text", found["text_a"])]
    if found["text_b"] is not None:
        texts.append(("second text", found["text_b"]))
    groups: dict[str, list[str]] = {}
    for one in order:
        if one.cell["id"] in found["answers"]:
            groups.setdefault(str(found["answers"][one.cell["id"]]), []).append(one.name)
    label = str(found["label"])
    return Example(
        visible(found["where"]),
        [(name, _cut(text, LONGEST_TEXT)) for name, text in texts],
        _cut(label, LONGEST_ANSWER),
        [
            (_cut(answer, LONGEST_ANSWER), answer == label, names)
            for answer, names in sorted(groups.items(), key=lambda group: -len(group[1]))
        ],
    )


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return visible(text)
    return f"{visible(text[:longest])}… ({len(text):,} characters, whole in report.json)"
