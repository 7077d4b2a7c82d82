"""IMDB's film reviews for ULMFiT's three steps, from the published folder or TensorFlow Datasets.

    python examples/documents/imdb.py aclImdb data/imdb
    python examples/documents/imdb.py tfds data/imdb        # downloads it

Writes train.tsv and test.tsv (text, label) for the classifier. texts.txt and held_out.txt are for
the language model, a review a line: those of train and the unlabelled ones, every hundredth of
which is held out. Line breaks become blanks.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

LABELS = {"neg": "negative", "pos": "positive"}


def main(source: str, folder: Path) -> None:
    """Reads the reviews, then writes the four files."""
    read = from_tfds if source == "tfds" else lambda part: from_folder(Path(source), part)
    parts = {part: list(read(part)) for part in ("train", "test", "unsup")}
    folder.mkdir(parents=True)
    for name in ("train", "test"):
        lines = ["text\tlabel", *(f"{text}\t{label}" for text, label in parts[name])]
        write(folder / f"{name}.tsv", lines)
    texts = [text for name in ("train", "unsup") for text, _ in parts[name]]
    write(folder / "texts.txt", [text for place, text in enumerate(texts) if place % 100])
    write(folder / "held_out.txt", texts[::100])


def from_folder(folder: Path, part: str) -> Iterator[tuple[str, str]]:
    """Text and label of each file of a part, in the order of their names."""
    for name in ["unsup"] if part == "unsup" else LABELS:
        inside = folder / "train" / "unsup" if part == "unsup" else folder / part / name
        files = sorted(inside.glob("*.txt"))
        if not files:
            sys.exit(f"{inside}: expected the reviews as .txt files, got none; take aclImdb")
        for file in files:
            yield one_line(file.read_text("utf-8")), LABELS.get(name, "")


def from_tfds(part: str) -> Iterator[tuple[str, str]]:
    """Text and label of each review of TensorFlow Datasets' copy."""
    import tensorflow_datasets as tfds

    split = {"unsup": "unsupervised"}.get(part, part)
    for one in tfds.load("imdb_reviews", split=split).as_numpy_iterator():
        label = list(LABELS.values())[one["label"]] if part != "unsup" else ""
        yield one_line(one["text"].decode("utf-8")), label


def one_line(text: str) -> str:
    """The text without HTML's line breaks, and with blanks for all white space."""
    return " ".join(text.replace("<br />", " ").split())


def write(path: Path, lines: list[str]) -> None:
    """Writes lines and says how many."""
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{path}: {len(lines):,} lines")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
