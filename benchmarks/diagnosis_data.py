"""The datasets of `benchmarks.diagnosis`: short texts, and pairs of them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tf_adapt.data.datasets import load_dataset

Row = dict[str, Any]
MOST_WORDS, ARTICLES = 14, 8
PAIRS = {"text_a": "text_a", "text_b": "text_b", "label": "label"}
# Two lower layers learn nothing from so few pairs in one row.
APART = {"head": "skip_thoughts", "head_pooling": "mean", "encoder.pairs": "separate"}


@dataclass(frozen=True)
class Dataset:
    """Where texts come from.

    Attributes:
        rows: the folder of the data → all rows.
        kind: of its task.
        columns, keys: of the section `data`.
        settings: other keys of the config.
        foreign: as `rows`, of another source with the same task.
        faults: those that are injected; empty: all but `other domain`.
    """

    rows: Callable[[Path], list[Row]]
    kind: str = "classification"
    columns: dict[str, str] = field(default_factory=lambda: {"text_a": "text", "label": "label"})
    keys: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    foreign: Callable[[Path], list[Row]] | None = None
    faults: tuple[str, ...] = ()


def _texts(name: str, home: str) -> Callable[[Path], list[Row]]:
    def rows(folder: Path) -> list[Row]:
        records = load_dataset(name, "train", "files", folder / home)
        labels = {record.text_a: record.label for record in records}
        short = [text for text in labels if len(text.split()) <= MOST_WORDS]
        return [{"text": text, "label": labels[text]} for text in short]

    return rows


def _articles(folder: Path) -> list[Row]:
    """Questions on the articles that have most of them; the label is the article."""
    articles = json.loads((folder / "squad" / "dev-v1.1.json").read_text("utf-8"))["data"]
    texts = {
        article["title"]: {
            one["question"] for paragraph in article["paragraphs"] for one in paragraph["qas"]
        }
        for article in articles
    }
    largest = sorted(texts, key=lambda title: (-len(texts[title]), title))[:ARTICLES]
    return [
        {"text": text, "label": title}
        for title in largest
        for text in sorted(texts[title])
        if len(text.split()) <= MOST_WORDS
    ]


def _similarities(*genres: str) -> Callable[[Path], list[Row]]:
    def rows(folder: Path) -> list[Row]:
        lines = (folder / "stsb" / "sts-train.csv").read_text("utf-8").split("\n")
        cells = [line.split("\t") for line in lines if line]
        scores = {(one[5], one[6]): float(one[4]) for one in cells if one[0] in genres}
        return [
            {"text_a": first, "text_b": second, "label": score}
            for (first, second), score in scores.items()
            if max(len(first.split()), len(second.split())) <= MOST_WORDS
        ]

    return rows


def _relatedness(folder: Path) -> list[Row]:
    records = load_dataset("sick_r", "train", "files", folder / "sick")
    return [{"text_a": r.text_a, "text_b": r.text_b, "label": r.label} for r in records]


# The first ones are for choosing thresholds, the last two for the proof.
DATASETS = {
    "sst2": Dataset(_texts("sst2_sentences", "sst2")),
    "trec": Dataset(_texts("trec", "trec")),
    "sick_r": Dataset(
        _relatedness,
        "pair_regression",
        PAIRS,
        {"label_range": [1, 5]},
        APART,
        faults=("rate / 100", "few steps"),
    ),
    "squad_articles": Dataset(
        _articles,
        faults=(
            "noise",
            "unscaled",
            "rate / 100",
            "few steps",
            "rate x 30",
            "collapse",
            "rate x 10",
            "rate x 20",
        ),
    ),
    "stsb_captions": Dataset(
        _similarities("main-captions"),
        "pair_regression",
        PAIRS,
        {"label_range": [0, 5]},
        APART,
        _similarities("main-news", "main-forum"),
        ("rate / 100", "few steps", "other domain"),
    ),
}
