"""Entities in tag sequences, strictly as the declared scheme defines them; plain Python."""

from collections import Counter
from collections.abc import Sequence

from tf_adapt.data.labels import SCHEMES, split_tag


def is_tag(tag: str, scheme: str) -> bool:
    """Whether a tag can occur in a scheme: "O", or a prefix of the scheme, "-" and a type."""
    prefix, kind = split_tag(tag)
    return tag == "O" or (len(prefix) == 1 and prefix in SCHEMES[scheme] and bool(kind))


def spans(tags: Sequence[str], scheme: str) -> list[tuple[str, int, int]]:
    """The entities of one sentence as (type, first word, word after the last), in order.

    IOB2: `B` and the `I` of its type right after it. BIOES: `S`, or `B`, any `I` and an `E`, all of
    one type. IOB1: a run of `I` of one type; `B` starts an entity right after another of its type,
    and nowhere else. Whatever does not follow the scheme is in no entity; these are the rules of
    seqeval's strict mode.
    """
    parts = [split_tag(tag) for tag in tags]
    found, position = [], 0
    while position < len(parts):
        if not _starts(parts, position, scheme):
            position += 1
            continue
        end = position + 1
        while end < len(parts) and _continues(parts, end):
            end += 1
        if _closes(parts, position, end, scheme):
            found.append((parts[position][1], position, end))
        # In IOB1, what may start an entity depends on whether the word before was in one; an `I`
        # right after `end` is of another type, a `B` is judged by its neighbour alone.
        position = end
    return found


def span_scores(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: str
) -> dict[str, float]:
    """`span_f1`, `span_precision` and `span_recall` of whole sentences, over all types together.

    A predicted entity is right if a true one has its type, its first and its last word:
    `precision = right / predicted`, `recall = right / true`, `F1 = 2 right / (true + predicted)`;
    0 where undefined. The same as `tf_adapt.metrics.SpanF1`, but exact for sentences that the
    encoder reads in parts, if they are put together again.

    Args:
        true, predicted: the tags of each sentence.
        scheme: "IOB1", "IOB2" or "BIOES"; what does not follow it is in no entity (`spans`).

    Raises:
        ValueError: another scheme; the numbers of sentences differ, or of tags in one of them.
    """
    counts = _count(true, predicted, scheme).values()
    return _scores(*(sum(count[part] for count in counts) for part in range(3)))


def span_scores_by_type(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: str
) -> dict[str, dict[str, float]]:
    """`span_scores` of each type that is true or predicted anywhere, in the order of the names.

    `support` is its number of true entities.

    Raises:
        ValueError: as `span_scores`.
    """
    counts = _count(true, predicted, scheme)
    return {kind: _scores(*counts[kind]) | {"support": counts[kind][1]} for kind in sorted(counts)}


def _count(true: Sequence, predicted: Sequence, scheme: str) -> dict[str, tuple[int, int, int]]:
    """Of each type how many entities are right, true and predicted."""
    if scheme not in SCHEMES:
        raise ValueError(f"scheme: expected one of {', '.join(SCHEMES)}, got {scheme!r}")
    if len(true) != len(predicted):
        raise ValueError(
            f"expected predictions for {len(true)} sentences, got {len(predicted)}; "
            "give the tags of the same sentences in the same order"
        )
    right, real, found = Counter(), Counter(), Counter()
    for number, (tags, predicted_tags) in enumerate(zip(true, predicted, strict=True), 1):
        if len(tags) != len(predicted_tags):
            raise ValueError(
                f"sentence {number}: expected {len(tags)} predicted tags, got "
                f"{len(predicted_tags)}; put the parts of a split sentence together first"
            )
        entities, predicted_entities = spans(tags, scheme), spans(predicted_tags, scheme)
        right.update(kind for kind, *_ in set(entities).intersection(predicted_entities))
        real.update(kind for kind, *_ in entities)
        found.update(kind for kind, *_ in predicted_entities)
    return {kind: (right[kind], real[kind], found[kind]) for kind in real | found}


def _scores(right: int, true: int, predicted: int) -> dict[str, float]:
    return {
        "span_f1": _ratio(2 * right, true + predicted),
        "span_precision": _ratio(right, predicted),
        "span_recall": _ratio(right, true),
    }


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _starts(parts: list[tuple[str, str]], position: int, scheme: str) -> bool:
    prefix, kind = parts[position]
    if scheme == "IOB2":
        return prefix == "B"
    if scheme == "BIOES":
        return prefix in ("B", "S")
    previous = parts[position - 1] if position else ("O", "")
    return prefix == "I" or (prefix == "B" and previous[0] != "O" and previous[1] == kind)


def _continues(parts: list[tuple[str, str]], position: int) -> bool:
    (previous, previous_kind), (prefix, kind) = parts[position - 1], parts[position]
    return prefix in ("I", "E") and previous in ("B", "I") and kind == previous_kind


def _closes(parts: list[tuple[str, str]], start: int, end: int, scheme: str) -> bool:
    if scheme == "BIOES":
        return parts[end - 1][0] in ("E", "S")
    if scheme == "IOB1" and end < len(parts) and parts[end - 1][0] == parts[end][0] == "B":
        return parts[end - 1][1] == parts[end][1]
    return True
