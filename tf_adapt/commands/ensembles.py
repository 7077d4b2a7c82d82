"""The command that makes an ensemble of finished runs."""

from typing import TYPE_CHECKING

import click

from tf_adapt.commands.console import (
    PATH,
    json_option,
    print_result,
    quiet_option,
    start_tensorflow,
    trust_option,
)
from tf_adapt.printing import words

if TYPE_CHECKING:
    from tf_adapt.runs.ensemble_folder import EnsembleFile, SplitResult


@click.command()
@click.argument("runs", type=PATH, nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--out", required=True, type=PATH, metavar="DIR", help="A folder that is not there.")
@click.option(
    "--combine",
    type=click.Choice(["probabilities", "votes"]),
    default="probabilities",
    show_default=True,
    help="What is averaged for an example, or for a word: see the guide on more signal.",
)
@click.option(
    "--weights",
    type=click.Choice(["equal", "dev"]),
    default="equal",
    show_default=True,
    help="dev: chosen on dev, greedily; with --average weights: which runs take part.",
)
@click.option(
    "--average",
    type=click.Choice(["predictions", "weights"]),
    default="predictions",
    show_default=True,
    help="weights: one model with the mean of the runs' weights, in the folder of a run.",
)
@trust_option
@json_option
@quiet_option
def ensemble(
    runs: tuple[str, ...],
    out: str,
    combine: str,
    weights: str,
    average: str,
    trust: bool,
    as_json: bool,
) -> None:
    """Makes one model of several finished RUNs of one task, and tests it against the best of them.

    `predict`, `evaluate` and `export` take DIR like a run.
    """
    start_tensorflow()
    from tf_adapt.training.ensembles.ensembling import ensemble as make

    content = make(runs, out, combine, weights, average, trust)
    lines = [*_table(runs, content), "", *_tests(content), *_notes(content, len(runs))]
    name = "run folder" if average == "weights" else "ensemble"
    print_result(content.model_dump(mode="json"), [*lines, f"{name}: {out}"], as_json)


def _table(runs: tuple[str, ...], content: "EnsembleFile") -> list[str]:
    """A row for each run and one for all together, in columns."""
    rows = [["", "weight", *content.results]]
    for number, (run, member) in enumerate(zip(runs, content.members, strict=True)):
        scores = [words.score(result.members[number]) for result in content.results.values()]
        rows.append([words.visible(run), f"{member.weight:.2f}", *scores])
    together = "mean of weights" if content.combine == "weights" else "ensemble"
    rows.append([together, "", *(words.score(r.ensemble) for r in content.results.values())])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])],
        ).rstrip()
        for row in rows
    ]


def _tests(content: "EnsembleFile") -> list[str]:
    """For each split the difference to the best single run."""
    return [_test(split, result) for split, result in content.results.items()]


def _test(split: str, result: "SplitResult") -> str:
    from tf_adapt.statistics.pairs import FEWEST_ITEMS

    difference = words.signed_points(result.difference)
    items = words.counted(result.items, "item")
    if result.p is None:
        tested = f"no test with {items}" if result.items < FEWEST_ITEMS else "no item differs"
    else:
        tested = (
            f"95 % interval {words.interval(result.interval)}, p {words.probability(result.p)}; "
            f"paired over {items}"
        )
    return f"{split}: {difference} points over the best single run ({tested})"


def _notes(content: "EnsembleFile", count: int) -> list[str]:
    """What the numbers are worth."""
    metric = words.metric_name(content.metric)
    best = content.results["dev"].best + 1
    lines = [
        f"{metric} × 100; the best single run (number {best} of {count}) is the best on dev, where "
        "the runs' epochs were chosen too. One model against one: nothing is said of other seeds."
    ]
    if content.chosen_on_dev:
        what = "The runs that take part" if content.combine == "weights" else "The weights"
        lines.append(f"{what} were chosen on dev: the score and the test there are too good.")
    if content.thresholds_on_dev:
        lines.append("The thresholds of the labels were chosen on dev too.")
    if "test" not in content.results and (content.chosen_on_dev or content.thresholds_on_dev):
        lines.append("There is no test split: score it on other texts with `tf-adapt evaluate`.")
    return lines
