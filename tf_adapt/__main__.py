"""`python -m tf_adapt`: the command line."""

from tf_adapt.cli import cli

if __name__ == "__main__":
    cli()
