"""The analysis of domains: corpora from files, or the genres of a dataset beside runs' accuracy."""

from collections import Counter, defaultdict
from pathlib import Path

from tf_adapt.analysis.domains import (
    chance_divergence,
    correlation,
    divergence_matrix,
    jensen_shannon,
    joined,
    term_counts,
)
from tf_adapt.analysis.genres import genre_scores, genres_of, texts_of
from tf_adapt.analysis.progress import shown
from tf_adapt.config import load_config
from tf_adapt.data.formats.text import read_texts
from tf_adapt.data.splits import load_splits
from tf_adapt.errors import ConfigError
from tf_adapt.paper import FROZEN, TUNED


def compare_files(paths: tuple[str, ...]) -> dict:
    """The divergence of each pair of text files, one text a line.

    Returns:
        `corpora`, the file names without ending; `terms`, `vocabulary`: how many each has, all and
        distinct; `matrix`, in the order of the files.

    Raises:
        ConfigError: fewer than two files, or two of the same name.
        DataError: a file is empty, or no text.
    """
    names = [Path(path).stem for path in paths]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise ConfigError(
            "analyze domains: expected a config, or at least two text files with different names, "
            f"got {', '.join(paths)}"
        )
    counts = [
        term_counts(record.text_a for record in read_texts(path, skip_empty=True)[0])
        for path in paths
    ]
    return _described(names, counts)


def compare_genres(
    path: str,
    overrides: tuple[str, ...] = (),
    wanted: tuple[str, ...] = (),
    runs: tuple[str, ...] = (),
) -> dict:
    """The divergence of each pair of genres, and of train and dev of each, beside accuracies.

    The matrix compares the train splits: all terms of both texts of every pair of a genre.
    `train_dev` compares a genre's train split with its dev split, which is what table 6 of the
    paper shows; `chance` is what the same texts show when they are parted at random.

    Returns:
        As `compare_files`, and `train_dev`: `divergence` and `chance` of each genre. With runs:
        `runs` (see `genre_scores`), `accuracies`: by adaptation, of each genre the mean over its
        runs; `correlations` of these with the divergences, and of the difference of fine-tuning
        and feature extraction where both are there, each with a `statement`.

    Raises:
        ConfigError, DataError, ArtifactError: as `load_config`, `load_splits`, `genres_of`,
            `genre_scores`.
    """
    splits = load_splits(load_config(path, overrides).data)
    train, dev = splits.examples["train"], splits.examples["dev"]
    genres = genres_of([*train, *dev], wanted, path)
    texts = {
        split: {genre: texts_of(examples, genre) for genre in shown(genres, split)}
        for split, examples in (("train", train), ("dev", dev))
    }
    counts = {
        split: {genre: joined(parts) for genre, parts in of_genres.items()}
        for split, of_genres in texts.items()
    }
    result = _described(genres, list(counts["train"].values()))
    result["splits"] = {split: splits.descriptions[split] for split in ("train", "dev")}
    result["train_dev"] = {
        genre: {
            "divergence": jensen_shannon(counts["train"][genre], counts["dev"][genre]),
            "chance": chance_divergence(texts["train"][genre], texts["dev"][genre]),
        }
        for genre in genres
    }
    if runs:
        scores = [genre_scores(Path(run), dev) for run in runs]
        result |= {"runs": scores} | _beside_scores(scores, result["train_dev"])
    return result


def _described(names: list[str], counts: list[Counter]) -> dict:
    return {
        "corpora": names,
        "terms": [count.total() for count in counts],
        "vocabulary": [len(count) for count in counts],
        "matrix": divergence_matrix(counts),
    }


def _beside_scores(scores: list[dict], within: dict[str, dict]) -> dict:
    of_adaptation: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in scores:
        for genre, accuracy in run["accuracy"].items():
            if genre in within:
                of_adaptation[run["adaptation"]][genre].append(accuracy)
    accuracies = {
        name: {genre: sum(found[genre]) / len(found[genre]) for genre in within if genre in found}
        for name, found in of_adaptation.items()
    }
    compared = dict(accuracies)
    if FROZEN in accuracies and TUNED in accuracies:
        frozen, tuned = accuracies[FROZEN], accuracies[TUNED]
        compared[f"{TUNED} − {FROZEN}"] = {
            genre: tuned[genre] - frozen[genre] for genre in tuned if genre in frozen
        }
    correlations = {
        name: correlation([within[genre]["divergence"] for genre in values], list(values.values()))
        for name, values in compared.items()
    }
    for name, found in correlations.items():
        found["statement"] = f"{name}: {_statement(found)}"
    return {"accuracies": accuracies, "correlations": correlations}


def _statement(found: dict) -> str:
    if found["pearson"] is None:
        return f"no correlation can be computed from {found['pairs']} genres"
    verdict = (
        "accuracy goes with the divergence of train and dev"
        if found["significant"]
        else "no significant correlation of accuracy with the divergence of train and dev"
    )
    numbers = f"r = {found['pearson']:.2f}, p = {found['p_value']:.3f}, {found['pairs']} genres"
    return f"{verdict} ({numbers})"
