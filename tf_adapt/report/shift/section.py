"""The section of a report on other domains: scores there, and what is lost by the move."""

from tf_adapt.printing import words
from tf_adapt.printing.words import visible
from tf_adapt.report.blocks import Entry, Items, Section, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content
from tf_adapt.report.pairs import decision
from tf_adapt.report.shift.worst import best_in_worst, simple_models
from tf_adapt.statistics.relation import PairTest


def shift_section(content: Content, order: list[Ranked]) -> list[Section]:
    """Scores at home and in each domain, and the tests; none without other domains."""
    trained = [entry for entry in order if entry.cell.results.trained]
    if not content.shifted or not trained:
        return []
    return [
        Section(
            "Under shift",
            [
                _scores(content, trained),
                *([_tests(content, trained)] if len(trained) > 1 else []),
                Items([visible(one.description) for one in content.shifted]),
            ],
        )
    ]


def _scores(content: Content, order: list[Ranked]) -> Table:
    worst = best_in_worst(content)
    domains = [f"{visible(one.name)} ({one.examples:,})" for one in content.shifted]
    columns = ["cell", "home", *domains]
    rows = []
    for entry in order:
        row = [field_of(entry.name), field_of(entry.cell.results.shown)]
        for domain in content.shifted:
            found = domain.cells[entry.cell.id]
            shown = words.mean_and_deviation(found.mean, found.deviation)
            loss = words.signed_points(found.mean - entry.cell.results.mean)
            is_best = worst and (worst.name, worst.domain) == (entry.cell.id, domain.name)
            row.append([Entry(shown, loss, strong=bool(is_best))])
        rows.append(row)
    baseline = [content.baseline.score, *(domain.baseline for domain in content.shifted)]
    rows.append([field_of("baseline"), *(field_of(words.score(one)) for one in baseline)])
    for one in simple_models(content):
        there = [domain.references[one.name].mean for domain in content.shifted]
        shown = (field_of(words.score(score)) for score in (one.score, *there))
        rows.append([field_of(visible(one.name)), *shown])
    caption = (
        "Score × 100 at home and in each domain (its examples), with what the move gains. The "
        "domains chose nothing. Bold: the cell that is best in its worst domain. Simple models are "
        "not tested there"
    )
    return Table(caption, columns, rows)


def _tests(content: Content, order: list[Ranked]) -> Table:
    """Every pair of cells in each domain, and the difference of their differences."""
    names = {entry.cell.id: entry for entry in order}
    rows = []
    for domain in content.shifted:
        for pair, gap in zip(domain.pairs, domain.gaps, strict=True):
            first = min((pair.a, pair.b), key=lambda cell: names[cell].number)
            pair, gap = pair.seen_from(first), gap.seen_from(first)
            rows.append(
                [
                    field_of(visible(domain.name)),
                    field_of(names[first].name),
                    field_of(names[pair.b].name),
                    *_of_test(pair, content),
                    *_of_test(gap, content),
                ]
            )
    tested = "first − second there, × 100", "decided"
    moved = "that − the same at home", "decided"
    columns = ["domain", "first", "second", *tested, *moved]
    caption = (
        "The difference of two cells in each domain, and the difference of differences: who loses "
        "less by the move. Holm's correction over the pairs of all domains, for each of the two"
    )
    return Table(caption, columns, rows, left=(1, 2, 4, 6))


def _of_test(pair: PairTest, content: Content) -> list:
    spread = f" ({words.interval(pair.interval)})" if pair.interval else ""
    return [
        field_of(f"{words.signed_points(pair.difference)}{spread}"),
        field_of(decision(pair, len(content.seeds), content.seed)),
    ]
