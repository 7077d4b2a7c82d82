"""What keeping the states below the trained layers saves: gradual unfreezing with them and without.

    python benchmarks/boundary_cache.py mrpc modules/minilm_l6_h384 --data data/mrpc

runs the same training (`tf-adapt train`, the same seed and batches) twice in each round, once with
the encoder reading the texts in every epoch and once from the states at the highest frozen layer,
whose passes over the texts are counted, and prints seconds of the whole run, the best dev score,
and the ratio of the medians. Another adaptation that freezes, `--adaptation top_layers` for one,
is measured in the same way.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from tf_adapt.config import config_from
from tf_adapt.training import train

LIMITS_MB = {"recomputed": 0, "kept": 100_000}


def main() -> None:
    """Trains in turns and prints."""
    given = arguments()
    seconds = {name: [] for name in LIMITS_MB}
    with tempfile.TemporaryDirectory() as folder:
        # What a process does only once is done before the clock runs.
        measured(given, LIMITS_MB["kept"], Path(folder) / "first", train_examples=64, epochs=1)
        for number in range(given.rounds):
            for name, limit in LIMITS_MB.items():
                run = Path(folder) / f"{name}_{number}"
                metrics, spent = measured(given, limit, run, given.train_examples, given.epochs)
                seconds[name].append(spent)
                score = metrics["dev"][metrics["metric"]]
                print(
                    f"{name}: {spent:.1f} s, dev {metrics['metric']} {score:.4f}, "
                    f"loss {metrics['dev']['loss']:.6f}",
                    flush=True,
                )
    ratio = statistics.median(seconds["recomputed"]) / statistics.median(seconds["kept"])
    print(f"ratio: {ratio:.2f}")


def measured(given, limit_mb: int, run: Path, train_examples: int, epochs: int):
    """Trains as the arguments say; returns the run's metrics and its seconds."""
    data = {"dataset": given.dataset, "train_examples": train_examples}
    every = {} if given.every is None else {"every": given.every}
    content = {
        "data": data | ({"data_dir": given.data} if given.data else {"source": "sample"}),
        "encoder": {"handle": given.encoder},
        "head": given.head,
        "adaptation": {"name": given.adaptation, **every},
        "features": {"limit_mb": limit_mb},
        "training": {
            "epochs": epochs,
            "batch_size": 32,
            "learning_rate": given.learning_rate,
            "mixed_precision": given.precision,
            "truncate": True,
        },
    }
    config = config_from(content, "benchmarks/boundary_cache.py")
    started = time.monotonic()
    return train(config, run), time.monotonic() - started


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("encoder", help="a shipped module's name, or a folder")
    parser.add_argument("--data", help="the folder of the dataset's files; else a sample_ dataset")
    parser.add_argument("--head", default="default")
    parser.add_argument("--adaptation", default="gradual_unfreezing")
    parser.add_argument("--every", type=int, help="epochs until the next group joins")
    parser.add_argument("--train-examples", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--precision", choices=["bfloat16", "float16"])
    parser.add_argument("--rounds", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
