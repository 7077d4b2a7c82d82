"""`python -m benchmarks.budget`: does a comparison within minutes recommend what a whole one does?

Published comparisons (`docs/results`) are replayed: rungs see the curve of a seed after their share
of the epochs; where a report has no curves, the mean of each cell with the noise of one seed and of
dev, misled by the shorter training (`MISLED`). The finalists have the answers that are published,
and the verdict is made anew from these. Their numbers of cells and seeds are small, so grids are
drawn too. A run costs what it trains, epochs × examples, the same in all cells, and the fewest
steps of a rung (without curves of default epochs; drawn grids have long trainings).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import click
import numpy as np

from benchmarks.results.adding import HOME
from benchmarks.results.published import published
from tf_adapt.comparison.budget.halving import (
    RUNGS,
    Rates,
    finalists,
    group_of,
    kept,
    needs_rung,
    wanted,
)
from tf_adapt.comparison.budget.screening import fewest_steps
from tf_adapt.comparison.kept.answers import FILE, read_answers
from tf_adapt.comparison.kept.scores import rescored
from tf_adapt.comparison.verdict.ranking import ranking
from tf_adapt.paper import FROZEN
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell
from tf_adapt.statistics.relation import FEWEST_SEEDS

# Points: how far a cell's place differs in each rung from that after a whole training (in the
# quickstart's curves ❄ against 🔥 differs by 3.2 and 1.9); the noise of a run on 300 examples of
# dev, beside that of all cells; what a second rate is behind; a cell's luck on the test set.
MISLED, NOISE, WORSE_RATE, ITEMS = (4.0, 2.0), 1.4, 2.0, 1.0
EPOCHS, FROZEN_EPOCHS, BATCH = 6, 30, 16
SEEDS, ADAPTATIONS = 5, ("feature_extraction", "fine_tuning", "lora")


@click.command()
@click.option("--times", default=200, show_default=True, help="Of each comparison.")
def main(times: int) -> None:
    """Prints how often the recommendations agree, and the costs."""
    click.echo("| comparison | cells | same recommendation, % | within a point, % | cost, % |")
    click.echo("| --- | --- | --- | --- | --- |")
    for name, content in published().items():
        if len(content.seeds) >= FEWEST_SEEDS and len(content.cells) > 1:
            _show(name, len(content.cells), _replayed(name, content, times))
    for cells in (6, 12, 24):
        for spread in (2.0, 4.0, 8.0):
            drawn = [_drawn(np.random.default_rng([n, cells]), cells, spread) for n in range(times)]
            _show(f"drawn, {spread:g} points apart", cells, drawn)
            again = [
                _drawn(np.random.default_rng([n, cells]), cells, spread, False)
                for n in range(times)
            ]
            _show("… the whole one, twice", cells, again)


def _show(name: str, cells: int, found: list[tuple[bool, float, float]]) -> None:
    same, behind, cost = (np.array(column) for column in zip(*found, strict=True))
    shares = (same.mean(), (behind < 0.01).mean(), cost.mean())
    click.echo(f"| {name} | {cells} | {' | '.join(f'{100 * share:.0f}' for share in shares)} |")


def _replayed(name: str, content: Content, times: int) -> list[tuple[bool, float, float]]:
    """For each time whether the recommendations agree, how far the mean is behind, the cost."""
    answers = read_answers(HOME / name / FILE)
    cells = {cell.id: _with_parameters(cell) for cell in content.cells}
    content = replace(content, cells=list(cells.values()))
    whole, by_chosen = ranking(content).recommended, {}
    means = {n: 100 * (cell.results.mean or 0.0) for n, cell in cells.items()}
    deviations = {n: 100 * (cell.results.deviation or 0.0) for n, cell in cells.items()}
    groups = {n: group_of(cell.adaptation, cell.pretrained) for n, cell in cells.items()}
    batches = math.ceil(content.examples["train"] / BATCH)
    steps = {n: batches * _epochs(cell) for n, cell in cells.items()}
    has_curves = all(cell.curves for cell in cells.values())
    found = []
    for number in range(times):
        random = np.random.default_rng([number])
        curves = {n: random.choice(cell.curves) for n, cell in cells.items()} if has_curves else {}
        seen = _on_curves(curves) if curves else _misled(random, means, deviations)
        chosen, cost = _screened(seen, groups, content.trials, steps)
        if chosen not in by_chosen:
            some = replace(answers, cells={n: answers.cells[n] for n in chosen})
            part = replace(content, cells=[cells[n] for n in chosen], pairs=[])
            by_chosen[chosen] = ranking(rescored(part, some)).recommended
        mine = by_chosen[chosen]
        behind = (means[whole] - means[mine]) / 100
        trials = content.trials if content.trials > 1 else 0
        share = (
            (cost + len(chosen) * len(content.seeds)) / len(cells) / (trials + len(content.seeds))
        )
        found.append((mine == whole, behind, share))
    return found


def _epochs(cell: ScoredCell) -> int:
    if cell.curves:
        return len(cell.curves[0])
    return FROZEN_EPOCHS if cell.adaptation == FROZEN else EPOCHS


def _with_parameters(cell: ScoredCell) -> ScoredCell:
    """Old reports do not have their number: of alike cells the first is then recommended."""
    known = cell.costs.trainable_parameters or 0
    return replace(cell, costs=replace(cell.costs, trainable_parameters=known))


# What a run of a rung has on dev, in points: number of the rung, cell, rate.
Seen = Callable[[int, str, int], float]


def _misled(random, means: Mapping[str, float], deviations: Mapping[str, float]) -> Seen:
    places = [
        {name: mean + misled * random.standard_normal() for name, mean in means.items()}
        for misled in MISLED
    ]

    def seen(number: int, name: str, rate: int) -> float:
        noise = np.hypot(NOISE, deviations[name]) * random.standard_normal()
        return places[number][name] - WORSE_RATE * rate + noise

    return seen


def _on_curves(curves: Mapping[str, Sequence[float]]) -> Seen:
    def seen(number: int, name: str, rate: int) -> float:
        epochs = math.ceil(RUNGS[number].epochs * len(curves[name]))
        return 100 * max(curves[name][:epochs]) - WORSE_RATE * rate

    return seen


def _screened(
    seen: Seen, groups: Mapping[str, str], rates: int, steps: Mapping[str, float]
) -> tuple[tuple[str, ...], float]:
    """The finalists, and what the rungs cost in whole trainings.

    Args:
        groups, steps: of each cell; the steps of a whole training.
    """
    going: Rates = {name: tuple(range(rates)) for name in groups}
    tried, known, cost = going, [], 0.0
    for number, rung in enumerate(RUNGS):
        if known and not needs_rung(going, wanted(len(groups))):
            break
        known.append(
            {
                name: {rate: seen(number, name, rate) for rate in of_cell}
                for name, of_cell in going.items()
            }
        )
        for name, of_cell in going.items():
            share = max(rung.epochs * rung.examples, fewest_steps(number) / steps[name])
            cost += len(of_cell) * min(1.0, share)
        tried, going = going, kept(going, known, groups)
    return tuple(finalists(tried, known, groups, wanted(len(groups)))), cost


def _drawn(random, cells: int, spread: float, within: bool = True) -> tuple[bool, float, float]:
    """As `_replayed`, of a drawn grid of three rates and `SEEDS` seeds; recommended is the best
    mean. `within` False: the whole comparison again, with other seeds."""
    names = [str(number) for number in range(cells)]
    means = dict(zip(names, 80 + spread * random.standard_normal(cells), strict=True))
    deviations = dict.fromkeys(names, 1.0)
    groups = {
        name: group_of(ADAPTATIONS[number % len(ADAPTATIONS)], True)
        for number, name in enumerate(names)
    }

    # The scored seeds of both are the same runs; `again` has others.
    seeds = {n: means[n] + random.standard_normal(SEEDS) for n in names}
    again = {n: means[n] + random.standard_normal(SEEDS) for n in names}
    items = ITEMS * random.standard_normal(cells)  # of the test set
    whole = dict(zip(names, items + [seeds[n].mean() for n in names], strict=True))
    chosen, cost, count, scored = tuple(names), 0.0, SEEDS, again
    if within:
        seen = _misled(random, means, deviations)
        chosen, cost = _screened(seen, groups, 3, dict.fromkeys(names, np.inf))
        count, scored = FEWEST_SEEDS, seeds
    mine = {n: items[names.index(n)] + scored[n][:count].mean() for n in chosen}
    best, other = max(whole, key=whole.get), max(mine, key=mine.get)
    share = (cost + len(chosen) * count) / cells / (3 + SEEDS) if within else 1.0
    return best == other, (means[best] - means[other]) / 100, share


if __name__ == "__main__":
    main()
