"""Records to tokens: every text is tokenized and checked once, before the first batch."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.preprocess import cut_words, split_words
from tf_adapt.data.formats import Record, TaggedSentence, check_text
from tf_adapt.data.formats.records import check_length
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.data.labels import check_labels, label_ids, word_where
from tf_adapt.data.limits import MOST_TOKENS
from tf_adapt.data.packing.context import check_document_context, context_windows, document_splits
from tf_adapt.data.packing.prepare_spans import prepare_spans
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.task import Task

# Longer than any natural word; BERT's tokenizer and ELMo would drop most of it.
LONGEST_WORD = 1000
_CHUNK, _CHUNK_CHARACTERS = 8192, 2**21
# Word boundaries: WordPiece also splits at punctuation and around Chinese characters, others at
# white space only.
_CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_LONG_BETWEEN_PUNCTUATION = re.compile(rf"[^\W{_CHINESE}]{{{LONGEST_WORD + 1},}}")
_LONG_BETWEEN_BLANKS = re.compile(rf"[^ \t\n\r\v\f]{{{LONGEST_WORD + 1},}}")


def task_of(splits: Splits) -> Task:
    """The task of a run's data."""
    return Task(
        splits.kind,
        splits.labels,
        splits.metric,
        splits.scheme,
        splits.label_range,
        spans=splits.spans,
    )


def prepare(
    records: Any,
    task: Task,
    encoder: Any,
    max_length: int | None = None,
    truncate: bool = False,
    document_context: bool = False,
) -> PreparedData:
    """Tokenizes and checks all examples.

    Args:
        records: the result of a file reader, or what `in_memory_records` accepts.
        encoder: its `preprocessor`, `joint_pairs`, `max_length` and `bounded` are used.
        max_length: most tokens of a packed row, special tokens included; by default the encoder's.
        truncate: cut longer examples, and count them; sentences in tagging are split instead, so
            that only a single word can be too long, and contexts in span extraction are read in
            windows, so that only a question or a word can.
        document_context: encode each sentence with its neighbours of the same document (consecutive
            records with the same `document`), as many as fit; outputs are for its own words only.
            Tagging with BERT only: see `tf_adapt.data.packing.context`.

    Raises:
        ConfigError: `max_length` is out of range, or the task or the encoder does not support
            document context.
        DataError: a text or a label is wrong, or an example is too long.
    """
    if document_context:
        check_document_context(task, encoder)
    records = in_memory_records(records, task)
    limit = checked_limit(max_length, encoder)
    # On the CPU, where the input pipeline runs.
    with tf.device("CPU:0"):
        if task.is_tagging:
            return _prepare_tagging(
                records, task, encoder.preprocessor, limit, truncate, document_context
            )
        if task.is_span_extraction:
            # Words of contexts end at punctuation for every encoder: see `answer_words`.
            long_words = _long_words(records, at_punctuation=True)
            if not truncate:
                _refuse_long_words(long_words)
            return prepare_spans(records, task, encoder, limit, truncate, long_words)
        return _prepare_texts(records, task, encoder, limit, truncate)


def checked_limit(max_length: int | None, encoder: Any) -> int:
    """Most tokens of a packed row, special tokens included; by default the encoder's.

    Raises:
        ConfigError: `max_length` is out of range.
    """
    if max_length is None:
        return encoder.max_length
    highest = encoder.max_length if encoder.bounded else MOST_TOKENS
    lowest = encoder.preprocessor.special_tokens(2) + 1
    if not lowest <= max_length <= highest:
        raise ConfigError(
            f"max_length: expected at least {lowest} and at most {highest}, which the encoder can "
            f"take, got {max_length}"
        )
    return max_length


def _prepare_texts(
    records: list[Record], task: Task, encoder: Any, limit: int, may_cut: bool
) -> PreparedData:
    preprocessor, joint = encoder.preprocessor, encoder.joint_pairs
    texts = [[record.text_a for record in records]]
    if task.is_pair:
        texts.append([record.text_b for record in records])
    for column in texts:
        for text, record in zip(column, records, strict=True):
            check_text(text, record.where)
    tokens = [_in_chunks(preprocessor.tokenize, column) for column in texts]
    groups = [tokens] if joint else [[segment] for segment in tokens]
    budget = limit - preprocessor.special_tokens(len(groups[0]))
    lengths = np.stack([sum(s.row_lengths() for s in group).numpy() for group in groups])
    long_words = _long_words(records, preprocessor.splits_at_punctuation)
    if not may_cut:
        _refuse_long_words(long_words)
        has_windows = getattr(encoder, "long", None) is not None
        hint = "" if has_windows else ", or have a transformer read it in windows (encoder.long)"
        where = [record.where for record in records]
        _refuse_long(lengths.max(axis=0), budget, limit, where, hint=hint)
    cut = (lengths > budget).any(axis=0)
    cut[list(long_words)] = True
    kept = [segment for group in groups for segment in preprocessor.truncate(group, budget)[0]]
    return PreparedData(
        preprocessor=preprocessor,
        segments=kept,
        joint=joint,
        lengths=np.minimum(lengths.max(axis=0), budget) + limit - budget,
        uncut_lengths=lengths.max(axis=0) + limit - budget,
        targets=_targets(records, task),
        truncated=int(cut.sum()),
    )


def _prepare_tagging(
    sentences: list[TaggedSentence],
    task: Task,
    preprocessor: Any,
    limit: int,
    may_cut: bool,
    document_context: bool,
) -> PreparedData:
    _check_words(sentences)
    tokens = _in_chunks(lambda part: _word_tokens(preprocessor, part), sentences)
    budget = limit - preprocessor.special_tokens(1)
    word_lengths = tokens.values.row_lengths().numpy()
    long_words = _long_words(sentences, preprocessor.splits_at_punctuation)
    if not may_cut:
        _refuse_long_words(long_words)
        locations = _WordLocations(sentences, tokens.row_splits.numpy())
        _refuse_long(word_lengths, budget, limit, locations, "one word of ")
    sentence_of_word = tokens.value_rowids().numpy()
    cut = set(sentence_of_word[word_lengths > budget].tolist()) | set(long_words)
    chunks = split_words(cut_words(tokens, budget), budget)
    targets = _targets(sentences, task)
    if targets is not None:
        targets = tf.RaggedTensor.from_row_splits(targets, chunks.row_splits)
    windows, lengths = None, chunks.merge_dims(1, 2).row_lengths()
    if document_context:
        documents = document_splits(sentences, tokens.row_splits.numpy())
        windows = context_windows(chunks, documents, budget)
        lengths = windows[:, 1] - windows[:, 0]
    return PreparedData(
        preprocessor=preprocessor,
        segments=[chunks],
        joint=True,
        lengths=lengths.numpy() + limit - budget,
        uncut_lengths=tokens.merge_dims(1, 2).row_lengths().numpy() + limit - budget,
        targets=targets,
        truncated=len(cut),
        sentence_splits=tokens.row_splits.numpy(),
        windows=windows,
    )


def _check_words(sentences: list[TaggedSentence]) -> None:
    for sentence in sentences:
        check_length(sum(map(len, sentence.words)), sentence.where, "words")
        for index, word in enumerate(sentence.words):
            if "\0" in word or not word.isprintable() or not word.strip():
                check_text(word, word_where(sentence, index), "words")


def _in_chunks(tokenize: Callable, values: Sequence) -> tf.RaggedTensor:
    """Tokenizes some texts or sentences at a time: it takes a multiple of their memory."""
    parts, start, characters = [], 0, 0
    for end, value in enumerate(values, start=1):
        characters += len(value) if isinstance(value, str) else sum(map(len, value.words))
        if characters >= _CHUNK_CHARACTERS or end - start == _CHUNK or end == len(values):
            parts.append(tokenize(values[start:end]))
            start, characters = end, 0
    return tf.concat(parts, axis=0)


def _word_tokens(preprocessor: Any, sentences: list[TaggedSentence]) -> tf.RaggedTensor:
    """`[sentences, (words), (tokens)]`."""
    words = tf.constant([word for sentence in sentences for word in sentence.words])
    lengths = [len(sentence.words) for sentence in sentences]
    return preprocessor.tokenize_words(tf.RaggedTensor.from_row_lengths(words, lengths))


def _targets(records: list, task: Task) -> tf.Tensor | None:
    """Ids or numbers `[examples]`, tagging `[words]` of all sentences, multilabel
    `[examples, labels]`; None without labels."""
    if task.is_language_model:  # the text is its own target; zeros are placeholders
        return tf.zeros([len(records)], tf.int32)
    labels = [r.tags if isinstance(r, TaggedSentence) else r.label for r in records]
    if all(label is None for label in labels):
        return None
    check_labels(records, task.labels, "data", task.label_range)
    if task.is_regression:
        return tf.constant(labels, tf.float32)
    id_of = label_ids(task.labels)
    if task.is_multilabel:
        targets = np.zeros([len(labels), len(task.labels)], "float32")
        for row, names in zip(targets, labels, strict=True):
            row[[id_of(name) for name in names]] = 1
        return tf.constant(targets)
    names = [tag for tags in labels for tag in tags] if task.is_tagging else labels
    return tf.constant([id_of(name) for name in names], tf.int32)


class _WordLocations(Sequence):
    """The location of each word of tagged sentences, computed when an error message needs it."""

    def __init__(self, sentences: list[TaggedSentence], splits: np.ndarray):
        self._sentences, self._splits = sentences, splits

    def __len__(self):
        return int(self._splits[-1])

    def __getitem__(self, number):
        sentence = int(np.searchsorted(self._splits, number, side="right")) - 1
        return word_where(self._sentences[sentence], int(number - self._splits[sentence]))


def _refuse_long(
    lengths: np.ndarray,
    budget: int,
    limit: int,
    locations: Sequence[str],
    what: str = "",
    hint: str = "",
) -> None:
    over = np.flatnonzero(lengths > budget)
    if not len(over):
        return
    special = limit - budget
    raise DataError(
        f"{locations[over[0]]}: expected at most {limit} tokens (special tokens included), got "
        f"{what}{lengths[over[0]] + special} ({len(over)} too long in all); set truncate: true, or "
        f"raise max_length if the encoder allows it{hint}"
    )


def _long_words(records: Iterable, at_punctuation: bool) -> dict[int, tuple[str, int]]:
    """Index of each example with a word longer than `LONGEST_WORD` → its location and length."""
    long = _LONG_BETWEEN_PUNCTUATION if at_punctuation else _LONG_BETWEEN_BLANKS
    found = {}
    for number, record in enumerate(records):
        for where, word in _words_to_measure(record, long):
            if len(word) > LONGEST_WORD:
                found.setdefault(number, (where, len(word)))
    return found


def _words_to_measure(
    record: Record | TaggedSentence, long: re.Pattern
) -> Iterable[tuple[str, str]]:
    if isinstance(record, TaggedSentence):
        if max(map(len, record.words)) <= LONGEST_WORD:
            return []
        return ((word_where(record, index), word) for index, word in enumerate(record.words))
    texts = [text for text in (record.text_a, record.text_b) if text and len(text) > LONGEST_WORD]
    return ((record.where, word) for text in texts for word in long.findall(text))


def _refuse_long_words(found: dict[int, tuple[str, int]]) -> None:
    for where, length in found.values():
        raise DataError(
            f"{where}: expected words of at most {LONGEST_WORD} characters, got one of {length} "
            f"({len(found)} examples with such words); correct it, or set truncate: true"
        )
