"""Blocks of examples on which the cells' predictions differ."""

from tf_adapt.printing.words import visible
from tf_adapt.report.blocks import Example
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content, Disagreement

LONGEST_TEXT, LONGEST_ANSWER = 600, 200


def examples(content: Content, order: list[Ranked]) -> list[Example]:
    """Each example, with cells grouped by predicted label, most frequent first."""
    return [_example(disagreement, order) for disagreement in content.disagreements]


def _example(disagreement: Disagreement, order: list[Ranked]) -> Example:
    texts = [("text" if disagreement.text_b is None else "first text", disagreement.text_a)]
    if disagreement.text_b is not None:
        texts.append(("second text", disagreement.text_b))
    groups: dict[tuple[str, bool], list[str]] = {}
    for entry in order:
        cell = entry.cell.id
        if cell in disagreement.answers:
            answer = disagreement.answers[cell], cell in disagreement.right
            groups.setdefault(answer, []).append(entry.name)
    return Example(
        visible(disagreement.where),
        [(name, _cut(text, LONGEST_TEXT)) for name, text in texts],
        _cut(disagreement.label, LONGEST_ANSWER),
        [
            (_cut(answer, LONGEST_ANSWER), is_right, names)
            for (answer, is_right), names in sorted(
                groups.items(), key=lambda group: -len(group[1])
            )
        ],
    )


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return visible(text)
    return f"{visible(text[:longest])}… ({len(text):,} characters, whole in report.json)"
