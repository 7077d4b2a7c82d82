"""Scores in the paper's layout (table 2): data sets across, adaptations and Δ down."""

import html
from collections.abc import Callable, Sequence

from tf_adapt import paper
from tf_adapt.analysis.pooling.effects import Effect, Score, order
from tf_adapt.printing.words import NOTHING, signed_points


def paper_rows(scores: Sequence[Score], effects: Sequence[Effect]) -> list[list[str]]:
    """The table as texts, its head first; below our encoders the paper's, where it has the
    adaptations."""
    datasets = _ordered({score.dataset for score in scores})
    rows = [["encoder", "adaptation", *datasets]]
    for encoder in dict.fromkeys(score.encoder for score in scores):
        arms = sorted({s.arm for s in scores if s.encoder == encoder}, key=order)
        for arm in arms:
            found = {s.dataset: s for s in scores if (s.encoder, s.arm) == (encoder, arm)}
            rows.append([encoder, named_arm(arm), *(_shown(found.get(name)) for name in datasets)])
        deltas = {
            e.dataset: e
            for e in effects
            if (e.encoder, e.a, e.b) == (encoder, paper.FROZEN, paper.TUNED)
        }
        if deltas:
            rows.append([encoder, "Δ", *(_delta(deltas.get(name)) for name in datasets)])
    return rows + _papers(datasets, {score.arm.split(" ")[0] for score in scores})


def _papers(datasets: Sequence[str], adaptations: set[str]) -> list[list[str]]:
    if not set(datasets) & set(paper.TABLE_2_DATASETS):
        return []
    rows = []
    for family, scores in paper.TABLE_2.items():
        name = f"{paper.MODELS[family]} (paper)"
        for place, adaptation in enumerate((paper.FROZEN, paper.TUNED)):
            if adaptation not in adaptations:
                continue
            numbers = [f"{scores[d][place]:.1f}" if d in scores else NOTHING for d in datasets]
            rows.append([name, named_arm(adaptation), *numbers])
        if adaptations >= {paper.FROZEN, paper.TUNED}:
            both = [scores.get(dataset) for dataset in datasets]
            differences = [one and (one[1] - one[0]) / 100 for one in both]
            deltas = [signed_points(difference) for difference in differences]
            rows.append([name, "Δ", *deltas])
    return rows


def _ordered(datasets: set[str]) -> list[str]:
    """The paper's data sets in its order, then the others by name."""
    known = [name for name in paper.TABLE_2_DATASETS if name in datasets]
    return known + sorted(datasets - set(known))


def named_arm(arm: str) -> str:
    """With its symbol, where it has one."""
    symbol = paper.SYMBOLS.get(arm.split(" ")[0])
    return f"{symbol} {arm}" if symbol else arm


def _shown(score: Score | None) -> str:
    if score is None:
        return NOTHING
    deviation = "" if score.deviation is None else f" ± {100 * score.deviation:.1f}"
    return f"{100 * score.mean:.1f}{deviation}"


def _delta(effect: Effect | None) -> str:
    if effect is None:
        return NOTHING
    return signed_points(effect.difference) + ("*" if effect.decided else "")


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + f"\n{_NOTE}\n"


def _html(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>\n"

    inside = f"<thead>\n{line(head, 'th')}</thead>\n<tbody>\n"
    inside += "".join(line(row, "td") for row in body) + "</tbody>\n"
    return f'<meta charset="utf-8">\n<table>\n{inside}</table>\n<p>{html.escape(_NOTE)}</p>\n'


def _latex(rows: Sequence[Sequence[str]]) -> str:
    head, *body = ([_in_latex(cell) for cell in row] for row in rows)
    lines = [f"\\begin{{tabular}}{{ll{'r' * (len(head) - 2)}}}", r"\hline"]
    lines += [f"{' & '.join(head)} \\\\", r"\hline"]
    lines += [f"{' & '.join(row)} \\\\" for row in body]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", f"% {_NOTE}", ""])


_NOTE = "Mean and deviation over seeds × 100; Δ is 🔥 − ❄; * decided by its comparison."
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "Δ": r"$\Delta$",
    "–": "--",
    "❄ ": "",
    "🔥 ": "",
}


def _in_latex(text: str) -> str:
    text = text.replace("❄ ", "").replace("🔥 ", "")
    return "".join(_LATEX.get(character, character) for character in text)


# The file's ending → what writes the table.
LAYOUTS: dict[str, Callable[[Sequence[Sequence[str]]], str]] = {
    "md": _markdown,
    "html": _html,
    "tex": _latex,
}
