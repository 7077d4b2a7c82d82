"""The cell that is best where it is worst."""

from dataclasses import dataclass

from tf_adapt.report.content import Content


@dataclass(frozen=True)
class Worst:
    """A cell, and the domain in which it scores lowest."""

    cell: str
    domain: str
    score: float


HOME = "home"


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
