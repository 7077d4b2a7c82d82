"""A pretrained language model as a module to tune: with dropout, in float16.

    python pretraining/finished.py RUN MODULE

Pretraining passes over its text once, without dropout; tuning passes over little text many times.
"""

import sys
from pathlib import Path

from hub_modules.export import write_module
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.module_export import module_source

DROPOUT = {
    "causal": {"dropout": 0.1, "attention_dropout": 0.1},
    "lstm": {  # fast.ai's for language models
        "word_dropout": 0.02,
        "dropout": 0.25,
        "hidden_dropout": 0.15,
        "weight_dropout": 0.2,
        "output_dropout": 0.1,
    },
}


def main(run: Path, module: Path) -> None:
    """Writes the module of a run's best epoch."""
    source = module_source(load_run(run))
    source.config |= DROPOUT[source.family]
    write_module(source, module, stored_as="float16")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
