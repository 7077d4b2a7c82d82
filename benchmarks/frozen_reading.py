"""`python -m benchmarks.frozen_reading`: what `linear` reads of a frozen encoder, before and now.

`pooled` is the pooled vector as it is, `default` the standardised mean of each layer in a learned
mix. The states are those that a run keeps; the heads are trained in NumPy, all learning rates at
once, as a run does it: AdamW, decay 0.01, norm of the gradients 1, a tenth of warm-up, then linear,
30 epochs of batches of 16. A part of train chooses the epoch; the published dev is scored. Needs
TF_ADAPT_SHARED.
"""

import json
import os
from pathlib import Path

import click
import numpy as np
from scipy.stats import pearsonr
from sklearn.metrics import matthews_corrcoef
from sklearn.preprocessing import StandardScaler

from tf_adapt.config.default_training import FROZEN_LINEAR

DATASETS = {
    "sst2_sentences": "sst2",
    "trec": "trec",
    "mrpc": "mrpc",
    "sick_e": "sick",
    "sick_r": "sick",
    "stsb": "stsb",
    "cola": "cola",
}
TITLES = {
    "sst2_sentences": "SST-2, sentences, accuracy",
    "trec": "TREC, accuracy",
    "mrpc": "MRPC, accuracy",
    "sick_e": "SICK-E, accuracy",
    "sick_r": "SICK-R, Pearson",
    "stsb": "STS-B, Pearson",
    "cola": "CoLA, Matthews",
}
RATES = (3e-2, 1e-2, 3e-3, 1e-3)
SEEDS, EPOCHS, BATCH_SIZE = 3, 30, 16
WARMUP, DECAY, DROPOUT, SIGMA = 0.1, 0.01, 0.1, 0.02
EXAMPLES, MOST = 1000, {"dev": 300, "test": 500}
Arrays = dict[str, np.ndarray]


@click.command()
@click.option("--module", "modules", multiple=True, required=True, help="A shipped name or folder.")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(modules: tuple[str, ...], out: Path) -> None:
    """Writes as JSON a row for each module, dataset and reading."""
    rows = []
    for module in modules:
        for dataset in DATASETS:
            kept, outputs = _kept(module, dataset)
            rows += [_row(module, dataset, kept, outputs, name) for name in ("pooled", "default")]
            out.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    click.echo("\n".join(table_lines(rows)))


def table_lines(rows: list[dict]) -> list[str]:
    """A line a dataset: of each module and reading mean and deviation over seeds, at the rate among
    the default ones whose mean is best on dev."""
    modules = list(dict.fromkeys(row["module"] for row in rows))
    cells = {(row["module"], row["dataset"], row["reading"]): _cell(row) for row in rows}
    columns = [(module, reading) for module in modules for reading in ("pooled", "default")]
    lines = []
    for dataset, title in TITLES.items():
        found = [cells.get((module, dataset, reading), "–") for module, reading in columns]
        if set(found) != {"–"}:
            lines.append(f"| {title} | {' | '.join(found)} |")
    return lines


def _cell(row: dict) -> str:
    default = [place for place, rate in enumerate(row["rates"]) if rate in FROZEN_LINEAR]
    best = max(default, key=lambda place: np.mean(row["dev"], axis=0)[place])
    scores = 100 * np.array(row["test"])[:, best]
    return f"{scores.mean():.1f} ± {scores.std(ddof=1):.1f}"


def _kept(module: str, dataset: str) -> tuple[dict[str, Arrays], int]:
    """Of each split `pooled`, `mean` `[texts, layers, width]`, `targets`; the number of labels."""
    import tf_adapt as ta
    from tf_adapt.config.reading import config_from
    from tf_adapt.data.packing.prepare import prepare, task_of
    from tf_adapt.data.splits.read_splits import load_splits
    from tf_adapt.encoder.feature_cache import with_features
    from tf_adapt.layers.head_inputs import HeadInputs

    folder = Path(os.environ["TF_ADAPT_SHARED"]) / "data" / DATASETS[dataset]
    data = {"dataset": dataset, "source": "files", "data_dir": str(folder)}
    data |= {"train_examples": EXAMPLES, "held_out": 0.2}
    content = {"data": data, "encoder": {"handle": module}, "adaptation": "freeze"}
    splits = load_splits(config_from(content, "benchmarks").data)
    encoder, task, kept = ta.HubEncoder(module, trainable=False), task_of(splits), {}
    for split, examples in splits.examples.items():
        order = np.random.default_rng(0).permutation(len(examples))[: MOST.get(split)]
        chosen = examples if split == "train" else [examples[number] for number in order]
        prepared = prepare(chosen, task, encoder, None, True, False)
        features = with_features(prepared, encoder, head_inputs=HeadInputs("all", True, "mean"))
        kept[split] = {"targets": prepared.targets.numpy()}
        for part in features.features[0]:
            rows = np.stack([part.rows(number)[0] for number in range(len(chosen))])
            kept[split]["pooled" if part.part.key == "pooled" else "mean"] = rows
    return kept, task.num_outputs


def _row(module: str, dataset: str, kept: dict[str, Arrays], outputs: int, reading: str) -> dict:
    if reading == "pooled":
        vectors = {split: arrays["pooled"][:, None] for split, arrays in kept.items()}
    else:
        states = {split: arrays["mean"] for split, arrays in kept.items()}
        scaler = StandardScaler().fit(states["train"].reshape(len(states["train"]), -1))
        vectors = {
            split: scaler.transform(array.reshape(len(array), -1)).reshape(array.shape)
            for split, array in states.items()
        }
    vectors = {split: array.astype(np.float32) for split, array in vectors.items()}
    targets = {split: arrays["targets"] for split, arrays in kept.items()}
    runs = [
        Training(vectors["train"], targets["train"], outputs, seed).run(vectors, targets, dataset)
        for seed in range(SEEDS)
    ]
    dev, test = (np.round(part, 4).tolist() for part in np.swapaxes(runs, 0, 1))
    names = {"module": Path(module).name, "dataset": dataset, "reading": reading}
    return names | {"rates": RATES, "dev": dev, "test": test}


class Training:
    """A linear head on vectors `[texts, layers, width]`, once for each rate."""

    def __init__(self, vectors: np.ndarray, targets: np.ndarray, outputs: int, seed: int):
        self.random = np.random.default_rng(seed)
        self.vectors, self.targets = vectors, targets
        self.is_regression = targets.dtype.kind == "f"
        count, layers, width = vectors.shape
        kernel = np.clip(self.random.normal(0, SIGMA, (width, outputs)), -2 * SIGMA, 2 * SIGMA)
        self.weights = {"kernel": np.repeat(kernel[None], len(RATES), 0)}
        self.weights["bias"] = np.zeros((len(RATES), outputs))
        if layers > 1:
            self.weights |= {"mix": np.zeros((len(RATES), layers)), "gamma": np.ones(len(RATES))}
        self.weights = {name: array.astype(np.float32) for name, array in self.weights.items()}
        self.moments = {name: np.zeros((2, *one.shape), "f4") for name, one in self.weights.items()}
        self.steps, self.total = 0, EPOCHS * -(-count // BATCH_SIZE)

    def run(self, vectors: Arrays, targets: Arrays, dataset: str) -> tuple[list, list]:
        """The scores on dev and on test of the epoch that is best on dev, by rate."""
        best = {"dev": [-2.0] * len(RATES), "test": [0.0] * len(RATES)}
        for _ in range(EPOCHS):
            order = self.random.permutation(len(self.targets))
            for start in range(0, len(order), BATCH_SIZE):
                self._step(order[start : start + BATCH_SIZE])
            found = {
                split: [
                    _score(dataset, targets[split], logits)
                    for logits in self._logits(vectors[split])
                ]
                for split in best
            }
            for place, score in enumerate(found["dev"]):
                if score > best["dev"][place]:
                    best["dev"][place], best["test"][place] = score, found["test"][place]
        return best["dev"], best["test"]

    def _mixed(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The vectors `[rates, texts, width]`, and the share of each layer."""
        if "mix" not in self.weights:
            return np.broadcast_to(vectors[None, :, 0], (len(RATES), *vectors[:, 0].shape)), None
        shares = _softmax(self.weights["mix"])
        return np.tensordot(shares * self.weights["gamma"][:, None], vectors, (1, 1)), shares

    def _logits(self, vectors: np.ndarray) -> np.ndarray:
        return self._mixed(vectors)[0] @ self.weights["kernel"] + self.weights["bias"][:, None]

    def _step(self, batch: np.ndarray) -> None:
        vectors, targets = self.vectors[batch], self.targets[batch]
        mixed, shares = self._mixed(vectors)
        kept = self.random.random(vectors[:, 0].shape, np.float32) >= DROPOUT
        kept = kept.astype(np.float32) / np.float32(1 - DROPOUT)
        kernel, dropped = self.weights["kernel"], mixed * kept
        logits = dropped @ kernel + self.weights["bias"][:, None]
        if self.is_regression:
            slope = 2 * (logits - targets[None, :, None].astype(np.float32))
        else:
            slope = _softmax(logits)
            slope[:, np.arange(len(batch)), targets] -= 1
        slope /= np.float32(len(batch))
        gradients = {"kernel": np.swapaxes(dropped, 1, 2) @ slope, "bias": slope.sum(1)}
        if shares is not None:
            back = (slope @ np.swapaxes(kernel, 1, 2)) * kept
            of_layers = (
                back.reshape(len(RATES), -1)
                @ np.swapaxes(vectors, 0, 1).reshape(vectors.shape[1], -1).T
            )
            gradients["gamma"] = (of_layers * shares).sum(1)
            scaled = of_layers * self.weights["gamma"][:, None]
            gradients["mix"] = shares * (scaled - (scaled * shares).sum(1, keepdims=True))
        self._update(gradients)

    def _update(self, gradients: Arrays) -> None:
        flat = [array.reshape(len(RATES), -1) for array in gradients.values()]
        clip = np.minimum(1, 1 / np.maximum(np.linalg.norm(np.hstack(flat), axis=1), 1e-12))
        warm = round(WARMUP * self.total)
        if self.steps < warm:
            factor = (self.steps + 1) / warm
        else:
            factor = (self.total - self.steps) / (self.total - warm)
        self.steps += 1
        correction = np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for name, gradient in gradients.items():
            ends = (len(RATES),) + (1,) * (gradient.ndim - 1)
            gradient = gradient * clip.astype(np.float32).reshape(ends)
            rates = np.array(RATES, np.float32).reshape(ends) * np.float32(factor)
            first, second = self.moments[name]
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient * gradient - second)
            step = np.float32(correction) * first / (np.sqrt(second) + np.float32(1e-7))
            self.weights[name] -= rates * (np.float32(DECAY) * self.weights[name] + step)


def _softmax(values: np.ndarray) -> np.ndarray:
    exponentials = np.exp(values - values.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def _score(dataset: str, targets: np.ndarray, logits: np.ndarray) -> float:
    if targets.dtype.kind == "f":
        return float(pearsonr(logits[:, 0], targets)[0]) if np.ptp(logits) else 0.0
    predicted = logits.argmax(-1)
    if dataset == "cola":
        return float(matthews_corrcoef(targets, predicted))
    return float((predicted == targets).mean())


if __name__ == "__main__":
    main()
