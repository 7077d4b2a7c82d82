"""Reference corpora, as an encoder was pretrained on, and how far the genres are from them."""

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
    """Texts under a name, and how often each term occurs in them."""

    name: str
    files: tuple[str, ...]
    texts: list[str]
    counts: Counter[str]


def read_corpus(path: str) -> Corpus:
    """A text file, one text a line, under its name without ending.

    Raises:
        DataError: it cannot be read, see `read_texts`, or has no terms.
    """
    texts = [record.text_a for record in read_texts(path, skip_empty=True)[0]]
    counts = term_counts(texts)
    if not counts:
        raise DataError(f"{path}: expected text with at least one term, got white space alone")
    return Corpus(Path(path).stem, (path,), texts, counts)


def read_references(paths: tuple[str, ...]) -> list[Corpus]:
    """Each reference corpus, and, of two or more, all of them as one corpus.

    Raises:
        ConfigError: two files of one name, or one named as all of them together are.
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
        corpora.append(Corpus(TOGETHER, paths, texts, joined(one.counts for one in corpora)))
    return corpora


def from_references(genres: Mapping[str, Counter[str]], references: Iterable[Corpus]) -> list[dict]:
    """How far each genre is from each reference.

    Returns:
        Of each reference `name`, `files`, `terms`, `vocabulary` and `genres`: by genre
        `divergence`, and `own_sample`, see `sample_divergence`.
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
