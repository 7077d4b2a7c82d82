"""`python -m benchmarks.contrastive`: contrastive tuning beside SetFit, on the same few labels.

MiniLM as a sentence encoder, tuned on seeded draws of train with so many texts a label, 20 pairs of
both kinds a text, one epoch; scored on 400 texts of dev (TREC, which has none: 400 of train that no
draw has). Needs TF_ADAPT_SHARED and TF_ADAPT_SETFIT_PYTHON (requirements/setfit.txt). Scores are
added to the file, so that an interrupted run goes on.
"""

import json
import os
import random
import shutil
import tempfile
from pathlib import Path

import click
import numpy as np
from safetensors.numpy import load_file, save_file

from benchmarks.results.adding import ROOT
from benchmarks.results.few_labels import CONTESTANTS as NAMES
from benchmarks.results.few_labels import FILE, table
from benchmarks.side_by_side.child import Child
from hub_modules.sentence_transformers import SentenceSettings, settings_texts
from hub_modules.storage.files import write_text
from tf_adapt.data.datasets import load_dataset

DATASETS = {"sst2_sentences": "sst2", "trec": "trec", "cola": "cola"}
DRAWS = {8: 10, 64: 5}  # texts a label → draws
SCORED = 400
WHERE = [("contrastive_ours.py", "ours"), ("contrastive_setfit.py", "setfit")]
CONTESTANTS = dict(zip(NAMES, WHERE, strict=True))


@click.command()
@click.option("--texts", "sizes", multiple=True, type=click.Choice(list(map(str, DRAWS))))
@click.option("--dataset", "datasets", multiple=True, type=click.Choice(list(DATASETS)))
@click.option("--out", default=ROOT / FILE, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--show", is_flag=True, help="Trains nothing.")
def main(sizes: tuple[str, ...], datasets: tuple[str, ...], out: Path, show: bool) -> None:
    """Trains what is not in the file yet, and prints its table."""
    scores = json.loads(out.read_text("utf-8")) if out.exists() else {}
    if not show:
        for size in map(int, sizes or DRAWS):
            for dataset in datasets or DATASETS:
                _train(dataset, size, scores, out)
    click.echo(table(scores))


def _train(dataset: str, size: int, scores: dict, out: Path) -> None:
    of_rows = scores.setdefault(f"{dataset}/{size}", {name: {} for name in CONTESTANTS})
    with tempfile.TemporaryDirectory() as work:
        module, drawn = _module(Path(work) / "minilm"), Path(work) / "draws.json"
        drawn.write_text(json.dumps(_draws(dataset, size)), "utf-8")
        job = {"module": str(module), "draws": str(drawn)}
        children = {name: Child(*where) for name, where in CONTESTANTS.items()}
        for seed in range(DRAWS[size]):
            for name, child in children.items():
                if str(seed) not in of_rows[name]:
                    of_rows[name][str(seed)] = json.loads(child.ask(job, seed)["note"])
                    write_text(out, json.dumps(scores, indent=1) + "\n")
        for child in children.values():
            child.close()


def _draws(dataset: str, size: int) -> dict:
    """Labels, the scored texts, and the texts of each draw: `[text, label]` each."""
    folder = Path(os.environ["TF_ADAPT_SHARED"]) / "data" / DATASETS[dataset]
    train = [(one.text_a, one.label) for one in load_dataset(dataset, "train", "files", folder)]
    if dataset == "trec":
        random.Random(99).shuffle(train)
        train, dev = train[500:], train[:500]
    else:
        dev = [(one.text_a, one.label) for one in load_dataset(dataset, "dev", "files", folder)]
    random.Random(7).shuffle(dev)
    labels = sorted({label for _, label in train})
    draws = []
    for seed in range(DRAWS[size]):
        draw = random.Random(1000 * size + seed)
        of_labels = [[one for one in train if one[1] == label] for label in labels]
        draws.append([one for some in of_labels for one in draw.sample(some, min(size, len(some)))])
    return {"labels": labels, "scored": dev[:SCORED], "draws": draws}


def _module(folder: Path) -> Path:
    """The weights of MiniLM in float32, as a sentence encoder that both read."""
    source = Path(os.environ["TF_ADAPT_SHARED"]) / "models" / "minilm_l6_h384"
    (folder / "1_Pooling").mkdir(parents=True)
    for name in ("config.json", "vocab.txt", "tokenizer_config.json"):
        shutil.copy(source / name, folder)
    weights = load_file(source / "model.safetensors").items()
    weights = {name: array.astype(np.float32) for name, array in weights}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    settings = SentenceSettings(pooling="mean", longest=256)
    for name, text in settings_texts(settings, 384, {}).items():
        (folder / name).write_text(text, "utf-8")
    return folder


if __name__ == "__main__":
    main()
