"""The command `tf-adapt pool`: many comparisons, one question."""

import click

from tf_adapt.commands.console import PATH, json_option, print_result


@click.command()
@click.argument("folders", type=PATH, nargs=-1, required=True, metavar="DIR…")
@click.option(
    "--out", required=True, type=PATH, metavar="DIR", help="The folder that gets the files."
)
@json_option
def pool(folders: tuple[str, ...], out: str, as_json: bool) -> None:
    """Pools the differences of adaptations over several comparisons (DIR…).

    For each encoder and each pair of its adaptations: the random-effects estimate by family of
    metrics, where one more data set is expected, and in at least how many data sets one is ahead;
    a forest plot; the scores in the layout of the paper's table 2 (Markdown, HTML, LaTeX).
    """
    from tf_adapt.analysis.pooling.pooled import lines_of, pool_comparisons

    result = pool_comparisons(folders, out)
    print_result(result, [*lines_of(result), f"figure and tables: {out}"], as_json)
