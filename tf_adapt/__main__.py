"""`python -m tf_adapt`: the command line."""

from tf_adapt.cli import run

if __name__ == "__main__":
    run()
