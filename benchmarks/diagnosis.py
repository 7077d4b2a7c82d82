"""`python -m benchmarks.diagnosis`: which injected faults `tf-adapt diagnose` names, and how often
it names a cause of a healthy run.

Runs of the lower two layers of a small BERT on few short texts, which are drawn anew for every
fifth healthy run. A fault is one change of a healthy run's config, encoder or data; it counts as
one only if it harms: the healthy run's score is higher by `HARM`, on dev, or on test where that is
what is changed. Needs TF_ADAPT_SHARED.
"""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
import yaml

from benchmarks.diagnosis_data import DATASETS, Dataset, Row
from hub_modules.storage.files import write_text
from tf_adapt.comparison.diagnosis.counter_runs import Trainer
from tf_adapt.comparison.diagnosis.diagnosing import diagnose
from tf_adapt.comparison.diagnosis.thresholds import GAIN
from tf_adapt.statistics.metrics import METRICS

COUNTS = {"train": 200, "dev": 300, "test": 200}
NOISE, LAYERS = 0.3, 2
SHOWN = ("name", "seen", "after", "gain", "named")  # no paths
# Of accuracy.
HARM = GAIN * METRICS["accuracy"].point
SEEDS = 5  # of each draw of the data
Splits = dict[str, list[Row]]


@dataclass(frozen=True)
class Fault:
    """A change of a healthy run.

    Attributes:
        cause: the name that it should get.
        of: the healthy run that is changed, by its number.
        settings: other keys of the config.
        data: splits, the dataset, random numbers → splits with the fault.
        scale: what the states of the encoder's top layer are multiplied by.
        harms: the split whose score is lower.
    """

    cause: str
    of: int
    settings: dict[str, Any] = field(default_factory=dict)
    data: Callable[[Splits, Dataset, np.random.Generator], Splits] | None = None
    scale: float = 1.0
    harms: str = "dev"


def _noisy(splits: Splits, dataset: Dataset, random: np.random.Generator) -> Splits:
    """A random share of the labels of train replaced by another one."""
    train = [dict(row) for row in splits["train"]]
    labels = sorted({row["label"] for row in train})
    for number in random.permutation(len(train))[: round(NOISE * len(train))]:
        others = [label for label in labels if label != train[number]["label"]]
        train[number]["label"] = str(random.choice(others))
    return splits | {"train": train}


def _other_domain(splits: Splits, dataset: Dataset, random: np.random.Generator) -> Splits:
    """Test from another source, with its own labels."""
    rows = dataset.foreign(_data_folder())
    chosen = random.permutation(len(rows))[: COUNTS["test"]]
    return splits | {"test": [rows[number] for number in chosen]}


RATE, EPOCHS, BATCH = "training.learning_rate", "training.epochs", "training.batch_size"
FROZEN = {
    "adaptation": "feature_extraction",
    "head": "linear",
    "head_pooling": "mean",
    "training": {"epochs": 10, "batch_size": 16, "learning_rate": 1e-2},
}
TUNED = {
    "adaptation": "fine_tuning",
    "head": "linear",
    "training": {"epochs": 8, "batch_size": 10, "learning_rate": 3e-4},
}
HEALTHY = {  # repeated
    "classification": (FROZEN, TUNED, FROZEN, FROZEN, FROZEN),
    "pair_regression": (FROZEN,),  # tuning reads each pair twice
}
FAULTS = {
    "rate / 100": Fault("rate_too_low", 0, {RATE: 1e-4}),
    "few steps": Fault("too_few_steps", 0, {EPOCHS: 1, BATCH: 64}),
    "noise": Fault("noisy_labels", 0, data=_noisy),
    "unscaled": Fault(
        "unscaled_states", 0, {"head_scaled": False, "head_mixed": False}, scale=1e-3
    ),
    "other domain": Fault("other_domain", 0, data=_other_domain, harms="test"),
    "collapse": Fault("collapsed", 1, {RATE: 3e-2, "training.warmup": 0.0}),
    "rate x 30": Fault("rate_too_high", 1, {RATE: 9e-3}),
    "rate x 10": Fault("forgetting", 1, {RATE: 3e-3}),
    "rate x 20": Fault("forgetting", 1, {RATE: 6e-3}),
}


@click.command()
@click.argument("datasets", nargs=-1, required=True)
@click.option("--healthy", default=10, show_default=True, help="Healthy runs.")
@click.option("--only", multiple=True, help="Runs whose names begin so.")
@click.option("--work", required=True, type=click.Path(path_type=Path), help="For the runs.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The outcome as JSON.")
def main(datasets: Sequence[str], healthy: int, only: Sequence[str], work: Path, out: Path):
    """Prints, and writes as JSON, what was named in each run."""
    rows = []
    with Trainer() as trainer:
        for name in datasets:
            dataset = DATASETS[name]
            names = dataset.faults or [fault for fault in FAULTS if fault != "other domain"]
            jobs = {fault: FAULTS[fault] for fault in names}
            jobs |= {f"healthy {number}": Fault("", number) for number in range(healthy)}
            for job, fault in jobs.items():
                if only and not job.startswith(only):
                    continue
                found = _row(dataset, fault, job, (work / name).absolute(), trainer)
                rows.append({"dataset": name, "run": job, "injected": fault.cause} | found)
                click.echo(_line(rows[-1]))
                write_text(out, json.dumps(rows, indent=1) + "\n")
    click.echo(_summary(rows))


def _line(row: Row) -> str:
    named = ", ".join(row["named"]) or "none"
    tried = "; ".join(
        f"{one['name']} {one['after']} ({one['seen']})" for one in row["causes"] if one["after"]
    )
    head = f"{row['dataset']:12} {row['run']:17} {row['injected'] or '-':15}"
    harm = "" if row["harm"] is None else f"(harm {row['harm']:+.3f}) "
    return f"{head} {row['score']:.3f} {harm}named: {named} | {tried}"


def _summary(rows: list[Row]) -> str:
    faults = [row for row in rows if row["injected"]]
    harmful = [row for row in faults if row["harm"] >= HARM]
    named = [row for row in harmful if row["injected"] in row["named"]]
    healthy = [row for row in rows if not row["injected"]]
    alarms = [row for row in healthy if row["named"]]
    return (
        f"{len(faults)} faults, {len(harmful)} do harm, {len(named)} of these named; a cause in "
        f"{len(alarms)} of {len(healthy)} healthy runs"
    )


def _row(dataset: Dataset, fault: Fault, name: str, home: Path, trainer: Trainer) -> Row:
    """A run, with a fault or without, and its diagnosis."""
    splits = _splits(dataset, fault.of)
    folder = home / name.replace(" ", "_").replace("/", "by").replace(",", "")
    if fault.data is not None:
        splits = fault.data(splits, dataset, np.random.default_rng(44))
    metrics = _trained(dataset, splits, fault, folder, trainer)
    harm = None
    if fault.cause:
        healthy = home / f"healthy_{fault.of}"
        without = Fault("", fault.of)
        before = _trained(dataset, _splits(dataset, fault.of), without, healthy, trainer)
        harm = before[fault.harms][before["metric"]] - (
            metrics[fault.harms][metrics["metric"]] or 0.0
        )
    (found,) = diagnose(folder / "run", trainer)
    return {
        "score": found.score,
        "harm": harm,
        "seconds": round(metrics["seconds"]["total"] + found.seconds, 1),
        "named": [cause.name for cause in found.named],
        "causes": [{key: getattr(cause, key) for key in SHOWN} for cause in found.causes],
    }


def _splits(dataset: Dataset, number: int) -> Splits:
    """Those of a healthy run: `SEEDS` runs share a draw, and what is kept of the encoder."""
    rows = dataset.rows(_data_folder())
    order = iter(np.random.default_rng([44, number // SEEDS]).permutation(len(rows)))
    return {split: [rows[next(order)] for _ in range(count)] for split, count in COUNTS.items()}


def _trained(
    dataset: Dataset, splits: Splits, fault: Fault, folder: Path, trainer: Trainer
) -> dict[str, Any]:
    """The metrics of a run of these splits."""
    # Runs on the same files share what one process has made of them.
    shared = folder.parent / f"draw_{fault.of // SEEDS}"
    files = shared if fault.data is None else folder / "data"
    section = {"format": "jsonl", "kind": dataset.kind, "columns": dataset.columns} | dataset.keys
    for split, rows in splits.items():
        section[split] = str(files / f"{split}.jsonl")
        write_text(section[split], "".join(json.dumps(row) + "\n" for row in rows))
    healthy = HEALTHY[dataset.kind]
    config = healthy[fault.of % len(healthy)] | {"data": section}
    module = _module(folder.parent / f"module_{fault.scale:g}", fault.scale)
    config["encoder"] = {"handle": str(module)}
    config["training"] = config["training"] | {"truncate": True, "max_length": 32, "seed": fault.of}
    config["features"] = {"cache": str(folder.parent / "cache")}
    write_text(folder / "config.yaml", yaml.safe_dump(config))
    settings = dataset.settings | fault.settings
    given = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    metrics = trainer.train(folder / "config.yaml", given, folder / "run")
    if metrics is None:
        raise click.ClickException(f"{folder}: diverged")
    return metrics


def _module(folder: Path, scale: float) -> Path:
    """The lower layers of a small BERT, the states of the highest one multiplied by a number."""
    from safetensors.numpy import load_file, save_file

    if (folder / "model.safetensors").is_file():
        return folder
    source = Path(os.environ["TF_ADAPT_SHARED"]) / "models" / "bert_small"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "vocab.txt", folder)
    config = json.loads((source / "config.json").read_text("utf-8")) | {"num_hidden_layers": LAYERS}
    write_text(folder / "config.json", json.dumps(config))
    write_text(folder / "tokenizer_config.json", json.dumps({"do_lower_case": True}))
    above = tuple(f"encoder.layer.{n}." for n in range(LAYERS, config["num_hidden_layers"] + 9))
    weights = {
        name: array.astype("float32")
        for name, array in load_file(source / "model.safetensors").items()
        if not name.startswith(above)
    }
    for part in ("weight", "bias"):
        weights[f"encoder.layer.{LAYERS - 1}.output.LayerNorm.{part}"] *= scale
    save_file(weights, folder / "model.safetensors")
    return folder


def _data_folder() -> Path:
    return Path(os.environ["TF_ADAPT_SHARED"]) / "data"


if __name__ == "__main__":
    main()
