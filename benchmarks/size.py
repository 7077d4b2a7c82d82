"""Memory and time by the number of training pairs: data check, tokens, 200 steps, prediction."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement
from hub_modules.find import find_module
from tf_adapt.data.formats import Record, read_mnli

ABOUT = (
    "Pairs of MultiNLI with two more words each, so that all texts differ; a BERT of one layer and "
    "32 units, so that the data count. A process a size, after a warm-up on 500 pairs: reading, "
    "data check and tokens of train, 200 steps of 32, then predictions of a file of as many pairs."
)
SIZES, DEV, STEPS, WARM_UP = (10_000, 100_000, 400_000), 2000, 200, 500
MEMORY_MB = 32


def measurements(settings: Settings) -> Iterator[Measurement]:
    """A measurement a size."""
    data = settings.shared / "data" / "multinli"
    vocabulary = find_module("bert_small") / "vocab.txt"
    words = _words(vocabulary)
    _write(settings.work / "dev.tsv", read_mnli(data / "dev_matched.tsv")[:DEV], words, DEV)
    pairs = read_mnli(data / "train_subset.tsv")
    sizes = settings.of(SIZES, (WARM_UP,))
    for size in sorted({WARM_UP, *sizes}):
        _write(settings.work / f"{size}.tsv", pairs, words, size)
    for size in sizes:
        job = {"folder": str(settings.work), "vocabulary": str(vocabulary), "pairs": size}
        job |= {"warm_up": WARM_UP, "steps": settings.of(STEPS, 2)}
        yield Measurement(
            f"{size:,} pairs",
            [
                Contestant(
                    f"data.memory_mb: {MEMORY_MB}", "size_ours.py", job={"memory_mb": MEMORY_MB}
                ),
                Contestant("by default, without predictions", "size_ours.py"),
            ],
            job=job,
            rounds=1,
        )


def _words(vocabulary: Path) -> list[str]:
    """Words of one piece."""
    pieces = vocabulary.read_text("utf-8").split("\n")
    return [piece for piece in pieces if piece.isalpha() and piece.isascii() and len(piece) > 3]


def _write(path: Path, pairs: list[Record], words: list[str], count: int) -> None:
    """So many pairs, each text with two words at its end that no other one has."""
    ends = itertools.product(words, words)
    with open(path, "w", encoding="utf-8") as file:
        file.write("text_a\ttext_b\tlabel\n")
        for pair, end in zip(itertools.cycle(pairs), itertools.islice(ends, count)):  # noqa: B905
            added = " ".join(end)
            file.write(f"{pair.text_a} {added}\t{pair.text_b} {added}\t{pair.label}\n")
