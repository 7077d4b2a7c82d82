"""The sections of a report, in order, as blocks."""

from typing import Any

from tf_adapt.printing.weak_labels import weak_in_words
from tf_adapt.printing.words import counted, visible
from tf_adapt.report import tables
from tf_adapt.report.blocks import (
    Code,
    Folded,
    Items,
    Paragraph,
    Picture,
    Section,
)
from tf_adapt.report.budget.section import budget_section
from tf_adapt.report.cells import Ranked, best_of, ranked
from tf_adapt.report.content import Content
from tf_adapt.report.diagnosis.section import diagnosis_section
from tf_adapt.report.estimate.section import estimate_section
from tf_adapt.report.examples import answer_files_section, examples
from tf_adapt.report.figures.cost_figure import fastest_first, has_costs
from tf_adapt.report.figures.panels import with_curves, with_weights
from tf_adapt.report.figures.score_figure import (
    shown_references,
    shows_baseline,
    tests_against_best,
)
from tf_adapt.report.forgetting import forgetting
from tf_adapt.report.labels import labels_section, reliability_section
from tf_adapt.report.learning_curves import learning_curves
from tf_adapt.report.pairs import pair_tables
from tf_adapt.report.paper_table import paper_table
from tf_adapt.report.search.section import search_section
from tf_adapt.report.shift.section import shift_section
from tf_adapt.report.slices import slices
from tf_adapt.report.verdict_blocks import evidence_section, verdict_blocks

MANY_LABELS = 10


def sections(content: Content) -> list:
    """The whole report as blocks."""
    order = ranked(content.cells)
    banner, *lines = verdict_blocks(content)
    return [
        banner,
        _picture(content, order),
        *lines,
        evidence_section(content, order),
        _scores(content, order),
        *diagnosis_section(content, order),
        *estimate_section(content.estimate),
        *learning_curves(content, order),
        *shift_section(content, order),
        *slices(content, order),
        *forgetting(order),
        _costs(content, order),
        _tests(content, order),
        *_learning(content, order),
        *_weights(content, order),
        *_errors(content, order),
        *labels_section(content, order),
        *reliability_section(content, order),
        _choices(content, order),
        *search_section(content, order),
        *budget_section(content),
        _origin(content, order),
    ]


def _picture(content: Content, order: list[Ranked]) -> Picture:
    dashed = "dashed, the baseline" if shows_baseline(order, content) else "the baseline is far off"
    dashed += "; dotted, simple models" if shown_references(order, content) else ""
    right = ""
    if tests_against_best(order, content):
        right = (
            " On the right the difference from the best cell, with its interval (for this pair "
            "alone); an interval that holds 0 shows no difference."
        )
    return Picture(
        "scores",
        f"A dot for each {content.seed}, the mean as a line, ± the deviation over {content.seed}s "
        f"as a band; the best cell first; {dashed}.{right} The numbers of the cells are the same "
        "everywhere in this report.",
        "Scores of the cells, best first: " + _summary(order),
    )


def _scores(content: Content, order: list[Ranked]) -> Section:
    every = Folded("Every score", [tables.seeds_table(order, content.seeds, content.seed)])
    return Section("Scores", [paper_table(content), every])


def _summary(order: list[Ranked]) -> str:
    return "; ".join(f"{entry.name} {entry.cell.results.shown}" for entry in order)


def _costs(content: Content, order: list[Ranked]) -> Section:
    blocks, teacher = [], content.teacher
    if has_costs(order):
        front = "; ".join(entry.name for entry in fastest_first(order))
        trained = all(entry.cell.results.trained for entry in order)
        without = "" if trained else f" Cells of which no {content.seed} trained are not in it."
        blocks.append(
            Picture(
                "costs",
                "Score against training time: further left is faster, further up is better."
                f"{without}",
                f"Score against seconds of training. No faster cell scores higher than: {front}",
            )
        )
    blocks.append(tables.cost_table(order, content.seed))
    blocks += [] if teacher is None else [tables.teacher_table(teacher, order)]
    return Section("Costs", blocks)


def _tests(content: Content, order: list[Ranked]) -> Section:
    against_best, others = pair_tables(content, order)
    if against_best is None and others is None:
        few = "One cell alone" if len(order) == 1 else "Fewer than two cells trained"
        return Section("Pairwise tests", [Paragraph(f"{few}: there is nothing to test.")])
    blocks = []
    without = [entry.name for entry in order if not entry.cell.results.trained]
    if without:
        blocks.append(
            Paragraph(f"In no pair, since no {content.seed} trained: {'; '.join(without)}.")
        )
    blocks += [against_best] if against_best else []
    if others:
        blocks.append(Folded(f"The other pairs: {len(others.rows)}", [others]))
    return Section("Pairwise tests", blocks)


def _learning(content: Content, order: list[Ranked]) -> list:
    shown = with_curves(order)
    if not shown:
        return []
    picture = Picture(
        "curves",
        f"The score on {visible(content.chosen_on)} after each epoch, a line a training; the other "
        "cells faint behind.",
        "Learning curves of " + "; ".join(entry.name for entry in shown),
    )
    return [Section("Learning curves", [picture])]


def _weights(content: Content, order: list[Ranked]) -> list:
    shown = with_weights(order)
    if not shown:
        return []
    table = tables.weights_table(shown)
    heaviest = "; ".join(
        f"{entry.name}: layer {_heaviest(entry.cell.layer_weights)}" for entry in shown
    )
    picture = Picture(
        "layer_weights",
        f"How much each layer counts in the learned mix, mean over {content.seed}s.",
        f"Learned weights of the layers; the heaviest: {heaviest}",
    )
    return [Section("Which layers are used", [picture, Folded("As numbers", [table])])]


def _heaviest(weights: list[float]) -> int:
    return max(range(len(weights)), key=weights.__getitem__)


def _errors(content: Content, order: list[Ranked]) -> list:
    parts = []
    chosen = [
        entry for entry in (best_of(order, frozen=True), best_of(order, frozen=False)) if entry
    ]
    matrices = [
        tables.confusion_table(entry, content.labels, _runs(content, entry)) for entry in chosen
    ]
    if matrices:
        text = (
            "The best pretrained cell with a frozen encoder, and the best with another adaptation."
        )
        many = len(matrices[0].rows) > MANY_LABELS
        shown = [Folded("The matrices", matrices)] if many else matrices
        parts.append(Section("Which labels are confused", [Paragraph(text), *shown]))
    parts += answer_files_section(content, order)
    disputed = examples(content, order)
    if disputed:
        title, heading = counted(len(disputed), "example"), "What the cells answer"
        if any(one.right for one in content.disagreements):
            title, heading = f"{title}, the most disputed first", "Where the cells disagree"
        parts.append(Section(heading, [Folded(title, disputed)]))
    return parts


def _runs(content: Content, entry: Ranked) -> str:
    return counted(sum(score is not None for score in entry.cell.results.scores), content.seed)


def _choices(content: Content, order: list[Ranked]) -> Section:
    chosen_on, scored_on = visible(content.chosen_on), visible(content.scored_on)
    seeds = ", ".join(visible(seed) for seed in content.seeds)
    texts = [f"{visible(name)}: {visible(text)}" for name, text in content.splits.items()]
    trials = content.trials
    tried = "learning rates" if content.search is None else "settings of a search"
    chosen = "epochs" if trials == 1 else f"epochs and {tried}"
    texts.append(f"{chosen} were chosen on {chosen_on}; the scores above are on {scored_on}.")
    run_with = f"was run with {content.runs} ({seeds})."
    if content.budget is not None:
        texts.append(f"The learning rate of each cell was chosen by the screening; it {run_with}")
    elif trials == 1:
        texts.append(f"One learning rate in each cell, which {run_with}")
    elif content.search is None:
        unscored = f"{trials} learning rates tried in each cell, with a seed that is not scored"
        of_folds = (
            f"{trials} learning rates tried in each fold of the first repeat of each cell, where "
            "the runs with the chosen ones are scored"
        )
        texts.append(f"{of_folds if content.folds else unscored}; the chosen one {run_with}")
    texts += map(visible, content.extended or ())
    if content.start is not None:
        texts.append(f"Every run starts from {content.start}.")
    for name, sentences in (content.signals or {}).items():
        texts += [f"Signal {visible(name)}: {visible(sentence)}." for sentence in sentences]
    if content.weak is not None:
        texts.append(f"Every run is {weak_in_words(content.weak)}.")
    texts += _reads(order)
    texts += [_different(*setting, order) for setting in content.different.items()]
    blocks = [Items(texts)]
    if chosen_on == scored_on:
        warning = f"{chosen_on} both chose and scored: the scores are too good by that much."
        blocks.append(Paragraph(warning, warning=True))
    sources = [] if content.weak is None else [tables.sources_table(content.weak["sources"])]
    if content.search is None:
        sources.append(tables.tried_table(order, chosen_on, content.folds))
    return Section("How it was chosen", [*blocks, *sources])


def _reads(order: list[Ranked]) -> list[str]:
    """`The head reads the pooled vector (fine_tuning, linear).`, with the encoder where there are
    several."""
    variants: dict[str, list[str]] = {}
    are_several = len({entry.cell.encoder for entry in order}) > 1
    for entry in order:
        if entry.cell.reads:
            encoder = f"{entry.cell.encoder}, " if are_several else ""
            name = f"{encoder}{entry.cell.adaptation}, {entry.cell.head}"
            variants.setdefault(entry.cell.reads, []).append(name)
    return [
        visible(f"The head reads {reads} ({'; '.join(dict.fromkeys(names))}).")
        for reads, names in variants.items()
    ]


def _different(key: str, values: dict[str, Any], order: list[Ranked]) -> str:
    """`Not the same in all cells: training.epochs is 15 (feature_extraction), 4 (fine_tuning).`"""
    adaptations: dict[str, list[str]] = {}
    for entry in order:
        value = values[entry.cell.id]
        shown = "not set" if value is None else str(value)
        adaptations.setdefault(shown, []).append(entry.cell.adaptation)
    clauses = [f"{value} ({', '.join(dict.fromkeys(n))})" for value, n in adaptations.items()]
    return visible(f"Not the same in all cells: {key} is {', '.join(clauses)}.")


def _origin(content: Content, order: list[Ranked]) -> Section:
    hashes = {f"module {name}": value for name, value in content.modules.items()}
    hashes |= {f"data {name}": value for name, value in content.data.items()}
    versions = content.versions | {"machine": content.machine}
    blocks = [
        Code([content.command]),
        Folded(
            "The command of every run",
            [
                block
                for entry in order
                for block in (Paragraph(entry.name), Code(entry.cell.commands))
                if entry.cell.commands
            ],
        ),
        Folded(
            "Versions, machine, hashes",
            [
                tables.named_values("Versions and machine", ("what", "value"), versions),
                tables.named_values("Hashes (SHA-256)", ("what", "hash"), hashes),
            ],
        ),
    ]
    return Section("To repeat it", blocks)
