"""`python -m benchmarks.diagnosis`: which injected faults `tf-adapt diagnose` names, and how often
it names a cause of a healthy run.

Runs of the shipped bert_small on a few hundred texts, which are drawn anew for each run, with dev
and test from the same source. A fault is one change of a healthy run's config or data. Needs
TF_ADAPT_SHARED.
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

from hub_modules.storage.files import write_text
from tf_adapt.comparison.diagnosis.counter_runs import Trainer
from tf_adapt.comparison.diagnosis.diagnosing import diagnose
from tf_adapt.data.datasets import load_dataset

Row = dict[str, Any]
COUNTS = {"train": 300, "dev": 300, "test": 200}
NOISE = 0.3
SHOWN = ("name", "seen", "after", "gain", "named")  # no paths
SEEDS = 5  # of each draw of the data


@dataclass(frozen=True)
class Fault:
    """A change of a healthy run.

    Attributes:
        cause: the name that it should get.
        of: the healthy run that is changed.
        settings: other keys of the config.
        data: splits, random numbers → splits with the fault.
        scale: what the states of the encoder's top layer are multiplied by.
    """

    cause: str
    of: str
    settings: dict[str, Any] = field(default_factory=dict)
    data: Callable[[dict[str, list[Row]], np.random.Generator], dict[str, list[Row]]] | None = None
    scale: float = 1.0


def _noisy(splits: dict[str, list[Row]], random: np.random.Generator) -> dict[str, list[Row]]:
    """A random share of the labels of train replaced by another one."""
    train = [dict(row) for row in splits["train"]]
    labels = sorted({row["label"] for row in train})
    for number in random.permutation(len(train))[: round(NOISE * len(train))]:
        others = [label for label in labels if label != train[number]["label"]]
        train[number]["label"] = str(random.choice(others))
    return splits | {"train": train}


def _other_domain(splits: dict[str, list[Row]], random: np.random.Generator) -> dict:
    """Test from the sentences of another corpus."""
    folder = Path(os.environ["TF_ADAPT_SHARED"]) / "data"
    rows = _texts("trec", "trec")(folder)
    label = splits["train"][0]["label"]
    chosen = random.permutation(len(rows))[: COUNTS["test"]]
    return splits | {"test": [rows[number] | {"label": label} for number in chosen]}


LINEAR = {"classification": "linear", "tagging": "linear_tagger"}
FORMATS = {"classification": "jsonl", "tagging": "conll"}
LINES = {
    "classification": lambda row: json.dumps(row) + "\n",
    "tagging": lambda row: "".join(map("{} {}\n".format, row["words"], row["label"])) + "\n",
}
FROZEN, TUNED = {"adaptation": "feature_extraction"}, {"adaptation": "fine_tuning"}
RATE, EPOCHS, BATCH = "training.learning_rate", "training.epochs", "training.batch_size"
HEALTHY = {
    "frozen": FROZEN | {"training": {"epochs": 10, "batch_size": 16, "learning_rate": 1e-2}},
    "tuned": TUNED | {"training": {"epochs": 6, "batch_size": 16, "learning_rate": 3e-4}},
    "lstm": FROZEN
    | {"training": {"epochs": 6, "batch_size": 16, "learning_rate": 3e-3}, "head": "bilstm"},
}
SMALLER = {"data.train_examples": 160}  # a step of a tuned encoder takes long
FAULTS = {
    "rate x 30": Fault("rate_too_high", "frozen", {RATE: 3e-1}),
    "rate / 100": Fault("rate_too_low", "frozen", {RATE: 1e-4}),
    "few steps": Fault("too_few_steps", "frozen", {EPOCHS: 1, BATCH: 64}),
    "noise": Fault("noisy_labels", "frozen", data=_noisy),
    "other domain": Fault("other_domain", "frozen", data=_other_domain),
    "unscaled": Fault(
        "unscaled_states", "frozen", {"head_scaled": False, "head_mixed": False}, scale=1000.0
    ),
    "small head": Fault("head_too_small", "lstm", {"head_units": 1}),
    "collapse": Fault("collapsed", "tuned", SMALLER | {RATE: 1e-2, "training.warmup": 0.0}),
    "forgetting": Fault("forgetting", "tuned", SMALLER | {RATE: 3e-3, EPOCHS: 10}),
}
PROVEN = {
    "mnli_genre": ("rate x 30", "few steps", "noise", "other domain", "unscaled"),
    "conll2003": ("rate / 100", "rate x 30", "small head", "collapse", "forgetting"),
}


def _mnli_genres(folder: Path) -> list[Row]:
    records = load_dataset("mnli", "train", "files", folder / "multinli")
    genres = {record.text_a: record.genre for record in records}
    return [{"text": text, "label": genre} for text, genre in genres.items()]


def _texts(dataset: str, home: str) -> Callable[[Path], list[Row]]:
    def rows(folder: Path) -> list[Row]:
        records = load_dataset(dataset, "train", "files", folder / home)
        labels = {record.text_a: record.label for record in records}
        return [{"text": text, "label": label} for text, label in labels.items()]

    return rows


def _conll(folder: Path) -> list[Row]:
    records = load_dataset("conll2003", "train", "files", folder / "conll2003")
    tags = {record.words: record.tags for record in records if 3 < len(record.words) < 20}
    return [{"words": list(words), "label": list(tags[words])} for words in tags]


DATASETS = {
    "sst2": _texts("sst2_sentences", "sst2"),
    "trec": _texts("trec", "trec"),
    "mnli_genre": _mnli_genres,
    "conll2003": _conll,
}


@click.command()
@click.argument("datasets", nargs=-1, required=True)
@click.option("--draws", default=10, show_default=True, help="Healthy runs.")
@click.option("--only", multiple=True, help="Runs whose names begin so.")
@click.option("--work", required=True, type=click.Path(path_type=Path), help="For the runs.")
@click.option("--out", type=click.Path(path_type=Path), help="The outcome as JSON.")
def main(datasets: Sequence[str], draws: int, only: Sequence[str], work: Path, out: Path | None):
    """Prints, and writes as JSON, what was named in each run."""
    with Trainer() as trainer:
        _all(datasets, draws, only, work, out, trainer)


def _all(datasets, draws: int, only: Sequence[str], work: Path, out: Path | None, trainer) -> None:
    rows = []
    for dataset in datasets:
        texts = DATASETS[dataset](Path(os.environ["TF_ADAPT_SHARED"]) / "data")
        jobs = [(name, FAULTS[name], 0) for name in PROVEN.get(dataset, FAULTS)]
        jobs += [(f"healthy {n}", Fault("", "frozen"), n) for n in range(draws)]
        jobs = [job for job in jobs if not only or job[0].startswith(tuple(only))]
        for name, fault, draw in jobs:
            folder = (work / dataset / name.replace(" ", "_").replace("/", "by")).absolute()
            row = _row(texts, fault, draw, folder, trainer)
            rows.append({"dataset": dataset, "run": name, "injected": fault.cause} | row)
            click.echo(_line(rows[-1]))
            if out is not None:
                out.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


def _line(row: dict[str, Any]) -> str:
    named = ", ".join(row["named"]) or "none"
    tried = "; ".join(
        f"{one['name']} {one['after']} ({one['seen']})" for one in row["causes"] if one["after"]
    )
    head = f"{row['dataset']:10} {row['run']:12} {row['injected'] or '-':15}"
    return f"{head} {row['score']:.3f} named: {named} | {tried}"


def _row(
    texts: list[Row], fault: Fault, draw: int, folder: Path, trainer: Trainer
) -> dict[str, Any]:
    """A run with a fault, and its diagnosis."""
    # Seeds share a draw of the data in turn, and so what is kept of the frozen encoder.
    random = np.random.default_rng([44, draw // SEEDS])
    order, splits = iter(random.permutation(len(texts))), {}
    for split, count in COUNTS.items():
        splits[split] = [texts[next(order)] for _ in range(count)]
    if fault.data is not None:
        splits = fault.data(splits, random)
    # Runs on the same files share what one process has made of them.
    files = folder.parent / (
        f"draw_{draw // SEEDS}" if fault.data is None else f"{folder.name}_data"
    )
    config = _config(splits, HEALTHY[fault.of], folder, draw, folder.parent / files)
    settings = dict(fault.settings)
    if fault.scale != 1.0:
        settings["encoder.handle"] = str(_scaled_module(folder / "module", fault.scale))
    given = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    metrics = trainer.train(config, given, folder / "run")
    if metrics is None:
        raise click.ClickException(f"{folder}: diverged")
    (found,) = diagnose(folder / "run", trainer)
    return {
        "score": found.score,
        "seconds": round(metrics["seconds"]["total"] + found.seconds, 1),
        "named": [cause.name for cause in found.named],
        "causes": [{key: getattr(cause, key) for key in SHOWN} for cause in found.causes],
    }


def _scaled_module(folder: Path, scale: float) -> Path:
    """bert_small with its top layer's states multiplied by a number."""
    from safetensors.numpy import load_file, save_file

    source = Path(os.environ["TF_ADAPT_SHARED"]) / "models" / "bert_small"
    folder.mkdir(exist_ok=True)
    for name in ("config.json", "vocab.txt"):
        shutil.copy(source / name, folder / name)
    write_text(folder / "tokenizer_config.json", json.dumps({"do_lower_case": True}))
    weights = {k: w.astype("float32") for k, w in load_file(source / "model.safetensors").items()}
    for name in ("weight", "bias"):
        weights[f"encoder.layer.2.output.LayerNorm.{name}"] *= scale
    save_file(weights, folder / "model.safetensors")
    return folder


def _config(
    splits: dict[str, list[Row]], healthy: dict[str, Any], folder: Path, seed: int, files: Path
) -> Path:
    """The config of a healthy run on these splits, and their files."""
    kind = "tagging" if "words" in splits["train"][0] else "classification"
    section: dict[str, Any] = {"format": FORMATS[kind], "kind": kind}
    if kind == "classification":
        section["columns"] = {"text_a": "text", "label": "label"}
    for split, rows in splits.items():
        section[split] = str(files / f"{split}.{section['format']}")
        write_text(section[split], "".join(LINES[kind](row) for row in rows))
    training = {"truncate": True, "seed": seed} | healthy["training"]
    config = {"data": section, "encoder": {"handle": "bert_small"}, "head": LINEAR[kind]}
    config |= healthy | {"training": training, "features": {"cache": str(folder.parent / "cache")}}
    if kind == "classification" and config["adaptation"] == "feature_extraction":
        config["head_pooling"] = "mean"
    path = folder / "config.yaml"
    write_text(path, yaml.safe_dump(config))
    return path


if __name__ == "__main__":
    main()
