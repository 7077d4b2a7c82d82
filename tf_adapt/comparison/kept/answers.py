"""The file with all answers of a comparison: gold, items, folds, runs. Imports no TensorFlow."""

import gzip
import io
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hub_modules.storage.files import write_bytes
from hub_modules.storage.json_files import read_bytes
from tf_adapt.errors import ArtifactError

FILE = "answers.jsonl.gz"
FORMAT = 1
_DAMAGED = (gzip.BadGzipFile, zlib.error, EOFError)


def file_of_domain(name: str) -> str:
    """The file of the answers in another domain."""
    return f"answers.{name}.jsonl.gz"


@dataclass(frozen=True)
class KeptAnswers:
    """The gold label and all answers of each scored example, in the form of
    `tf_adapt.runs.prediction_files`; those of a tagger are lists of tags, a list a sentence.

    Attributes:
        scheme: of tags; of other kinds of task without meaning.
        gold: `[examples]`.
        items: the item of each example in the tests, `[examples] int`.
        cells: by cell and seed the answers, `[examples]`; seeds without a model have none.
        references: by simple model the answers with each seed, `[seeds][examples]`.
        folds: of a cross-validation, by repeat the fold of each example.
    """

    scheme: str
    gold: list
    items: np.ndarray
    cells: dict[str, dict[int, list]]
    references: dict[str, list[list]] = field(default_factory=dict)
    folds: dict[int, np.ndarray] = field(default_factory=dict)


def write_answers(answers: KeptAnswers, path: Path) -> None:
    """Writes JSON lines, compressed: what the columns are, then a line an example. The bytes depend
    on the answers alone.

    Raises:
        ArtifactError: not writable.
    """
    runs = [(cell, seed) for cell, seeds in answers.cells.items() for seed in seeds]
    simple = [(name, n) for name, some in answers.references.items() for n in range(len(some))]
    head = {
        "format": FORMAT,
        "scheme": answers.scheme,
        "runs": runs,
        "references": simple,
        "repeats": list(answers.folds),
    }
    columns = [
        answers.gold,
        answers.items.tolist(),
        *(answers.cells[cell][seed] for cell, seed in runs),
        *(answers.references[name][number] for name, number in simple),
        *(folds.tolist() for folds in answers.folds.values()),
    ]
    lines = [head, *zip(*columns, strict=True)]
    text = "".join(f"{json.dumps(line, ensure_ascii=False, sort_keys=True)}\n" for line in lines)
    packed = io.BytesIO()
    # Without a time and a name.
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0, filename="") as stream:
        stream.write(text.encode("utf-8"))
    write_bytes(path, packed.getvalue())


def read_answers(path: Path) -> KeptAnswers:
    """The inverse of `write_answers`.

    Raises:
        ArtifactError: there is no such file, or it is damaged or of another version.
    """
    advice = "give the command of the comparison again, which writes it and trains nothing"
    try:
        lines = gzip.decompress(read_bytes(path)).decode("utf-8").split("\n")
        head, *rows = map(json.loads, lines[:-1])
        if head["format"] != FORMAT:
            raise ArtifactError(
                f"{path}: expected answers of this version (format {FORMAT}), got format "
                f"{head['format']}; {advice}"
            )
        columns = iter([list(map(_as_before, column)) for column in zip(*rows, strict=True)])
        gold, items = next(columns), np.array(next(columns), np.int64)
        cells: dict[str, dict[int, list]] = {}
        for cell, seed in head["runs"]:
            cells.setdefault(cell, {})[seed] = next(columns)
        references: dict[str, list[list]] = {}
        for name, _ in head["references"]:
            references.setdefault(name, []).append(next(columns))
        folds = {repeat: np.array(next(columns), np.int64) for repeat in head["repeats"]}
    except (*_DAMAGED, ValueError, KeyError, TypeError, StopIteration) as error:
        raise ArtifactError(
            f"{path}: expected the answers of a comparison, got something else; {advice}"
        ) from error
    return KeptAnswers(head["scheme"], gold, items, cells, references, folds)


def _as_before(answer: Any) -> Any:
    """Sets of labels and tags were tuples or lists, of which JSON has one."""
    return tuple(answer) if isinstance(answer, Sequence) and not isinstance(answer, str) else answer
