"""The genres of a dataset as domains, and the accuracy of runs on each genre."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tf_adapt.analysis.domains import term_counts
from tf_adapt.analysis.kinds import KINDS
from tf_adapt.config.reading import one_task
from tf_adapt.config.sections import Config
from tf_adapt.data.formats import Record
from tf_adapt.data.splits.read_splits import Splits, load_splits
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import run_folder
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.training.resolving import run_config


def genres_of(examples: list, wanted: tuple[str, ...], where: str) -> list[str]:
    """The genres of the examples, sorted; or the wanted ones, in the given order.

    Args:
        where: names the data in messages.

    Raises:
        ConfigError: the examples have no genre, or a wanted one does not occur.
    """
    genres = sorted({getattr(example, "genre", None) or "" for example in examples} - {""})
    if not genres:
        raise ConfigError(
            f"{where}: expected data whose examples have a genre (data.dataset: mnli or stsb), got "
            "data without; or give two text files or more, each a corpus"
        )
    for genre in wanted:
        if genre not in genres:
            raise ConfigError(f"--genre {genre}: expected one of {', '.join(genres)}; correct it")
    return list(dict.fromkeys(wanted)) or genres


def genre_counts(examples: list[Record], genre: str) -> Counter[str]:
    """The term counts of all pairs of a genre; a premise counts once for each of its pairs."""
    return term_counts(
        text
        for example in examples
        if example.genre == genre
        for text in (example.text_a, example.text_b or "")
    )


def scored_split(splits: Splits) -> str:
    """The split on which runs are scored: test, or dev if there is none."""
    return "test" if splits.examples.get("test") else "dev"


def genre_scores(run: Path, scored: list[Record], genres: Sequence[str]) -> dict:
    """The accuracy of a run on each genre, from its prediction files.

    Uses the run's test split, or its dev split: the first whose examples of these genres are all in
    `scored`. (In a run with a part of train as dev, the original dev is its test split.)

    Args:
        run: the run folder.
        scored: the examples on which all runs of the analysis are scored.
        genres: the genres to score.

    Returns:
        `run`, `encoder`, `adaptation`, `seed`; `trained_on`, the number of train examples by genre;
        `accuracy` and `examples` by genre.

    Raises:
        ArtifactError: the folder is not a run, or the run is unfinished.
        ConfigError: the run has none of the genres, was scored on other examples, or is not a
            classifier.
    """
    config = one_task(_finished_config(run), str(run), "an analysis")
    splits = load_splits(config.data, config.weak)
    if "genres" not in KINDS[splits.kind].analyses:
        raise ConfigError(f"{run}: expected a run of a classification, got {splits.kind}")
    trained_on = _numbers(splits.examples["train"])
    if not trained_on.keys() & set(genres):
        raise ConfigError(
            f"{run}: expected a run on {' or '.join(genres)}, got one on "
            f"{', '.join(trained_on) or 'data without genres'}; leave it out, or ask for its genre "
            "(--genre, data.genre of the config)"
        )
    split = _split_of(run, splits, scored, genres)
    examples = splits.examples[split]
    labels = _labels(run, split, splits.kind, len(examples))
    about = _about(run, config) | {"trained_on": trained_on}
    return about | _by_genre(examples, labels, genres)


def _split_of(run: Path, splits: Splits, scored: list[Record], genres: Sequence[str]) -> str:
    """The run's split whose examples of these genres are all in `scored`."""
    known = {_key(example) for example in scored}
    for split in ("test", "dev"):
        asked = [example for example in splits.examples.get(split, []) if example.genre in genres]
        if asked and all(_key(example) in known for example in asked):
            return split
    raise ConfigError(
        f"{run}: expected a run that was scored on the same examples as the given config scores "
        "on, got one with others; give a run on the same data"
    )


def _finished_config(run: Path) -> Config:
    config = run_config.saved_config(run) if (run / run_folder.CONFIG).is_file() else None
    if config is None:
        raise ArtifactError(
            f"{run}: expected the folder of a run, got none with a {run_folder.CONFIG}; in the "
            "folder of a comparison they are runs/CELL/rate_RATE/seed_SEED"
        )
    if run_folder.finished_metrics(run) is None:
        raise ArtifactError(f"{run}: expected a finished run; end it with `tf-adapt train`")
    return config


def _about(run: Path, config: Config) -> dict:
    return {
        "run": str(run),
        "encoder": config.encoder.handle,
        "adaptation": config.adaptation.name,
        "seed": config.training.seed,
    }


def _numbers(examples: list) -> dict[str, int]:
    """The number of examples of each genre; empty for data without genres."""
    counts = Counter(getattr(example, "genre", None) for example in examples)
    return {genre: counts[genre] for genre in sorted(counts.keys() - {None, ""})}


def _key(example: Record) -> tuple:
    return (example.text_a, example.text_b, example.label, example.genre)


def _labels(run: Path, split: str, kind: str, count: int) -> list[str]:
    labels = read_predictions(run, split, kind)
    if len(labels) != count:
        raise ArtifactError(
            f"{run}: expected {count} predictions, as many as there are {split} examples, got "
            f"{len(labels)}; the run's data have changed, train again"
        )
    return labels


def _by_genre(examples: list[Record], labels: list[str], genres: Sequence[str]) -> dict:
    right: dict[str, list[bool]] = {}
    for example, label in zip(examples, labels, strict=True):
        right.setdefault(example.genre, []).append(example.label == label)
    common = [genre for genre in genres if genre in right]
    return {
        "accuracy": {genre: sum(right[genre]) / len(right[genre]) for genre in common},
        "examples": {genre: len(right[genre]) for genre in common},
    }
