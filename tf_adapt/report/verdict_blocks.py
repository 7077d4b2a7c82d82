"""The first blocks of a report: the verdict, what to read first, and its evidence by subject."""

from tf_adapt.printing.words import counted, visible
from tf_adapt.report.blocks import Banner, Items, Paragraph, Section, Split
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Agreement, Content, Verdict
from tf_adapt.statistics.relation import FEWEST_REPEATS, FEWEST_SEEDS

AGREES = {
    True: "This comparison agrees with it.",
    False: "This comparison does not agree with it.",
    None: "This comparison can neither confirm nor contradict it.",
}
MOST_LINES = 6
# The last subjects; the verdict's evidence has sentences on the first and the last of them.
DATA, PAPER, NEXT = "Data and split", "The paper's guideline", "What to do next"


def title(content: Content) -> str:
    """The title of the report."""
    return f"To tune or not to tune: {visible(content.dataset)}"


def verdict_blocks(content: Content) -> list:
    """The headline, the split, and at most six lines."""
    verdict = content.verdict
    sentence = verdict.sentence if verdict else "No verdict: the comparison has not come to one."
    decided = verdict.decided if verdict else None
    lines = [] if verdict is None else [visible(line) for line in verdict.first]
    if lines:
        whose = "The model" if verdict.next_step == "use" else "The cell's model"
        lines[0] += f" {whose} is in {visible(verdict.exported)}." if verdict.exported else ""
        lines = [*lines, *_guideline(verdict.guideline)][:MOST_LINES]
    return [
        Banner(title(content), visible(sentence), decided),
        _split(content),
        *([Items(lines)] if lines else []),
    ]


def evidence_section(content: Content, order: list[Ranked]) -> Section:
    """What the verdict rests on: a list for each subject, and what is known of failed seeds.

    Args:
        order: the `ranked` cells.
    """
    missing = _missing(content, order)
    by_subject = _by_subject(content, content.verdict)
    return Section(
        "What this rests on",
        [
            *([Paragraph(missing, warning=True)] if missing else []),
            *(Items(texts, subject) for subject, texts in by_subject if texts),
            *([Paragraph(visible(content.summary))] if content.summary else []),
        ],
    )


def _split(content: Content) -> Split:
    """With folds, the parts of one of them."""
    counts, folds = content.examples, content.folds
    scored = counts[content.scored_on]
    parts = [("to train on", counts.get("train", 0)), ("to choose", counts[content.chosen_on])]
    if folds is None:
        return Split([*parts, ("scored", scored)])
    return Split(
        [*parts, ("scored", round(scored / folds))],
        f"{folds} times with other parts, so that each of {scored:,} examples is scored by a model "
        "that did not see it",
    )


def _by_subject(content: Content, verdict: Verdict | None) -> list[tuple[str, list[str]]]:
    if verdict is None:
        return [(DATA, [_what(content)])]
    by_subject = {
        visible(subject): [visible(text) for text in texts]
        for subject, texts in verdict.evidence.items()
    }
    data, then = [_what(content), *by_subject.pop(DATA, [])], by_subject.pop(NEXT, [])
    if verdict.exported:
        then.append(f"Exported for serving: {visible(verdict.exported)}.")
    paper = _guideline(verdict.guideline)
    return [*by_subject.items(), (DATA, data), (PAPER, paper), (NEXT, then)]


def _guideline(guideline: Agreement) -> list[str]:
    if not guideline.sentence:
        return []
    sentence = visible(guideline.sentence)
    return [f"{sentence} {AGREES[guideline.agrees]}"] if guideline.families else [sentence]


def _what(content: Content) -> str:
    counts = ", ".join(f"{split} {count:,}" for split, count in content.examples.items())
    return (
        f"Compared: {counted(len(content.cells), 'cell')} with "
        f"{content.runs} each on {visible(content.dataset)} "
        f"({visible(content.kind)}; examples: {visible(counts)})."
    )


def _missing(content: Content, order: list[Ranked]) -> str:
    """The warning on cells with failed seeds; empty if there are none."""
    seeds, seed, lacking = len(content.seeds), content.seed, []
    for entry in order:
        diverged, low = entry.cell.results.failed.diverged, entry.cell.results.failed.one_answer
        clauses = [f"diverged in {diverged} of {seeds}"] if diverged else []
        clauses += [f"one answer to everything in {low} of {seeds}"] if low else []
        lacking += [f"{entry.name}: {', '.join(clauses)}"] if clauses else []
    if not lacking:
        return ""
    means = f"Means and tests are of the {seed}s that trained"
    fewest = FEWEST_REPEATS if content.folds else FEWEST_SEEDS
    results = [entry.cell.results for entry in order]
    if any(of_cell.mean is not None and not of_cell.trained for of_cell in results):
        means += " (means, where none did, of those with a score)"
    return (
        f"{seed.capitalize()}s that failed: {'; '.join(lacking)}. {means}; a cell of which fewer "
        f"than {fewest} did is not decided."
    )
