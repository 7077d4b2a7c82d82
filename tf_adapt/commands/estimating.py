"""The command `tf-adapt estimate`: before training."""

import click

from tf_adapt.commands.console import PATH, json_option, print_result, set_option, start_tensorflow


@click.command()
@click.argument("config", type=PATH)
@set_option
@json_option
def estimate(config: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Ranks the layers of CONFIG's encoders by what their frozen states tell of the labels.

    For each layer, and the mean of all: a linear probe in closed form and the five nearest
    neighbours (both scored by five folds of train), LogME (exact evidence), H-score with shrinkage,
    TransRate, mutual information. Seconds for a thousand texts; --set data.train_examples=1000
    takes a part of more. CONFIG is that of a run or of a comparison; or the folder of a comparison,
    whose report then shows the measures. 🔥 − ❄ is predicted from the published comparisons where
    these are on enough other data sets; how well is said first.
    """
    start_tensorflow()
    from tf_adapt.analysis.estimate.estimating import estimate as estimated
    from tf_adapt.analysis.estimate.estimating import lines_of

    result = estimated(config, overrides)
    print_result(result, lines_of(result), as_json)
