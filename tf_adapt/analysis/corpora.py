"""The analysis of domains: corpora from files, or genres of a dataset and reference corpora."""

from collections import Counter
from pathlib import Path

from hub_modules.storage.strict_yaml import read_yaml
from tf_adapt.analysis.accuracies import (
    differences,
    mean_accuracies,
    with_correlations,
    with_series,
)
from tf_adapt.analysis.domains import divergence_matrix
from tf_adapt.analysis.genres import genre_counts, genre_scores, genres_of, scored_split
from tf_adapt.analysis.progress import shown
from tf_adapt.analysis.references import from_references, read_corpus, read_references
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.config.reading import load_config, one_task
from tf_adapt.config.sections import Config
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ConfigError


def compare_files(paths: tuple[str, ...]) -> dict:
    """The divergence of each pair of text files, one text a line.

    Returns:
        `corpora`, the file names without suffix; `terms`, `vocabulary`: the numbers of all and of
        distinct terms of each; `matrix` of divergences in nats, in the order of the files.

    Raises:
        ConfigError: fewer than two files, or two of the same name.
        DataError: a file is empty or is not text.
    """
    names = [Path(path).stem for path in paths]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise ConfigError(
            "analyze domains: expected a config, or at least two text files with different names, "
            f"got {', '.join(paths)}"
        )
    corpora = [read_corpus(path) for path in paths]
    return _described({corpus.name: corpus.counts for corpus in corpora})


def compare_genres(
    path: str,
    overrides: tuple[str, ...] = (),
    wanted: tuple[str, ...] = (),
    references: tuple[str, ...] = (),
    runs: tuple[str, ...] = (),
) -> dict:
    """The divergence of each pair of genres, and of each genre from reference corpora.

    The corpus of a genre is its part of the train split. With an encoder's pretraining corpora as
    references, and runs on one genre each, this is table 6 of the paper.

    Args:
        path: the config of a run or a comparison.
        wanted: the genres to compare; all if empty.
        references: text files, one text a line.
        runs: folders of finished runs on the same data, on one genre or several.

    Returns:
        As `compare_files`, and `splits`: descriptions of train and scored split. With references:
        `references`, see `from_references`. With runs: `runs`, see `genre_scores` and
        `with_series`; `accuracies` by series and genre, means over runs; and in each reference
        `correlations`, see `with_correlations`, of these and of their `differences`.

    Raises:
        ConfigError: runs without references, or fewer than two genres without references.
        ConfigError, DataError, ArtifactError: as `load_config`, `load_comparison`, `load_splits`,
            `genres_of`, `read_references`, `genre_scores`, `with_series`.
    """
    if runs and not references:
        raise _no_references()
    config = _config_of(path, overrides)
    splits = load_splits(config.data, config.weak)
    train, scored = splits.examples["train"], scored_split(splits)
    genres = genres_of(train, wanted, path)
    if len(genres) < 2 and not references:
        raise _one_genre(path, genres[0])
    corpora = read_references(references) if references else []
    counts = {genre: genre_counts(train, genre) for genre in shown(genres, "genres")}
    result = _described(counts)
    result["splits"] = {split: splits.descriptions[split] for split in ("train", scored)}
    if references:
        result["references"] = from_references(counts, corpora)
    if runs:
        examples = splits.examples[scored]
        scores = [genre_scores(Path(run), examples, genres) for run in shown(runs, "runs")]
        result |= _beside_runs(result["references"], with_series(scores), genres)
    return result


def _no_references() -> ConfigError:
    return ConfigError(
        "--run: expected text files to compare the genres of the runs with (--reference FILE, the "
        "text that the encoder was pretrained on, or a sample of it), got none"
    )


def _one_genre(path: str, genre: str) -> ConfigError:
    return ConfigError(
        f"{path}: expected at least two genres to compare, or --reference FILE, got {genre} alone; "
        "a config's data.genre leaves only that one"
    )


def _config_of(path: str, overrides: tuple[str, ...]) -> Config:
    content, _ = read_yaml(path)
    if isinstance(content, dict) and "compare" in content:
        config = load_comparison(path, overrides).cells[0].config
        return config if config.target is None else config.of_task(config.target)
    return one_task(load_config(path, overrides), str(path), "an analysis")


def _described(counts: dict[str, Counter[str]]) -> dict:
    return {
        "corpora": list(counts),
        "terms": [count.total() for count in counts.values()],
        "vocabulary": [len(count) for count in counts.values()],
        "matrix": divergence_matrix(list(counts.values())),
    }


def _beside_runs(references: list[dict], runs: list[dict], genres: list[str]) -> dict:
    accuracies = mean_accuracies(runs, genres)
    compared = accuracies | differences(runs, accuracies)
    return {
        "references": with_correlations(references, compared),
        "runs": runs,
        "accuracies": accuracies,
    }
