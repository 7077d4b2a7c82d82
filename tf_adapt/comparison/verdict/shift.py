"""Sentences on a comparison's cells in other domains. Pure functions."""

from tf_adapt.comparison.verdict.phrases import interval_text
from tf_adapt.comparison.verdict.ranking import Ranking
from tf_adapt.printing.words import counted, score, signed_points, visible
from tf_adapt.report.content import Content
from tf_adapt.report.shift.domains import ShiftedDomain
from tf_adapt.report.shift.worst import best_in_worst, simple_in_worst, simple_models
from tf_adapt.statistics.relation import AHEAD, ALIKE, BEHIND, PairTest, relation

SUBJECT = "Under shift"


def shift_in_short(ranking: Ranking) -> str:
    """`Abroad: on travel it is behind B (78.0 against 86.7, 97 % interval −12.3 to −5.1); on slate
    nothing is decided against B (…).`, of the recommended cell; empty without other domains."""
    clauses = [_clause(ranking, domain) for domain in ranking.content.shifted or ()]
    clauses = [clause for clause in clauses if clause]
    return f"Abroad: {'; '.join(clauses)}." if clauses else ""


def shift_sentences(ranking: Ranking) -> list[str]:
    """What the recommended cell loses by the move, whether others lose less, and which cell is best
    in its worst domain."""
    content = ranking.content
    if not content.shifted:
        return []
    sentences = [shift_in_short(ranking)]
    for domain in content.shifted:
        sentences += _losses(ranking, domain)
    worst = best_in_worst(content)
    if worst is not None:
        named, simple = ranking.names[worst.name], simple_in_worst(content)
        sentences.append(
            f"Best in its worst domain: {named}, {score(worst.score)} ({visible(worst.domain)}); "
            "read from the same scores, without a test."
        )
        if simple is not None and simple.score > worst.score:
            sentences.append(
                f"The simple model, {visible(simple.name)}, has {score(simple.score)} at least "
                f"({visible(simple.domain)})."
            )
    return [*sentences, *_overlaps(content)]


def _clause(ranking: Ranking, domain: ShiftedDomain) -> str:
    """The recommended cell against the best of a domain, or the next one."""
    name, where = ranking.recommended, f"on {visible(domain.name)}"
    others = [
        other
        for other, cell in ranking.cells.items()
        if cell.pretrained and other != name and other in domain.cells
    ]
    if name not in domain.cells or not others:
        return ""
    rival = max(others, key=lambda other: domain.cells[other].mean)
    pair = _between(domain.pairs, name, rival)
    too = " too" if relation(ranking.between(name, rival), name) == AHEAD else ""
    said = {
        AHEAD: f"it is ahead of {ranking.names[rival]}{too}",
        BEHIND: f"it is behind {ranking.names[rival]}",
        ALIKE: f"it is alike with {ranking.names[rival]}",
    }.get(relation(pair, name), f"nothing is decided against {ranking.names[rival]}")
    spread = f", {_interval(ranking.content, pair)}" if pair.interval else ""
    scores = f"{score(domain.cells[name].mean)} against {score(domain.cells[rival].mean)}"
    best = max(domain.cells[name].mean, domain.cells[rival].mean)
    return f"{where} {said} ({scores}{spread}){_simple(ranking.content, domain, best)}"


def _interval(content: Content, pair: PairTest) -> str:
    """The interval, with why it decides nothing where it does not say it."""
    shown, (low, high) = interval_text(pair), pair.interval
    if pair.decided or low <= 0 <= high:
        return shown
    tested = sum(one.p_holm is not None for domain in content.shifted for one in domain.pairs)
    return f"{shown}, which is too little among {counted(tested, 'pair')}"


def _simple(content: Content, domain: ShiftedDomain, best: float) -> str:
    """`, and the simple model X has 78.6`, where it scores above the best cell; without a test."""
    means = {one.name: domain.references[one.name].mean for one in simple_models(content)}
    name = max(means, key=means.get, default=None)
    if name is None or means[name] <= best:
        return ""
    return f", and the simple model, {visible(name)}, has {score(means[name])}"


def _losses(ranking: Ranking, domain: ShiftedDomain) -> list[str]:
    """`From home to travel A loses 13.0 points, B loses 4.3: the difference, −8.7 (…), is
    decided.`, of the recommended cell against the others that trained."""
    name, sentences = ranking.recommended, []
    for other in domain.cells:
        if other == name or name not in domain.cells:
            continue
        pair = _between(domain.gaps, name, other)
        change, of_other = (_change(ranking, domain, cell) for cell in (name, other))
        said = "decided" if pair.decided else "alike, within a point" if pair.alike else "open"
        spread = f" ({interval_text(pair)})" if pair.interval else ""
        where, who = visible(domain.name), ranking.names[name]
        sentences.append(
            f"From home to {where} {who} {change} points, {ranking.names[other]} {of_other}: "
            f"the difference, {signed_points(pair.difference)}{spread}, is {said}."
        )
    return sentences


def _change(ranking: Ranking, domain: ShiftedDomain, cell: str) -> str:
    """`loses 13.0`, `gains 3.0`."""
    gain = domain.cells[cell].mean - ranking.cells[cell].results.mean
    return f"{'gains' if gain > 0 else 'loses'} {score(abs(gain))}"


def _between(pairs: list[PairTest], name: str, other: str) -> PairTest:
    (pair,) = (pair for pair in pairs if {pair.a, pair.b} == {name, other})
    return pair.seen_from(name)


def _overlaps(content: Content) -> list[str]:
    return [
        f"{visible(domain.name)}: {domain.overlap_with_train:,} of {domain.examples:,} share a "
        "text with train."
        for domain in content.shifted
        if domain.overlap_with_train
    ]
