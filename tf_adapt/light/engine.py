"""A model of a light export: texts → logits, or what is decoded of them. No TensorFlow."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hub_modules.engines.compiled_graph import CompiledGraph, core
from tf_adapt.errors import ArtifactError
from tf_adapt.light.characters import WordsWithPlaces
from tf_adapt.light.layout import LOGITS, WEIGHTS, Model
from tf_adapt.light.readers import READERS
from tf_adapt.light.rows import (
    Tokens,
    batches,
    fitted,
    fitted_words,
    parts_of,
    window_around,
)

# Of a row: the inputs that are not of its tokens alone.
_PLACES = ("first_piece", "last_piece")


class LightEngine:
    """One model: how it reads, and its graph.

    Args:
        labels: of its task; 0 of a task without.

    Raises:
        ArtifactError: OpenVINO cannot read the graph, or its logits are of other labels.
    """

    def __init__(self, settings: Model, folder: Path, labels: int):
        self.settings = settings
        self.reader = READERS[settings.reader.kind](settings.reader, folder)
        self.answer_words = None
        if settings.answer_words is not None:
            self.answer_words = WordsWithPlaces(folder / settings.answer_words)
        file = folder / settings.graph
        try:
            graph = core().read_model(file, folder / WEIGHTS)
            products = "bfloat16" if settings.precision == "bfloat16" else "float32"
            self._graph = CompiledGraph(graph, products)
            size = graph.output(0).get_partial_shape()[-1] if labels else None
        # What OpenVINO says of a damaged file has no type of its own.
        except Exception as error:
            problem = " ".join(str(error).split())[:200]
            raise ArtifactError(
                f"{file}: expected a graph of OpenVINO, got one that it does not read ({problem}); "
                "install the version of openvino that wrote it, or export the run again"
            ) from error

        if size is not None and size.is_static and size.get_length() != labels:
            raise ArtifactError(
                f"{file}: expected logits of {labels} labels, as the task has, got "
                f"{size.get_length()}; export the run again"
            )

    def budget(self, segments: int) -> int:
        """Most tokens of a row without special ones."""
        return self.settings.max_length - self.reader.special_tokens(segments)

    def text_logits(self, columns: Sequence[Sequence[str]]) -> np.ndarray:
        """Logits of texts, or of pairs: `[batch, …] float32`.

        Raises:
            DataError: one is too long.
        """
        prompts = self.settings.prompts or [""]
        segments = [
            self.reader.texts([prompts[min(number, len(prompts) - 1)] + text for text in texts])
            for number, texts in enumerate(columns)
        ]
        pairs = list(zip(*segments, strict=True))
        groups = [pairs] if self.settings.joint else [[(s,) for s in c] for c in segments]
        may_cut = self.settings.truncate
        rows = [
            {
                column: fitted(list(group[number]), self.budget(len(group[number])), may_cut)
                for column, group in zip("ab", groups, strict=False)
            }
            for number in range(len(pairs))
        ]
        return np.stack(self.in_batches(rows)) if rows else np.zeros([0, 0], "float32")

    def word_logits(self, sentences: Sequence[Sequence[str]]) -> list[list[np.ndarray]]:
        """Logits of the words of sentences, of each part that is read by itself: `[words, tags]`.

        Raises:
            DataError: a word is too long.
        """
        budget = self.budget(1)
        rows, words_of, owners = [], [], []
        for number, sentence in enumerate(sentences):
            words = fitted_words(self.reader.words(sentence), budget, self.settings.truncate)
            for part in parts_of(words, budget):
                row, before = [token for word in words[part] for token in word], 0
                if self.settings.document_context:
                    row, before = window_around(words, part, budget)
                ends = before + np.cumsum([0, *map(len, words[part])])
                rows.append({"a": [row], "places": (ends[:-1], ends[1:] - 1)})
                words_of.append(part.stop - part.start)
                owners.append(number)
        parts: list[list[np.ndarray]] = [[] for _ in sentences]
        for number, count, logits in zip(owners, words_of, self.in_batches(rows), strict=True):
            parts[number].append(logits[:count])
        return parts

    def in_batches(self, rows: Sequence[dict]) -> list[np.ndarray]:
        """The logits of each row, computed together with rows of its length.

        Args:
            rows: segments of tokens by text column, "a" and "b"; `places` of the first and last
                token of each word, counted from the beginning of the last segment.
        """
        lengths = [sum(map(len, row["a"])) for row in rows]
        logits: list[np.ndarray] = [np.zeros(0)] * len(rows)
        for batch in batches(lengths):
            computed = self._graph(self._packed([rows[number] for number in batch]))[LOGITS]
            for number, values in zip(batch, computed, strict=True):
                logits[number] = values
        return logits

    def _packed(self, rows: Sequence[dict]) -> dict[str, np.ndarray]:
        columns = [column for column in ("a", "b") if column in rows[0]]
        inputs = {}
        for column in columns:
            packed = self.reader.pack([row[column] for row in rows])
            inputs |= {f"{column}_{name}": array for name, array in packed.items()}
        if "places" in rows[0]:
            inputs |= self._word_places(rows)
        return inputs

    def _word_places(self, rows: Sequence[dict]) -> dict[str, np.ndarray]:
        """`first_piece` and `last_piece` `[batch, words] int32`, −1 at padding."""
        width = max(len(row["places"][0]) for row in rows)
        arrays = {f"a_{name}": np.full([len(rows), width], -1, "int32") for name in _PLACES}
        for number, row in enumerate(rows):
            segments: list[Tokens] = row["a"]
            before = sum(map(len, segments[:-1])) + self.reader.before_words(len(segments))
            for array, places in zip(arrays.values(), row["places"], strict=True):
                array[number, : len(places)] = places + before
        return arrays
