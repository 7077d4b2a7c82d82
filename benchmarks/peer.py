"""`python -m benchmarks.peer`: our fine-tuning beside transformers' `Trainer`.

MiniLM, all weights and a linear head, on 1,000 seeded examples of train, the same for both: AdamW
at 1e-4 with a warmup of a tenth and a linear decay, 4 epochs in batches of 16, three seeds; scored
on dev after the last epoch. Needs TF_ADAPT_SHARED, TF_ADAPT_ORACLES_PYTHON and MiniLM as a module.
Scores are added to the file, so that an interrupted run goes on.
"""

import json
import os
import random
import tempfile
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from benchmarks.side_by_side.child import Child
from hub_modules.storage.files import write_text
from tf_adapt.data.datasets import load_dataset

FILE = Path(__file__).parents[1] / "docs" / "peer.json"
SHARED_MODEL = Path("models") / "minilm_l6_h384"
CONTESTANTS = {
    "ours": ("peer_ours.py", "ours"),
    "Trainer": ("peer_transformers.py", "pytorch"),
}
TRAIN, SEEDS = 1000, 3
SETTINGS = {"epochs": 4, "batch": 16, "rate": 1e-4, "warmup": 0.1}


class Data(NamedTuple):
    """A folder of `shared/data`, the kind of task, and what is measured."""

    folder: str
    kind: str
    metric: str


DATASETS = {
    "mrpc": Data("mrpc", "pair_classification", "accuracy"),
    "sick_e": Data("sick", "pair_classification", "accuracy"),
    "stsb": Data("stsb", "pair_regression", "pearson"),
}


@click.command()
@click.option("--dataset", "datasets", multiple=True, type=click.Choice(list(DATASETS)))
@click.option("--module", default="modules/minilm_l6_h384", show_default=True)
@click.option("--out", default=FILE, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--show", is_flag=True, help="Trains nothing.")
def main(datasets: tuple[str, ...], module: str, out: Path, show: bool) -> None:
    """Trains what is not in the file yet, and prints its table."""
    scores = json.loads(out.read_text("utf-8")) if out.exists() else {}
    if not show:
        for dataset in datasets or DATASETS:
            _train(dataset, module, scores, out)
    click.echo("\n".join(table(scores)))


def _train(dataset: str, module: str, scores: dict, out: Path) -> None:
    of_dataset = scores.setdefault(dataset, {name: {} for name in CONTESTANTS})
    shared = Path(os.environ["TF_ADAPT_SHARED"])
    with tempfile.TemporaryDirectory() as work:
        data = Path(work) / "data.json"
        data.write_text(json.dumps(_data(dataset, shared)), "utf-8")
        job = {"module": module, "huggingface": str(shared / SHARED_MODEL), "data": str(data)}
        job |= SETTINGS
        for name, where in CONTESTANTS.items():
            missing = [seed for seed in range(SEEDS) if str(seed) not in of_dataset[name]]
            child = Child(*where) if missing else None
            for seed in missing:
                of_dataset[name][str(seed)] = json.loads(child.ask(job, seed)["note"])
                write_text(out, json.dumps(scores, indent=1) + "\n")
            if child:
                child.close()


def _data(dataset: str, shared: Path) -> dict:
    """What children read: kind, metric, labels, and `[text, text, label]` to learn from and to
    score."""
    about = DATASETS[dataset]
    splits = {
        split: [
            (one.text_a, one.text_b, one.label)
            for one in load_dataset(dataset, split, "files", shared / "data" / about.folder)
        ]
        for split in ("train", "dev")
    }
    labels = None
    if about.metric == "accuracy":
        labels = sorted({label for *_, label in splits["train"]})
    train = random.Random(0).sample(splits["train"], TRAIN)
    names = {"kind": about.kind, "metric": about.metric, "labels": labels}
    return names | {"train": train, "scored": splits["dev"]}


def table(scores: dict) -> list[str]:
    """Means and deviations over the seeds, × 100."""
    lines = [f"| data | score | {' | '.join(CONTESTANTS)} |", "| --- | --- | --- | --- |"]
    for dataset, contestants in scores.items():
        values = [100 * np.array(list(contestants[name].values())) for name in CONTESTANTS]
        cells = [f"{of.mean():.1f} ± {of.std(ddof=1):.1f}" if len(of) > 1 else "" for of in values]
        lines.append(f"| {dataset} | {DATASETS[dataset].metric} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
