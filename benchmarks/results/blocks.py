"""What is made for a place of a page: a table of one comparison, or of several together."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.results.published import beginning
from tf_adapt.analysis.pooling.effects import effects_of
from tf_adapt.analysis.pooling.layouts import LAYOUTS, named_arm, paper_rows
from tf_adapt.analysis.pooling.pooled import pooled
from tf_adapt.comparison.verdict.guidelines import agreement
from tf_adapt.comparison.verdict.phrases import answer_text
from tf_adapt.paper import FROZEN, SYMBOLS, TUNED
from tf_adapt.printing import words
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell
from tf_adapt.statistics.relation import AHEAD, ALIKE, BEHIND, OPEN, PairTest, relation

Contents = dict[str, Content]
NOTHING = "None is published yet."
# The interval of two is as wide as the scale.
FEWEST_POOLED = 3
PICTURE = """![Tuned minus frozen, in points, by encoder and data set](images/what_we_found.svg)

A line is a data set: the best score of 🔥 tuning everything minus the best of ❄ freezing, with \
its interval. Red: tuning is decided ahead; blue: freezing is; grey: nothing is decided \
after Holm's correction, though an interval, of its pair alone, may lack 0."""
_EMPTY = ("", words.NOTHING)


def comparison_block(contents: Contents, name: str) -> str:
    """Data, command, the cells with their difference from the best, what else was tried first."""
    content = contents[name]
    order_of_cells = [one.cell for one in ranked(content.cells)]
    head = [
        "",
        words.metric_name(content.metric),
        "from the best",
        "weights trained",
        "seconds",
    ]
    rows = [[_named(cell), *_row(cell, order_of_cells[0], content)] for cell in order_of_cells]
    simple = [(words.visible(one.name), one.score) for one in content.references]
    simple.append((answer_text(content.baseline.answer, content.kind), content.baseline.score))
    rows += [[label, words.score(score), *[""] * 3] for label, score in simple]
    return f"{_about(content)}\n\n{as_table(head, rows)}"


def _about(content: Content) -> str:
    examples = content.examples
    train = f"{examples['train']:,} to learn from" if "train" in examples else ""
    parts = [
        f"`{content.dataset}`",
        *([train] if train else []),
        f"{re.split('[;,] ', content.items.text)[0]} scored",
        content.runs,
    ]
    return f"{'; '.join(parts)}. `{content.command}`"


def _row(cell: ScoredCell, best: ScoredCell, content: Content) -> list[str]:
    costs = cell.costs
    return [
        _score(cell, content),
        _difference(cell, best, content),
        words.parameters(costs.trainable_parameters),
        "" if costs.training_seconds is None else f"{costs.training_seconds:,.0f}",
    ]


def _score(cell: ScoredCell, content: Content) -> str:
    failed = cell.results.failed.total
    told = f" ({failed} of {len(content.seeds)} failed)" if failed else ""
    return cell.results.shown + told


def _difference(cell: ScoredCell, best: ScoredCell, content: Content) -> str:
    """`−3.1 (−5.0 to −1.2), decided`."""
    for pair in content.pairs:
        if {pair.a, pair.b} == {cell.id, best.id} and cell.id != best.id:
            pair = pair.seen_from(cell.id)
            said = relation(pair, cell.id)
            said = {ALIKE: "alike", OPEN: "open"}.get(said, "decided")
            spread = f" ({words.interval(pair.interval)})" if pair.interval else ""
            return f"{words.signed_points(pair.difference)}{spread}, {said}"
    return ""


def _named(cell: ScoredCell) -> str:
    symbol = SYMBOLS.get(cell.adaptation)
    settings = "".join(f", {key} {value}" for key, value in sorted(cell.settings.items()))
    parts = [cell.encoder + ("" if cell.pretrained else " untrained"), cell.adaptation + settings]
    return f"{symbol + ' ' if symbol else ''}{', '.join(parts)} ({cell.head})"


def frozen_tuned_block(contents: Contents, prefix: str) -> str:
    """The best ❄ and the best 🔥 cell of each encoder, where a comparison has both, and which of
    the two is decided ahead."""
    head = ["data", "encoder", "metric", "❄ frozen", "🔥 tuned", "decided", "seeds", "config"]
    rows = [_frozen_tuned_row(*both) for both in tuned_and_frozen(contents, prefix)]
    return as_table(head, rows) if rows else NOTHING


def tuned_and_frozen(
    contents: Contents, prefix: str = "all"
) -> list[tuple[Content, ScoredCell, ScoredCell]]:
    """The best ❄ and the best 🔥 cell of each encoder of each comparison that has both."""
    return [
        (content, best[FROZEN], best[TUNED])
        for content in beginning(contents, prefix).values()
        for best in _best_by_encoder(content)
        if best.keys() >= {FROZEN, TUNED}
    ]


def _best_by_encoder(content: Content) -> list[dict[str, ScoredCell]]:
    """For each pretrained encoder its best cell of each adaptation."""
    found: dict[str, dict[str, ScoredCell]] = {}
    for entry in ranked(content.cells):
        if entry.cell.pretrained:
            found.setdefault(entry.cell.encoder, {}).setdefault(entry.cell.adaptation, entry.cell)
    return list(found.values())


def _frozen_tuned_row(content: Content, frozen: ScoredCell, tuned: ScoredCell) -> list[str]:
    said = relation(tuned_against_frozen(content, frozen, tuned), tuned.id)
    return [
        f"{data_name(content.dataset)}, {content.examples['train']:,} to learn from",
        tuned.encoder,
        words.metric_name(content.metric),
        _score(frozen, content),
        _score(tuned, content),
        {AHEAD: "🔥", BEHIND: "❄"}.get(said, said),
        str(len(content.seeds)),
        f"`{config_of(content)}`",
    ]


def config_of(content: Content) -> str:
    """The config in a comparison's command."""
    (config,) = [word for word in content.command.split() if word.endswith(".yaml")]
    return config


def tuned_against_frozen(content: Content, frozen: ScoredCell, tuned: ScoredCell) -> PairTest:
    """The comparison's test of the two, as difference tuned − frozen."""
    (pair,) = [pair for pair in content.pairs if {pair.a, pair.b} == {frozen.id, tuned.id}]
    return pair.seen_from(tuned.id)


def data_name(dataset: str) -> str:
    """Of data in a file that of its folder."""
    return Path(dataset).parent.name if "/" in dataset else dataset


def layout_block(contents: Contents, prefix: str) -> str:
    """The scores in the paper's layout, beside the paper's own."""
    some = beginning(contents, prefix)
    return LAYOUTS["md"](paper_rows(*effects_of(some))) if some else NOTHING


def pooled_block(contents: Contents, prefix: str) -> str:
    """🔥 and each other adaptation of each encoder on `FEWEST_POOLED` data sets or more: pooled
    difference by family of metrics, deviation over data sets, where one more is expected, for how
    many one is decided ahead, and in at least how many it is ahead by partial conjunction."""
    _, effects = effects_of(beginning(contents, prefix))
    some = [effect for effect in effects if TUNED in (effect.a, effect.b)]
    rows = [line for row in pooled(some) for line in _pooled_rows(row)]
    if not rows:
        return NOTHING
    head = [
        "encoder",
        "difference",
        "scores",
        "data sets",
        "pooled, 95 % interval",
        "τ",
        "one more data set",
        "decided for, against",
        "ahead in at least",
    ]
    return as_table(head, rows)


def _pooled_rows(row: dict) -> list[list[str]]:
    rows = []
    for family, some in row["families"].items():
        if some is None or some["datasets"] + some["identical"] < FEWEST_POOLED:
            continue
        difference = f"{named_arm(row['b'])} − {named_arm(row['a'])}"
        decided = f"{some['decided_for_b']}, {some['decided_for_a']}"
        ahead = f"{some['b_ahead_in_at_least']}, {some['a_ahead_in_at_least']}"
        estimate = f"{words.signed_points(some['estimate'])} ({words.interval(some['interval'])})"
        expected = words.interval(some["prediction"]) if some["prediction"] else ""
        count = str(some["datasets"] + some["identical"])
        tau = f"{100 * some['tau']:.1f}"
        rows.append(
            [row["encoder"], difference, family, count, estimate, tau, expected, decided, ahead]
        )
    return rows


def guidelines_block(contents: Contents, prefix: str) -> str:
    """What the paper advises where a comparison decides, and what was found; then how often none
    does."""
    rows, undecided = [], 0
    for content in beginning(contents, prefix).values():
        pairs = {frozenset((pair.a, pair.b)): pair for pair in content.pairs}
        found = agreement(content.cells, pairs, content.kind)
        for of_family in found.families.values():
            for encoder, better in of_family.here.items():
                if better is None:
                    undecided += 1
                else:
                    advice = named_arm(of_family.better)
                    rows.append([content.dataset, encoder, advice, named_arm(better)])
    head = ["data", "encoder", "the paper advises", "here"]
    parts = [as_table(head, rows)] if rows else []
    parts += [f"Nothing is decided for {undecided} more."] if undecided else []
    return "\n\n".join(parts) or NOTHING


def picture_block(contents: Contents, prefix: str) -> str:
    """The picture of 🔥 − ❄, and how it is read."""
    return PICTURE if tuned_and_frozen(contents, prefix) else NOTHING


def as_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown; columns without any value are left out."""
    kept = [n for n in range(len(head)) if n == 0 or any(row[n] not in _EMPTY for row in rows)]
    lines = [head, ["---"] * len(head), *rows]
    lines = [[line[n] for n in kept] for line in lines]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


BLOCKS: dict[str, Callable[[Contents, str], str]] = {
    "comparison": comparison_block,
    "frozen_tuned": frozen_tuned_block,
    "layout": layout_block,
    "pooled": pooled_block,
    "guidelines": guidelines_block,
    "picture": picture_block,
}
