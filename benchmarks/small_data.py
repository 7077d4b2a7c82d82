"""`python -m benchmarks.small_data`: what one split and folds decide on real texts, cut small.

Cells on each dataset: logistic regression on TF-IDF, on the pooled vector and on the mean states of
the shipped bert_small, frozen, and with --tuned that encoder, tuned under a linear head. Texts are
drawn at random from train, as a user's one file; the others tell which cell is truly better. Needs
TF_ADAPT_SHARED.
"""

import itertools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from tf_adapt.data.datasets import load_dataset
from tf_adapt.statistics.alpha_spending import LEVELS
from tf_adapt.statistics.pairs import holm
from tf_adapt.statistics.two_cells import CellSample, compare_cells, sample_of_values

DATASETS = {"sst2_sentences": "sst2", "trec": "trec", "sick_e": "sick"}
SIZES = ("100", "200", "400", "1000")
FOLDS, REPEATS, SEEDS = 5, 2, 5
MOST, WORSE = 3000, 0.02
RATE, EPOCHS, BATCH = 3e-4, 6, 16  # of the tuned encoder
# Random numbers, positions of the training texts, of the scored ones → which answers are right.
Learner = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]


@click.command()
@click.option("--draws", default=40, show_default=True)
@click.option("--dataset", "datasets", multiple=True, type=click.Choice(list(DATASETS)))
@click.option("--texts", "sizes", multiple=True, type=click.Choice(SIZES), help="Of a draw.")
@click.option("--tuned", is_flag=True, help="Also a tuned encoder: minutes a draw.")
@click.option("--out", default=None, type=click.Path(dir_okay=False, path_type=Path))
def main(
    draws: int, datasets: Sequence[str], sizes: Sequence[str], tuned: bool, out: Path | None
) -> None:
    """Prints, and writes as JSON, a row for each dataset and number of texts (all of them)."""
    rows = []
    for dataset in datasets or DATASETS:
        folder = Path(os.environ["TF_ADAPT_SHARED"]) / "data" / DATASETS[dataset]
        cells, total = _cells(dataset, folder, tuned)
        for size in map(int, sizes or SIZES):
            told = [
                _draw(np.random.default_rng([7, size, n]), cells, total, size) for n in range(draws)
            ]
            shares = {key: float(np.mean([one[key] for one in told])) for key in told[0]}
            rows.append({"dataset": dataset, "texts": size, "draws": draws} | shares)
            click.echo(json.dumps(rows[-1]))
            if out is not None:
                out.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


def _cells(dataset: str, folder: Path, tuned: bool) -> tuple[list[Learner], int]:
    """The cells, and the number of texts."""
    import tf_adapt as ta

    records = load_dataset(dataset, "train", "files", folder)
    chosen = np.random.default_rng(0).permutation(len(records))[:MOST]
    records = [records[number] for number in chosen]
    texts = [f"{r.text_a} {r.text_b}" if r.text_b else r.text_a for r in records]
    encoder = ta.HubEncoder("bert_small")
    pooled, means = [], []
    for start in range(0, len(texts), 32):
        inputs = encoder.preprocessor(texts[start : start + 32])
        encoded = encoder(inputs)
        mask = np.asarray(encoded["mask"], np.float32)[..., None]
        states = np.stack([np.asarray(layer) for layer in encoded["layers"]]).mean(0)
        pooled.append(np.asarray(encoded["pooled"]))
        means.append((states * mask).sum(1) / mask.sum(1))
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit_transform(texts)
    dense = [_standardised(np.concatenate(some)) for some in (pooled, means)]
    labels = np.array([record.label for record in records])
    cells = [_logistic(features, labels) for features in (words, *dense)]
    return cells + ([_tuned(records)] if tuned else []), len(records)


def _logistic(features, labels: np.ndarray) -> Learner:
    def right(random, train: np.ndarray, scored: np.ndarray) -> np.ndarray:
        train = _nine_tenths(random, train)
        model = LogisticRegression(max_iter=200).fit(features[train], labels[train])
        return model.predict(features[scored]) == labels[scored]

    return right


def _tuned(records: Sequence[Any]) -> Learner:
    """One model whose weights are set anew for each training, so that its step is traced once."""
    import keras

    import tf_adapt as ta

    kind = "pair_classification" if records[0].text_b else "classification"
    task = ta.Task(kind, labels=sorted({record.label for record in records}))
    encoder = ta.HubEncoder("bert_small")
    model = ta.build_model(task, encoder, adaptation="fine_tuning")
    model.compile(keras.optimizers.AdamW(RATE, weight_decay=0.01), loss=task.loss)
    model.predict(ta.batches(records[:2], task, encoder), verbose=0)  # makes all weights
    model.optimizer.build(model.trainable_variables)
    start = model.get_weights()
    state = [(variable, variable.numpy()) for variable in model.optimizer.variables]
    labels = np.array([record.label for record in records])

    def right(random, train: np.ndarray, scored: np.ndarray) -> np.ndarray:
        train = _nine_tenths(random, train)
        model.set_weights(start)
        for variable in model.head.trainable_variables:
            if len(variable.shape) == 2:
                bound = np.sqrt(6 / sum(variable.shape))
                variable.assign(random.uniform(-bound, bound, variable.shape))
        for variable, value in state:
            variable.assign(value)
        seed = int(random.integers(2**31))
        batches = ta.batches([records[n] for n in train], task, encoder, BATCH, seed)
        model.fit(batches, epochs=EPOCHS, verbose=0)
        answers = ta.predict(model, [records[n] for n in scored])
        return np.array([one.label for one in answers]) == labels[scored]

    return right


def _nine_tenths(random, train: np.ndarray) -> np.ndarray:
    """Of the examples, which a seed draws: the others would choose the epoch."""
    return random.permutation(train)[: max(2, round(0.9 * len(train)))]


def _standardised(features: np.ndarray) -> np.ndarray:
    return (features - features.mean(0)) / (features.std(0) + 1e-6)


def _draw(random, cells: Sequence[Learner], total: int, size: int) -> dict[str, bool]:
    """One set of texts, compared in both ways."""
    order = random.permutation(total)
    own, others = order[:size], order[size:]
    folds = np.stack([random.permutation(size) % FOLDS for _ in range(REPEATS)])
    scored = random.permutation(size) % 10 == 0
    before, after, truth = [], [], []
    for right in cells:
        split = [right(random, own[~scored], own[scored]) for _ in range(SEEDS)]
        before.append(_sample(np.stack(split)))
        answers = np.zeros((REPEATS, size))
        for repeat, fold in itertools.product(range(REPEATS), range(FOLDS)):
            left = folds[repeat] == fold
            answers[repeat, left] = right(random, own[~left], own[left])
        after.append(_sample(answers, folds))
        truth.append(right(random, own, others).mean())
    return _told("before", before, truth) | _told("after", after, truth)


def _sample(right: np.ndarray, folds: np.ndarray | None = None) -> CellSample:
    values = right.astype(np.float64)
    return sample_of_values(values.mean(1), values, folds)


def _told(when: str, cells: list[CellSample], truth: list[float]) -> dict[str, bool]:
    """Whether the best cell is ahead of all others, whether a pair is decided wrongly, and whether
    the best cell is truly worse than another by more than `WORSE`."""
    pairs = list(itertools.combinations(range(len(cells)), 2))
    tests = [compare_cells(cells[a], cells[b]) for a, b in pairs]
    adjusted = holm([test.p for test in tests])
    decided = {
        (a, b) if test.difference > 0 else (b, a): p <= LEVELS[0]
        for (a, b), test, p in zip(pairs, tests, adjusted, strict=True)
    }
    best = int(np.argmax([cell.scores.mean() for cell in cells]))
    return {
        f"decided {when}": all(yes for pair, yes in decided.items() if best in pair),
        f"wrong {when}": any(yes and truth[a] < truth[b] for (a, b), yes in decided.items()),
        f"misled {when}": bool(truth[best] < max(truth) - WORSE),
    }


if __name__ == "__main__":
    main()
