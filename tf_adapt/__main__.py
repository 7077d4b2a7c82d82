"""`python -m tf_adapt`: the command line."""

from tf_adapt.commands.main import run

if __name__ == "__main__":
    run()
