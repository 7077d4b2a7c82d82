"""Exchanges to rows of tokens: persona, history and reply with their delimiters and segments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_adapt.data.by_kind.dialog import wrong_replies
from tf_adapt.data.formats.dialogues import Exchange, check_exchange, check_texts
from tf_adapt.data.packing import targets
from tf_adapt.data.packing.prepared import Limits, PreparedData
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.by_kind.dialog import (
    DISTRACTORS,
    EXCHANGES,
    MAX_NEW_TOKENS,
    NEW_TOKENS,
    SEGMENTS,
)
from tf_adapt.tasks.task import Task

# Keys of a packed batch: the encoder's, of a prompt, and the replies that may follow it.
PROMPT = ("input_word_ids", "input_mask", "input_type_ids")
REPLIES, OTHERS = "replies", "others"
Pieces = dict[str, np.ndarray]
_NOTHING = np.zeros(0, np.int32)


@dataclass(frozen=True)
class DialogRows:
    """Rows that are packed when they are asked for.

    `<bos> persona <other> turn <self> turn … <other> turn <self> reply <eos>`; the segment of the
    persona and of the turns of the one who has it is 1, of the other's 0.

    Attributes:
        pieces: the pieces of every text.
        persona, turns: of each exchange, as far as they fit.
        replies: of each exchange the right reply and the wrong ones; none without labels.
        first_new: id of the first new token.
    """

    pieces: Pieces
    persona: list[tuple[str, ...]]
    turns: list[tuple[str, ...]]
    replies: list[tuple[str, ...]]
    first_new: int

    def packed(self, index: tf.Tensor) -> dict:
        """The inputs of a model of dialogues: see `tf_adapt.models.dialog.dialog_model`."""
        arrays = tf.numpy_function(self._packed, [index], [tf.int32] * 5)
        for array, rank in zip(arrays, (2, 2, 2, 3, 3), strict=True):
            array.set_shape([None] * rank)
        return dict(zip((*PROMPT, REPLIES, OTHERS), arrays, strict=True))

    def _packed(self, index: np.ndarray) -> tuple[np.ndarray, ...]:
        prompts = [self.prompt(number) for number in index]
        replies = [[self._reply(reply) for reply in self.replies[number]] for number in index]
        ids = padded([[ids] for ids, _ in prompts])[:, 0]
        types = padded([[types] for _, types in prompts])[:, 0]
        # Without labels there is one reply, of no tokens.
        candidates = padded([of_row[: 1 + DISTRACTORS] or [_NOTHING] for of_row in replies])
        others = padded([of_row[1 + DISTRACTORS :] for of_row in replies])
        mask = (ids >= 0).astype(np.int32)
        return np.maximum(ids, 0), mask, np.maximum(types, 0), candidates, others

    def prompt(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and segments up to the token that begins the reply."""
        bos, _, other, own = range(self.first_new, self.first_new + NEW_TOKENS)
        parts = [[bos], *(self.pieces[text] for text in self.persona[number])]
        types = [np.ones(sum(map(len, parts)))]
        turns = self.turns[number]
        for place, turn in enumerate(turns):
            is_own = (len(turns) - 1 - place) % 2  # the last turn is the other's
            parts += [[own if is_own else other], self.pieces[turn]]
            types.append(np.full(1 + len(self.pieces[turn]), is_own))
        ids, types = np.concatenate([*parts, [own]]), np.concatenate([*types, [1]])
        return ids.astype(np.int32), types.astype(np.int32)

    def _reply(self, reply: str) -> np.ndarray:
        return np.append(self.pieces[reply], self.first_new + 1).astype(np.int32)


def prompts_of(given: dict) -> dict:
    """The encoder's inputs of a packed batch."""
    return {name: given[name] for name in PROMPT}


def padded(rows: list[list[np.ndarray]]) -> np.ndarray:
    """Arrays of unequal lengths as `[batch, candidates, time] int32`, −1 at padding."""
    longest = max([1, *(len(one) for candidates in rows for one in candidates)])
    found = np.full((len(rows), max(map(len, rows), default=0), longest), -1, np.int32)
    for row, candidates in zip(found, rows, strict=True):
        for place, one in zip(row, candidates, strict=False):
            place[: len(one)] = one
    return found


def prepare_dialog(
    records: list[Exchange], task: Task, encoder: Any, limits: Limits
) -> PreparedData:
    """The rows of all exchanges.

    A history has the turns of `EXCHANGES` exchanges before the other's last turn at most; where a
    row is longer than the limit its oldest exchanges are left out, and counted as truncated. What
    is still too long is refused.

    Raises:
        ConfigError: the encoder has not the tokens of a dialogue.
        DataError: an exchange has no persona, or is too long; a text is empty or none.
    """
    _check_encoder(encoder)
    for record in records:
        check_exchange(record)
    check_texts(records)
    candidates = wrong_replies(records)
    pieces = _pieces(records, candidates, encoder.preprocessor)
    # The longest reply of an exchange, and room for one that is written.
    room = [
        max([MAX_NEW_TOKENS, *(len(pieces[reply]) + 1 for reply in of_record)])
        for of_record in candidates
    ]
    whole = [_length(record.persona, record.history, pieces) for record in records]
    turns = [
        _fitting(record, pieces, limits.tokens - free)
        for record, free in zip(records, room, strict=True)
    ]
    rows = DialogRows(
        pieces,
        [record.persona for record in records],
        turns,
        candidates,
        encoder.native.vocabulary_size,
    )
    lengths = [
        _length(record.persona, of_record, pieces) + (len(pieces[replies[0]]) + 1 if replies else 0)
        for record, of_record, replies in zip(records, turns, candidates, strict=True)
    ]
    most = 2 * EXCHANGES + 1
    shorter = [
        len(kept) < min(most, len(record.history))
        for kept, record in zip(turns, records, strict=True)
    ]
    words = targets.word_counts(record.reply or "" for record in records)
    return PreparedData(
        preprocessor=encoder.preprocessor,
        segments=[],
        joint=True,
        lengths=np.array(lengths),
        uncut_lengths=np.array(whole),
        targets=words if candidates[0] else None,
        truncated=int(sum(shorter)),
        dialog=rows,
    )


def _check_encoder(encoder: Any) -> None:
    if (encoder.new_tokens, encoder.segments) != (NEW_TOKENS, SEGMENTS):
        raise ConfigError(
            f"encoder: expected {NEW_TOKENS} new tokens and {SEGMENTS} segments for dialogues, got "
            f"{encoder.new_tokens} and {encoder.segments}; take HubEncoder(…, "
            f"new_tokens={NEW_TOKENS}, segments={SEGMENTS})"
        )


def _pieces(records: Sequence[Exchange], candidates: list[tuple], preprocessor: Any) -> Pieces:
    """The pieces of every distinct text."""
    texts = {text for record in records for text in record.texts}
    texts = sorted(texts.union(*candidates))
    ids = preprocessor.tokenize(tf.constant(texts))
    return dict(zip(texts, np.split(ids.values.numpy(), ids.row_splits.numpy()[1:-1]), strict=True))


def _length(persona: Sequence[str], turns: Sequence[str], pieces: Pieces) -> int:
    """Tokens of a prompt."""
    of_turns = sum(len(pieces[turn]) + 1 for turn in turns)
    return 2 + sum(len(pieces[text]) for text in persona) + of_turns


def _fitting(record: Exchange, pieces: Pieces, limit: int) -> tuple[str, ...]:
    """The last turns of a history that fit beside the persona."""
    turns = record.history[-(2 * EXCHANGES + 1) :]
    while len(turns) > 2 and _length(record.persona, turns, pieces) > limit:
        turns = turns[2:]
    length = _length(record.persona, turns, pieces)
    if length > limit:
        raise DataError(
            f"{record.where}: expected persona and last turn of at most {limit} tokens, so that a "
            f"reply fits behind them, got {length}; shorten them, or take an encoder with more "
            "positions"
        )
    return turns
