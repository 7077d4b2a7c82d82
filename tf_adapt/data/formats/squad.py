"""SQuAD's JSON, versions 1.1 and 2.0: questions about paragraphs, with answers at offsets in them.

Source: Rajpurkar et al. 2016; Rajpurkar, Jia and Liang 2018 (questions without an answer).
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hub_modules.storage.json_files import json_value
from tf_adapt.data.formats.records import Answers, Record, check_answers, check_text
from tf_adapt.data.formats.text import StandardInput, no_examples, read_lines
from tf_adapt.data.stored.sequences import stored
from tf_adapt.errors import DataError

# A sentence ends at a mark behind which a blank and no small letter stand, or with its line.
_SENTENCE_ENDS = re.compile(r"""[.!?]["'”’)\]]*\s+(?![a-z\s])|\n+""")
_TYPES = {str: "a text", int: "a whole number", list: "a list", dict: "an object", bool: "a truth"}


def read_squad(
    path: str | Path | StandardInput, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """The questions of a file: `text_a` the question, `text_b` its context, `label` `Answers`.

    Texts are kept as they are, blanks around a question too. A question with `is_impossible` has
    no answer.

    Args:
        labelled: False ignores answers; the file need not have any.
        memory_mb: of questions; more are on disk.

    Raises:
        DataError: the file is not SQuAD's JSON; two questions have one id; a text is empty; an
            answer is not in its context at its offset, or a question has neither an answer nor
            `is_impossible`.
    """
    records, places = [], {}
    for name, question, context, place in _questions(_content(path), str(path)):
        where = f"{path}: question {name}"
        if name in places:
            raise DataError(
                f"{where}: expected an id of its own at {place}, got that of {places[name]}; "
                "rename one"
            )
        places[name] = place
        record = Record(
            check_text(_value(question, "question", str, where), where, "question"),
            check_text(context, where, "context"),
            _answers(question, where) if labelled else None,
            where,
        )
        if labelled:
            check_answers(record.label, context, where)
        records.append(record)
    if not records:
        raise no_examples(path)
    return stored(records, memory_mb)


def read_questions_to_ask(
    path: str | Path | StandardInput, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """The questions of a file as what is to be written: `text_a` is the first answer and, on
    another line, the sentence that holds it, `label` the question, without blanks around it.

    Questions about one context are one group.

    Raises:
        DataError: as `read_squad`; a question has no answer.

    Source: Du, Shao and Cardie 2017, "Learning to Ask", section 4.1 (sentences of SQuAD).
    """
    records = []
    for record in read_squad(path):
        if not record.label.texts:
            raise DataError(
                f"{record.where}: expected an answer to ask for, got is_impossible: true; take "
                "these questions out"
            )
        answer, start = record.label.texts[0], record.label.starts[0]
        source = f"{answer}\n{_sentence(record.text_b, start, start + len(answer))}"
        question = record.text_a.strip() if labelled else None
        records.append(Record(source, None, question, record.where, group=record.text_b))
    return stored(records, memory_mb)


def _sentence(context: str, start: int, end: int) -> str:
    """The sentence, or sentences, from whose beginning to whose end the characters lie."""
    ends = [0, *(found.end() for found in _SENTENCE_ENDS.finditer(context)), len(context)]
    first = max(place for place in ends if place <= start)
    return context[first : min(place for place in ends if place >= end)].strip()


def _content(path: str | Path | StandardInput) -> dict:
    try:
        content = json_value("\n".join(read_lines(path)))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}:{error.lineno}: expected JSON, got something else at column {error.colno} "
            f"({error.msg}); is the file whole?"
        ) from None
    except ValueError as error:
        raise DataError(f"{path}: expected JSON, got something else ({error})") from None
    if not isinstance(content, dict):
        raise DataError(f'{path}: expected {{"data": […]}}, got {_shown(content)}')
    return content


def _questions(content: dict, path: str) -> Iterator[tuple[str, dict, str, str]]:
    """The id of each question, the question, its context, and the path of its key."""
    for article, title in _items(content, "data", path, ""):
        for paragraph, where in _items(article, "paragraphs", path, title):
            context = _value(paragraph, "context", str, f"{path}: {where}")
            for question, place in _items(paragraph, "qas", path, where):
                yield _value(question, "id", str, f"{path}: {place}"), question, context, place


def _items(of: dict, key: str, path: str, place: str) -> Iterator[tuple[dict, str]]:
    """The objects of a list, each with the path of its key."""
    place = f"{place}.{key}" if place else key
    for number, item in enumerate(_value(of, key, list, f"{path}: {place}")):
        if not isinstance(item, dict):
            raise DataError(f"{path}: {place}[{number}]: expected an object, got {_shown(item)}")
        yield item, f"{place}[{number}]"


def _answers(question: dict, where: str) -> Answers:
    given = _value(question, "answers", list, where, optional=True) or []
    impossible = _value(question, "is_impossible", bool, where, optional=True) or False
    if impossible == bool(given):
        got = f"{len(given)} answers and is_impossible: {str(impossible).lower()}"
        raise DataError(
            f"{where}: expected answers, or else is_impossible: true, got {got}; correct one"
        )
    for number, answer in enumerate(given):
        if not isinstance(answer, dict):
            raise DataError(f"{where}: answers[{number}]: expected an object, got {_shown(answer)}")
    return Answers(
        tuple(_value(answer, "text", str, f"{where}: answers") for answer in given),
        tuple(_value(answer, "answer_start", int, f"{where}: answers") for answer in given),
    )


def _value(of: dict, key: str, kind: type, where: str, optional: bool = False) -> Any:
    if key not in of:
        if optional:
            return None
        raise DataError(f"{where}: expected the key {key!r} of SQuAD's format, but it is missing")
    if type(of[key]) is not kind:
        raise DataError(f"{where}: {key}: expected {_TYPES[kind]}, got {_shown(of[key])}")
    return of[key]


def _shown(value: Any) -> str:
    return f"{_TYPES.get(type(value), 'a value')} {json.dumps(value, ensure_ascii=False)[:40]}"
