"""The cell, and the simple model, that is best where it is worst."""

from dataclasses import dataclass

from tf_adapt.config.data_sections import HOME
from tf_adapt.report.content import Content, ReferenceScores


@dataclass(frozen=True)
class Worst:
    """A cell by its id or a simple model, and the domain in which it scores lowest."""

    name: str
    domain: str
    score: float


def best_in_worst(content: Content) -> Worst | None:
    """Of the pretrained cells that trained the one whose lowest mean, over home and the other
    domains, is highest; None without other domains or such cells."""
    lowest = []
    for cell in content.cells:
        if not content.shifted or not cell.pretrained or not cell.results.trained:
            continue
        means = {HOME: cell.results.mean}
        means |= {domain.name: domain.cells[cell.id].mean for domain in content.shifted}
        domain = min(means, key=means.get)
        lowest.append(Worst(cell.id, domain, means[domain]))
    return max(lowest, key=lambda one: one.score, default=None)


def simple_in_worst(content: Content) -> Worst | None:
    """As `best_in_worst`, of the simple models."""
    lowest = []
    for one in simple_models(content):
        means = {HOME: one.score}
        means |= {domain.name: domain.references[one.name].mean for domain in content.shifted}
        domain = min(means, key=means.get)
        lowest.append(Worst(one.name, domain, means[domain]))
    return max(lowest, key=lambda one: one.score, default=None)


def simple_models(content: Content) -> list[ReferenceScores]:
    """Those that answered in every other domain; none without such domains."""
    domains = content.shifted or []
    return [
        one
        for one in content.references
        if domains and all(one.name in domain.references for domain in domains)
    ]
