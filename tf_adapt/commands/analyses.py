"""The commands `tf-adapt analyze …`: section 5 of the paper on one's own data, each with a figure.

The commands import their implementation when called, so that help and usage errors are immediate.
"""

import click

from hub_modules.pooling_names import POOLING_NAMES
from tf_adapt.commands.console import (
    HANDLE,
    PATH,
    json_option,
    print_result,
    set_option,
    start_tensorflow,
)

_sources = click.argument("sources", type=HANDLE, nargs=-1, required=True, metavar="SOURCE…")
_out = click.option(
    "--out", required=True, type=PATH, metavar="DIR", help="The folder that gets the files."
)
_NAMES = click.Choice(POOLING_NAMES)
_pooling = click.option(
    "--pooling",
    type=_NAMES,
    help="Of the states of a text to its vector; mean by default. Not for tagging.",
)


@click.group()
def analyze() -> None:
    """What the layers of an encoder know before and after tuning, and how far apart domains are."""


@analyze.command()
@_sources
@_pooling
@click.option(
    "--word-pieces",
    type=_NAMES,
    help="Of the states of a word's pieces to its vector (tagging); by default first, of an "
    "AWD-LSTM last.",
)
@_out
@set_option
@json_option
def probes(
    sources: tuple[str, ...],
    pooling: str | None,
    word_pieces: str | None,
    out: str,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Fits a linear classifier to each layer's mean state, and scores it on dev.

    SOURCE is a config (its data, on its pretrained module) or the folder of a run (its data, on the
    pretrained and on the tuned encoder). Sources with the same data share a panel of the figure. In
    tagging each word is an item, scored by accuracy: a few hundred sentences are plenty (--set
    data.train_examples=300).
    """
    start_tensorflow()
    from tf_adapt.analysis.figures import probe_figure
    from tf_adapt.analysis.layers import probe_layers
    from tf_adapt.analysis.output import check_folder, layer_rows, write_analysis

    folder = check_folder(out, "probes", *sources)
    panels = probe_layers(sources, overrides, pooling, word_pieces)
    result = write_analysis(
        folder, "probes", {"panels": panels}, layer_rows(panels), lambda: probe_figure(panels)
    )
    _show(result, _layer_lines(panels, "score", "metric"), out, as_json)


@analyze.command()
@_sources
@_pooling
@_out
@set_option
@json_option
def information(
    sources: tuple[str, ...],
    pooling: str | None,
    out: str,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimates the mutual information of each layer's mean state with the label on dev.

    SOURCE as for probes. The estimator is EDGE 4.3.1; two checks stand beside it, random labels and
    random states: for classes they must come out near its floor of 0.001 bits, where less than
    about 0.05 bits ends too; for scores of a regression they lie at some hundredths of a bit. Do
    not compare datasets of different sizes: the estimate depends on the number of examples.
    """
    start_tensorflow()
    from tf_adapt.analysis.figures import information_figure
    from tf_adapt.analysis.layers import inform_layers
    from tf_adapt.analysis.output import check_folder, layer_rows, write_analysis

    folder = check_folder(out, "information", *sources)
    panels = inform_layers(sources, overrides, pooling)
    result = write_analysis(
        folder,
        "information",
        {"estimator": "EDGE 4.3.1", "unit": "bits", "panels": panels},
        layer_rows(panels),
        lambda: information_figure(panels),
    )
    _show(result, _layer_lines(panels, "bits"), out, as_json)


@analyze.command()
@_sources
@click.option("--genre", "genres", multiple=True, metavar="NAME", help="Only this one; repeatable.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Text to compare genres with, one text a line; repeatable.",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=PATH,
    metavar="RUN",
    help="Of a genre of these data; repeatable.",
)
@_out
@set_option
@json_option
def domains(
    sources: tuple[str, ...],
    genres: tuple[str, ...],
    references: tuple[str, ...],
    runs: tuple[str, ...],
    out: str,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measures how far apart corpora are: Jensen–Shannon divergence of their terms, in nats.

    SOURCE is one config, of a run or a comparison, whose examples have genres (data.dataset: mnli),
    or two text files or more, one text a line. With references, the text that an encoder was
    pretrained on or a sample of it: the divergence of each genre from each of them and from all of
    them together. With runs: beside it the accuracy of each on the genre that it was trained on,
    table 6 of the paper.
    """
    from tf_adapt.analysis.corpora import compare_files, compare_genres
    from tf_adapt.analysis.domain_figure import domain_figure
    from tf_adapt.analysis.output import check_folder, domain_rows, write_analysis

    folder = check_folder(out, "domains", *sources, *references)
    if len(sources) == 1:
        divergences = compare_genres(sources[0], overrides, genres, references, runs)
    elif genres or references or runs or overrides:
        raise click.UsageError(
            "Options '--genre', '--reference', '--run' and '--set' need one config as SOURCE."
        )
    else:
        divergences = compare_files(sources)
    result = write_analysis(
        folder, "domains", divergences, domain_rows(divergences), lambda: domain_figure(divergences)
    )
    _show(result, _domain_lines(divergences), out, as_json)


@analyze.command()
@click.argument("comparisons", type=PATH, nargs=-1, required=True, metavar="COMPARISON…")
@_out
@json_option
def pairs(comparisons: tuple[str, ...], out: str, as_json: bool) -> None:
    """Whether the words of two texts should see each other: tables 3 and 4 of the paper.

    COMPARISON is a folder of `tf-adapt compare` with the heads bi_attention and max_pooling, or
    with a BERT that reads both texts in one row and one that reads each by itself
    (configs/small/table3.yaml and table4.yaml).
    """
    from tf_adapt.analysis.output import check_folder, write_analysis
    from tf_adapt.analysis.pairs import lines, pairs_figure, read_comparisons, table_rows

    folder = check_folder(out, "pairs", *comparisons)
    rows = read_comparisons(comparisons)
    result = write_analysis(
        folder, "pairs", {"rows": rows}, table_rows(rows), lambda: pairs_figure(rows)
    )
    _show(result, lines(rows), out, as_json)


def _layer_lines(panels: list[dict], key: str, unit: str | None = None) -> list[str]:
    return [
        f"{panel['dataset']} {panel[unit] if unit else key}, {series['label']}: "
        + " ".join(f"{layer[key]:.3f}" for layer in series["layers"])
        for panel in panels
        for series in panel["series"]
    ]


def _domain_lines(divergences: dict) -> list[str]:
    width = max(map(len, divergences["corpora"]))
    lines = [
        f"{name:{width}} " + " ".join(f"{value:.3f}" for value in row)
        for name, row in zip(divergences["corpora"], divergences["matrix"], strict=True)
    ]
    references = divergences.get("references", [])
    for reference in references:
        name, genres = reference["name"], reference["genres"]
        to_reference = {genre: of_genre["divergence"] for genre, of_genre in genres.items()}
        of_own_samples = {genre: of_genre["own_sample"] for genre, of_genre in genres.items()}
        lines += [
            f"divergence from {name}: {_by_genre(to_reference)}",
            f"of samples of {name} of these sizes: {_by_genre(of_own_samples)}",
        ]
    lines += [
        f"accuracy, {series}: {_by_genre(accuracies)}"
        for series, accuracies in divergences.get("accuracies", {}).items()
    ]
    statements = [
        correlation["statement"]
        for reference in references
        for correlation in reference.get("correlations", {}).values()
    ]
    return lines + list(dict.fromkeys(statements))


def _by_genre(values: dict[str, float | None]) -> str:
    return ", ".join(
        f"{genre} {'too few texts' if value is None else format(value, '.3f')}"
        for genre, value in values.items()
    )


def _show(result: dict, lines: list[str], out: str, as_json: bool) -> None:
    files = f"{result['analysis']}.json, .csv, .svg and .png in {out}"
    print_result(result, [*lines, files], as_json)
