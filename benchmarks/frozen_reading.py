"""`python -m benchmarks.frozen_reading`: what `linear` reads of a frozen encoder, then and now.

`pooled` is the pooled vector as it is, `default` the standardised mean of each layer in a learned
mix. Each tries three learning rates (a seed of its own, chosen on a fifth of the training examples,
which also chooses the epoch), then trains three seeds, scored on dev. Needs TF_ADAPT_SHARED.
"""

import json
import os
import tempfile
from pathlib import Path

import click

DATASETS = {
    "sst2": "sst2",
    "trec": "trec",
    "cola": "cola",
    "mrpc": "mrpc",
    "sick_e": "sick",
    "sick_r": "sick",
    "stsb": "stsb",
}
READINGS = {"pooled": False, "default": None}
EXAMPLES, SEEDS, TRIAL = 1000, 3, 1_000_000


@click.command()
@click.option("--module", "modules", multiple=True, default=("bert_small", "minilm"))
@click.option("--dataset", "datasets", multiple=True, default=tuple(DATASETS))
@click.option("--rate", "rates", multiple=True, type=float, help="In place of the default ones.")
@click.option("--seeds", default=SEEDS, show_default=True)
@click.option("--reading", "readings", multiple=True, default=tuple(READINGS))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(modules, datasets, rates, seeds, readings, out: Path) -> None:
    """Writes as JSON a row for each module, dataset and reading; those that are there stay."""
    rows = json.loads(out.read_text("utf-8")) if out.is_file() else []
    done = {(row["module"], row["dataset"], row["reading"]) for row in rows}
    for module in modules:
        for dataset in datasets:
            for reading in readings:
                if (module, dataset, reading) in done:
                    continue
                rows.append(_row(module, dataset, reading, list(rates), seeds))
                click.echo(json.dumps(rows[-1]))
                out.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


def _row(module: str, dataset: str, reading: str, rates: list[float], seeds: int) -> dict:
    from tf_adapt.config.default_training import default_rates
    from tf_adapt.training.resolving.session import Session
    from tf_adapt.training.train import train

    handle = str(Path(os.environ["TF_ADAPT_MINILM"])) if module == "minilm" else module
    scaled = READINGS[reading]
    rates = rates or default_rates(handle, "feature_extraction", "linear", scaled)
    session = Session()
    with tempfile.TemporaryDirectory() as folder:

        def run(rate: float, seed: int) -> dict:
            config = _config(handle, dataset, scaled, rate, seed, Path(folder) / "cache")
            return train(config, Path(folder) / f"{rate}_{seed}", session)

        tried = {rate: run(rate, TRIAL) for rate in rates}
        metric = tried[rates[0]]["metric"]
        on_dev = {rate: metrics["dev"][metric] or 0.0 for rate, metrics in tried.items()}
        best = max(rates, key=on_dev.get)
        scored = [run(best, seed) for seed in range(seeds)]
    return {
        "module": module,
        "dataset": dataset,
        "reading": reading,
        "reads": scored[0]["reads"] if scored else tried[best]["reads"],
        "metric": metric,
        "examples": EXAMPLES,
        "rates": {f"{rate:g}": round(on_dev[rate], 4) for rate in rates},
        "rate": best,
        "scores": [round(metrics["test"][metric] or 0.0, 4) for metrics in scored],
    }


def _config(handle: str, dataset: str, scaled: bool | None, rate: float, seed: int, cache: Path):
    from tf_adapt.config.reading import config_from

    folder = Path(os.environ["TF_ADAPT_SHARED"]) / "data" / DATASETS[dataset]
    data = {"dataset": dataset, "source": "files", "data_dir": str(folder)}
    content = {
        "data": data | {"train_examples": EXAMPLES, "held_out": 0.2},
        "encoder": {"handle": handle},
        "adaptation": "feature_extraction",
        "head": "linear",
        "head_scaled": scaled,
        "training": {"learning_rate": rate, "seed": seed, "truncate": True},
        "features": {"cache": str(cache)},
    }
    return config_from(content, "benchmarks")


if __name__ == "__main__":
    main()
