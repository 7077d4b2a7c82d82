"""Blocks of examples on which the cells' predictions differ, and where all errors lie."""

from tf_adapt.printing.words import counted, listed, visible
from tf_adapt.report.blocks import Example, Items, Section
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


def answer_files_section(content: Content, order: list[Ranked]) -> list[Section]:
    """Where the answers of the recommended cell lie, and how many labels are likely wrong."""
    files = content.answer_files
    if files is None:
        return []
    name = next(entry.name for entry in order if entry.cell.id == files.cell)
    texts = [
        f"{listed(files.names)}, beside this report: the answers of {name}; the errors of the "
        f"first {content.seed}, the most confident first where that is known."
    ]
    if files.label_errors is not None:
        texts.append(label_errors_in_words(content))
    return [Section("Errors, text by text", [Items(texts)])]


def label_errors_in_words(content: Content) -> str:
    """`23 labels of 317 examples may be wrong …: label_errors.csv, the surest first. …`"""
    found, total = content.answer_files.label_errors, content.examples[content.scored_on]
    if not found:
        return "No label looks wrong by confident learning."
    labels = f"{counted(found, 'label')} of {total:,} examples"
    return (
        f"{labels} may be wrong, by models that did not see them: label_errors.csv, the surest "
        "first. Look at these before you trust a score."
    )
