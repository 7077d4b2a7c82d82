"""`python -m tf_adapt.commands.students check CONFIG …`: checks runs that wait for their teacher.

A comparison calls it before it trains: see `tf_adapt.comparison.plan.students`.
"""

from pathlib import Path

import click

from tf_adapt.commands.console import PATH, start_tensorflow
from tf_adapt.commands.main import Commands, run


@click.command()
@click.argument("configs", nargs=-1, required=True, type=PATH)
def check(configs: tuple[str, ...]) -> None:
    """Builds the models of CONFIGS and reads their texts; trains nothing."""
    start_tensorflow()
    from tf_adapt.config.reading import load_config
    from tf_adapt.errors import TfAdaptError
    from tf_adapt.training.dry_run import dry_run

    for path in configs:
        config = load_config(path)
        try:
            dry_run(config, has_teacher=False)
        except TfAdaptError as error:
            raise type(error)(f"cell {Path(path).stem}: {error}") from None


if __name__ == "__main__":
    run(Commands(commands=[check]))
