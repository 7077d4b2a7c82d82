"""The genres of a dataset as domains, and the accuracy of trained runs on each of them."""

from collections import Counter
from pathlib import Path

from tf_adapt import run_folder
from tf_adapt.analysis.domains import term_counts
from tf_adapt.data.formats import Record
from tf_adapt.data.splits import load_splits
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.prediction_files import read_predictions


def genres_of(examples: list, wanted: tuple[str, ...], where: str) -> list[str]:
    """The genres that occur, sorted, or those of them that are wanted, in that order.

    Raises:
        ConfigError: the examples have no genre, or one that is wanted does not occur.
    """
    found = sorted({getattr(example, "genre", None) or "" for example in examples} - {""})
    if not found:
        raise ConfigError(
            f"{where}: expected data whose examples have a genre (data.dataset: mnli), got data "
            "without; or give two text files or more, each a corpus"
        )
    for genre in wanted:
        if genre not in found:
            raise ConfigError(f"--genre {genre}: expected one of {', '.join(found)}; correct it")
    return list(dict.fromkeys(wanted)) or found


def texts_of(examples: list[Record], genre: str) -> list[Counter[str]]:
    """The terms of a genre's texts; a premise is one text together with all its hypotheses."""
    texts: dict[str, list[str]] = {}
    for example in examples:
        if example.genre == genre:
            texts.setdefault(example.text_a, []).append(example.text_b or "")
    # Each pair counts as it stands in the data: the premise as often as it occurs.
    return [term_counts([*[first] * len(others), *others]) for first, others in texts.items()]


def genre_scores(run: Path, dev: list[Record]) -> dict:
    """The accuracy of a run on each genre, from the predictions that it wrote at its end.

    It is that of the split that holds examples of `dev` alone: of the run's dev or, where a part of
    train stood for dev, of its test.

    Returns:
        `run`, `adaptation`, `seed`, and `accuracy` and `examples` by genre.

    Raises:
        ArtifactError: it is no run, or an unfinished one.
        ConfigError: it was scored on other examples, or is not a classifier.
    """
    config = run_folder.saved_config(run)
    if config is None or run_folder.finished_metrics(run) is None:
        raise ArtifactError(f"{run}: expected a finished run; end it with `tf-adapt train`")
    splits = load_splits(config.data)
    if splits.kind not in ("classification", "pair_classification"):
        raise ConfigError(f"{run}: expected a run of a classification, got {splits.kind}")
    known = {_key(example) for example in dev}
    for split in ("dev", "test"):
        examples = splits.examples.get(split, [])
        if examples and all(_key(example) in known for example in examples):
            return {
                "run": str(run),
                "adaptation": config.adaptation.name,
                "seed": config.training.seed,
                **_by_genre(examples, _labels(run, split, splits.kind, len(examples))),
            }
    raise ConfigError(
        f"{run}: expected a run that was scored on the dev split of the given config, got one with "
        "other examples; give a run on the same data"
    )


def _key(example: Record) -> tuple:
    return (example.text_a, example.text_b, example.label, getattr(example, "genre", None))


def _labels(run: Path, split: str, kind: str, count: int) -> list[str]:
    labels = read_predictions(run, split, kind)
    if len(labels) != count:
        raise ArtifactError(
            f"{run}: expected {count} predictions, as many as there are {split} examples, got "
            f"{len(labels)}; the run's data have changed, train again"
        )
    return labels


def _by_genre(examples: list[Record], labels: list[str]) -> dict:
    right: dict[str, list[bool]] = {}
    for example, label in zip(examples, labels, strict=True):
        right.setdefault(example.genre, []).append(example.label == label)
    return {
        "accuracy": {genre: sum(hits) / len(hits) for genre, hits in sorted(right.items())},
        "examples": {genre: len(hits) for genre, hits in sorted(right.items())},
    }
