"""What all benchmarks share: where data and weights are, how much is measured, real sentences."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.side_by_side.child import ask_once
from tf_adapt.data.formats import Record, read_mrpc, read_sst2

CLASSES, WIDTH = 2, 384


@dataclass(frozen=True)
class Settings:
    """How the benchmarks are run.

    Args:
        shared: the folder with `data` and `models` (TF_ADAPT_SHARED).
        minilm: MiniLM as a module of ours.
        quick: next to no work, one turn: shows that everything runs, its times say nothing.
        work: an empty folder for what has to be made first.
    """

    shared: Path
    minilm: Path
    quick: bool
    work: Path

    @property
    def huggingface_minilm(self) -> str:
        """The same weights as HuggingFace has them."""
        return str(self.shared / "models" / "minilm_l6_h384")

    def of(self, full: Any, quick: Any) -> Any:
        """What suits the run."""
        return quick if self.quick else full

    def rounds(self, count: int = 5) -> int:
        """How many turns."""
        return self.of(count, 1)

    def mrpc(self, split: str) -> list[Record]:
        """The pairs of MRPC."""
        return read_mrpc(self.shared / "data" / "mrpc" / f"{split}.tsv")

    def sst2(self) -> list[str]:
        """The training sentences of SST-2, in the order of the file."""
        records = read_sst2(self.shared / "data" / "sst2" / "train.tsv")
        return _plain(record.text_a for record in records)

    def phrases_file(self, count: int) -> str:
        """The path of a file of `[text, label]`, the first `count` of SST-2's phrases."""
        records = read_sst2(self.shared / "data" / "sst2" / "train_phrases.tsv")
        labels = ("negative", "positive")
        rows = [[one.text_a, labels.index(one.label)] for one in records if _is_plain(one.text_a)]
        return self.file(f"sst2_phrases_{count}", rows[:count])

    def mrpc_sentences(self) -> list[str]:
        """Both sentences of each training pair of MRPC, in the order of the file."""
        return _plain(t for record in self.mrpc("train") for t in (record.text_a, record.text_b))

    def file(self, name: str, content: Any) -> str:
        """The path of a JSON file with this content, for children."""
        path = self.work / f"{name}.json"
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        return str(path)

    def pairs_file(self, split: str, count: int | None = None) -> str:
        """The path of a file of `[text, text, label]`, the first `count` pairs of MRPC."""
        labels = ("not_equivalent", "equivalent")
        pairs = [[one.text_a, one.text_b, labels.index(one.label)] for one in self.mrpc(split)]
        return self.file(f"mrpc_{split}_{count}", pairs[:count])

    def head_file(self) -> str:
        """The path of weights for a linear classifier, so that everybody begins with the same."""
        random = np.random.default_rng(0)
        path = self.work / "head.npz"
        kernel = random.normal(0, 0.02, (WIDTH, CLASSES)).astype("float32")
        np.savez(path, kernel=kernel, bias=np.zeros(CLASSES, "float32"))
        return str(path)

    def made(self, name: str, script: str, environment: str = "ours", **job: Any) -> str:
        """The path of a file or folder that a child makes once.

        Raises:
            NoAnswerError: the child could not.
        """
        path = self.work / name
        if not path.exists():
            ask_once(script, environment, job | {"path": str(path)})
        return str(path)


def _plain(texts: Iterable[str]) -> list[str]:
    """Those of printable ASCII (99 %): on accents and odd signs tokenizers do not agree."""
    return [text for text in texts if _is_plain(text)]


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()
