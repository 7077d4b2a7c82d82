"""Conversations with a persona: ConvAI2's JSON and text format, and JSON lines.

Two speak in turn; the second has the persona, and its turns are the replies that are learnt.

Source: Zhang et al. 2018, "Personalizing Dialogue Agents"; Dinan et al. 2019, "The Second
Conversational Intelligence Challenge (ConvAI2)".
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from tf_adapt.data.formats.json_objects import json_object, json_values
from tf_adapt.data.formats.records import check_text
from tf_adapt.data.formats.text import StandardInput, no_examples, read_lines
from tf_adapt.data.stored.sequences import stored
from tf_adapt.errors import DataError

_NUMBERED = re.compile(r"([0-9]+) (.*)", re.DOTALL)
_PERSONA, _OTHERS_PERSONA = "your persona: ", "partner's persona: "


@dataclass(frozen=True, slots=True)
class Exchange:
    """One reply, with what was said before it.

    Attributes:
        persona: facts about the one who replies, a sentence each.
        history: all turns before, the other's last one at the end.
        reply: None where it is to be written.
        others: wrong replies that the data bring; none: they are drawn from other dialogues.
        document: number of the dialogue, from 1; exchanges of one are not independent.
    """

    persona: tuple[str, ...]
    history: tuple[str, ...]
    reply: str | None = None
    others: tuple[str, ...] = ()
    where: str = ""
    document: int = 0
    group: ClassVar[None] = None
    noun: ClassVar[str] = "exchange"
    group_noun: ClassVar[str] = "dialogue"
    joined_by: ClassVar[str] = ""
    kept_together: ClassVar[str] = "dialogues"
    has_label_set: ClassVar[bool] = False
    label_order: ClassVar[None] = None
    # Dialogues alone join exchanges.
    ties: ClassVar[tuple] = ()
    labels: ClassVar[tuple] = ()
    located_labels: ClassVar[tuple] = ()
    # A sample of a given size has that many dialogues.
    counted_whole: ClassVar[bool] = True

    @property
    def texts(self) -> tuple[str, ...]:
        """The persona and all turns."""
        return (*self.persona, *self.history, *(() if self.reply is None else (self.reply,)))

    @property
    def strings(self) -> tuple[str, ...]:
        """The persona and all turns."""
        return self.texts

    @property
    def shown(self) -> str:
        """The last turn of the other, for a reader."""
        return self.history[-1]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to reply to."""
        return not self.history

    @property
    def target(self) -> str | None:
        """The reply, or None."""
        return self.reply

    @property
    def content(self) -> list:
        """Persona, turns, wrong replies and dialogue as plain values, without the location."""
        given = [self.persona, self.history, self.reply, self.document]
        return given + ([self.others] if self.others else [])

    def words_of_texts(self, words_of: Callable[[str], list[str]]) -> list[list[str]]:
        """The words of each text, which `words_of` cuts out of it."""
        return [words_of(text) for text in self.texts]

    def place_of(self, index: int) -> str:
        """The location of a word: that of the exchange."""
        return self.where

    def without_label(self) -> Self:
        """The same exchange without its reply."""
        return replace(self, reply=None, others=())


def read_dialogue_lines(
    path: str | Path | StandardInput, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Exchange]:
    """ConvAI2's text format: lines with numbers that begin at 1 with each dialogue.

    `1 your persona: …`, then `5 what the other says⇥the reply`, and behind it two tabs and
    candidates, `a|b|c`, where there are some; a persona of the other is left out.

    Args:
        labelled: False: a reply may be missing.
        memory_mb: of exchanges; more are on disk.

    Raises:
        DataError: as `read_lines`; a line is none of these; a persona is empty; a text is empty.
    """
    exchanges: list[Exchange] = []
    persona, history, before, document = [], [], 0, 0
    for place, line in enumerate(read_lines(path), start=1):
        where = f"{path}:{place}"
        number, text = _numbered(line, where)
        if number != before + 1 and number != 1:
            raise DataError(
                f"{where}: expected the number {before + 1}, or 1 for a new dialogue, got {number}"
            )
        if number == 1:
            persona, history, document = [], [], document + 1
        before = number
        if text.startswith(_PERSONA):
            persona.append(check_text(text.removeprefix(_PERSONA), where, "persona"))
        elif not text.startswith(_OTHERS_PERSONA):
            said, reply, others = _columns(text, where, labelled)
            history.append(said)
            exchanges.append(
                Exchange(tuple(persona), tuple(history), reply, others, where, document)
            )
            history += [] if reply is None else [reply]
    return stored(_checked(exchanges, path), memory_mb)


def _numbered(line: str, where: str) -> tuple[int, str]:
    match = _NUMBERED.fullmatch(line)
    if match is None:
        raise DataError(
            f"{where}: expected a number, a blank and a text, as ConvAI2 has them, got "
            f"{line[:60]!r}; for objects of JSON name the file .jsonl, or set data.format"
        )
    return int(match[1]), match[2]


def _columns(text: str, where: str, labelled: bool) -> tuple[str, str | None, tuple[str, ...]]:
    said, *more = text.split("\t")
    check_text(said, where, "what the other says")
    if not more and not labelled:
        return said, None, ()
    if len(more) not in (1, 3):
        raise DataError(
            f"{where}: expected a tab between what the other says and the reply (and candidates "
            f"behind two tabs), got {len(more)} tabs"
        )
    reply = check_text(more[0], where, "reply")
    candidates = more[2].split("|") if len(more) == 3 else []
    return said, reply, tuple(one for one in candidates if one and one != reply)


def read_dialogue_objects(
    path: str | Path | StandardInput, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Exchange]:
    """Objects of JSON, one a line or in a list: `{"persona": [text, …], "turns": [text, …]}`, the
    other's turns first; or as ConvAI2's JSON has them in transfer-learning-conv-ai, in a list or in
    an object with one, `{"personality": […], "utterances": [{"history": […], "candidates": […]}]}`,
    where the last candidate is the reply.

    Args:
        labelled: False: a reply may be missing; a dialogue may end with a turn of the other.
        memory_mb: of exchanges; more are on disk.

    Raises:
        DataError: it is something else; persona, turns or a text are empty.
    """
    exchanges: list[Exchange] = []
    for document, (where, value) in enumerate(_dialogues(path), start=1):
        fields = json_object(value, where)
        read = _of_utterances if "utterances" in fields else _of_turns
        exchanges += [
            replace(exchange, document=document) for exchange in read(fields, where, labelled)
        ]
    return stored(_checked(exchanges, path), memory_mb)


def _dialogues(path: str | Path | StandardInput) -> list[tuple[str, object]]:
    values = list(json_values(path))
    only = values[0][1] if len(values) == 1 else None
    if not isinstance(only, dict) or not all(isinstance(part, list) for part in only.values()):
        return values
    if only.keys() & {"turns", "utterances", "persona", "personality"}:
        return values
    if len(only) != 1:
        raise DataError(
            f"{path}: expected dialogues, got the parts {', '.join(list(only)[:5])}; write each to "
            "a file of its own"
        )
    (dialogues,) = only.values()
    return [(f"{path}: dialogue {place}", one) for place, one in enumerate(dialogues, start=1)]


def _of_turns(fields: dict, where: str, labelled: bool) -> Iterator[Exchange]:
    persona, turns = (_texts(fields.get(name), where, name) for name in ("persona", "turns"))
    if labelled and len(turns) % 2:
        raise DataError(
            f"{where}: expected an even number of turns, the last one a reply, got {len(turns)}; "
            "add the reply, or leave the last turn out"
        )
    for place in range(0, len(turns), 2):
        reply = turns[place + 1] if place + 1 < len(turns) else None
        yield Exchange(persona, turns[: place + 1], reply, (), where)


def _of_utterances(fields: dict, where: str, labelled: bool) -> Iterator[Exchange]:
    persona = _texts(fields.get("personality"), where, "personality")
    for number, utterance in enumerate(_listed(fields, "utterances", where), start=1):
        place = f"{where}, utterance {number}"
        inner = json_object(utterance, place)
        history = _texts(inner.get("history"), place, "history")
        candidates = _texts(inner.get("candidates", []), place, "candidates")
        if labelled and not candidates:
            raise DataError(f"{place}: expected candidates, the last of them right, got none")
        *others, reply = candidates or (None,)
        yield Exchange(persona, history, reply, tuple(others), place)


def _listed(fields: dict, name: str, where: str) -> list:
    value = fields.get(name)
    if not isinstance(value, list):
        raise DataError(f"{where}: expected a list {name!r}, got {str(value)[:40]!r}")
    return value


def _texts(value: Any, where: str, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise DataError(f"{where}: expected a list of texts {name!r}, got {str(value)[:40]!r}")
    return tuple(check_text(text, where, name) for text in value)


def _checked(exchanges: list[Exchange], path: Any) -> list[Exchange]:
    if not exchanges:
        raise no_examples(path)
    for exchange in exchanges:
        check_exchange(exchange)
    return exchanges


def check_exchange(exchange: Exchange) -> None:
    """Checks that an exchange has a persona and something to reply to.

    Raises:
        DataError: it has not.
    """
    if not exchange.persona:
        raise DataError(
            f"{exchange.where}: expected a persona of at least one sentence before the first turn, "
            "got none; add one, such as 'i live by the sea .'"
        )
    if not exchange.history:
        raise DataError(f"{exchange.where}: expected a turn to reply to, got none; add one")


def check_texts(exchanges: Sequence[Exchange]) -> None:
    """Checks each distinct text of exchanges once.

    Raises:
        DataError: one is no text, or as `check_text`.
    """
    checked: set[str] = set()
    for exchange in exchanges:
        reply = () if exchange.reply is None else (exchange.reply,)
        parts = {"persona": exchange.persona, "history": exchange.history, "reply": reply}
        for name, texts in parts.items():
            for text in texts:
                if not isinstance(text, str):
                    raise DataError(
                        f"{exchange.where}: expected a list of texts {name!r}, got "
                        f"{str(text)[:40]!r} in it"
                    )
                if text not in checked:
                    checked.add(check_text(text, exchange.where, name))


# Readers by the format of a file.
DIALOGUES = {"convai2": read_dialogue_lines, "jsonl": read_dialogue_objects}
