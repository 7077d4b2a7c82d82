"""Reference corpora, such as an encoder's pretraining data, and the divergence from them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tf_adapt.analysis.domains import jensen_shannon, joined, sample_divergence, term_counts
from tf_adapt.analysis.progress import shown
from tf_adapt.data.formats.text import read_texts
from tf_adapt.errors import ConfigError, DataError

TOGETHER = "all together"


@dataclass(frozen=True)
class Corpus:
    """A named corpus with its term counts."""

    name: str
    files: tuple[str, ...]
    texts: list[str]
    counts: Counter[str]


def read_corpus(path: str) -> Corpus:
    """The corpus of a text file, one text a line, named after the file without suffix.

    Raises:
        DataError: it cannot be read, see `read_texts`, or has no terms.
    """
    texts = [record.text_a for record in read_texts(path, skip_empty=True)[0]]
    counts = term_counts(texts)
    if not counts:
        raise DataError(f"{path}: expected text with at least one term, got white space alone")
    return Corpus(Path(path).stem, (path,), texts, counts)


def read_references(paths: tuple[str, ...]) -> list[Corpus]:
    """The reference corpora; with two or more, followed by their union, named `TOGETHER`.

    Raises:
        ConfigError: two files have the same name, or one is named `TOGETHER`.
        DataError: as `read_corpus`.
    """
    names = [Path(path).stem for path in paths]
    if len({*names, TOGETHER}) <= len(names):
        raise ConfigError(
            f"--reference: expected files with different names (without ending), none of them "
            f"{TOGETHER!r}, got {', '.join(paths)}; rename one"
        )
    corpora = [read_corpus(path) for path in shown(paths, "references")]
    if len(corpora) > 1:
        texts = [text for corpus in corpora for text in corpus.texts]
        corpora.append(Corpus(TOGETHER, paths, texts, joined(corpus.counts for corpus in corpora)))
    return corpora


def from_references(genres: Mapping[str, Counter[str]], references: Iterable[Corpus]) -> list[dict]:
    """The divergence of each genre from each reference.

    Args:
        genres: term counts by genre.

    Returns:
        For each reference `name`, `files`, `terms`, `vocabulary` and `genres`: by genre
        `divergence` in nats, and `own_sample`, the `sample_divergence` of the reference.
    """
    return [
        {
            "name": reference.name,
            "files": list(reference.files),
            "terms": reference.counts.total(),
            "vocabulary": len(reference.counts),
            "genres": {
                genre: {
                    "divergence": jensen_shannon(counts, reference.counts),
                    "own_sample": sample_divergence(
                        reference.texts, reference.counts, counts.total()
                    ),
                }
                for genre, counts in genres.items()
            },
        }
        for reference in shown(list(references), "divergences")
    ]
