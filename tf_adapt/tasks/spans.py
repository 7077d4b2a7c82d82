"""Entities in tag sequences, as in conlleval or strict in a scheme; plain Python."""

from collections.abc import Sequence

from tf_adapt.tasks.tag_schemes import SCHEMES, split_tag


def spans(tags: Sequence[str], strict: str | None = None) -> list[tuple[str, int, int]]:
    """The entities of one sentence as (type, first word, word after the last), in order.

    One rule for IOB1, IOB2 and BIOES, legal or not, under which each tag but `O` is in an entity:
    `I` and `E` continue one right after `B` or `I` of their type, everything else starts one. It is
    the rule of conlleval, the scorer of the CoNLL-2000 and 2003 shared tasks (which has no `S`),
    and of seqeval by default.

    Args:
        strict: the scheme of the tags: tags against it belong to no entity.
            IOB2: an entity begins with `B`. BIOES: it is `S`, or begins with `B` and ends with `E`.
            IOB1: `B` comes right after an entity of its type and nowhere else. These are the rules
            of seqeval's strict mode. For legal tags both rules give the same entities.
    """
    parts = [split_tag(tag) for tag in tags]
    entities: list[tuple[str, int, int]] = []
    for position, (prefix, kind) in enumerate(parts):
        if prefix == "O":
            continue
        if _continues(parts, position, strict):
            entities[-1] = (kind, entities[-1][1], position + 1)
        else:
            entities.append((kind, position, position + 1))
    return [span for span in entities if strict is None or _follows_scheme(parts, span, strict)]


def span_scores(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: str
) -> dict[str, float]:
    """`span_f1`, `span_precision`, `span_recall` and `strict_span_f1` of whole sentences, micro-
    averaged over all types.

    A predicted entity is right if a true one has its type, its first and its last word:
    `precision = right / predicted`, `recall = right / true`, `F1 = 2 right / (true + predicted)`;
    0 where undefined. The first three count entities as conlleval does, the last one strictly in
    the scheme, on both sides (`spans`). The same as `tf_adapt.tasks.span_f1.SpanF1`, but exact for
    sentences that were split for the encoder, if their parts are joined again.

    Args:
        true, predicted: the tags of each sentence.
        scheme: "IOB1", "IOB2" or "BIOES", for `strict_span_f1`.

    Raises:
        ValueError: another scheme; the numbers of sentences differ, or of tags in one of them.
    """
    _check(true, predicted, scheme)
    return _scores(_count(true, predicted), _count(true, predicted, scheme))


def _check(true: Sequence, predicted: Sequence, scheme: str) -> None:
    if scheme not in SCHEMES:
        raise ValueError(f"scheme: expected one of {', '.join(SCHEMES)}, got {scheme!r}")
    if len(true) != len(predicted):
        raise ValueError(
            f"expected predictions for {len(true)} sentences, got {len(predicted)}; "
            "give the tags of the same sentences in the same order"
        )
    for number, (tags, predicted_tags) in enumerate(zip(true, predicted, strict=True), 1):
        if len(tags) != len(predicted_tags):
            raise ValueError(
                f"sentence {number}: expected {len(tags)} predicted tags, got "
                f"{len(predicted_tags)}; put the parts of a split sentence together first"
            )


def _count(true: Sequence, predicted: Sequence, strict: str | None = None) -> tuple[int, int, int]:
    """The numbers of right, true and predicted entities."""
    right = real = proposed = 0
    for tags, predicted_tags in zip(true, predicted, strict=True):
        entities, predicted_entities = spans(tags, strict), spans(predicted_tags, strict)
        right += len(set(entities).intersection(predicted_entities))
        real += len(entities)
        proposed += len(predicted_entities)
    return right, real, proposed


def _scores(counts: tuple[int, int, int], strict: tuple[int, int, int]) -> dict[str, float]:
    right, true, predicted = counts
    return {
        "span_f1": _f1(*counts),
        "span_precision": _ratio(right, predicted),
        "span_recall": _ratio(right, true),
        "strict_span_f1": _f1(*strict),
    }


def _f1(right: int, true: int, predicted: int) -> float:
    return _ratio(2 * right, true + predicted)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _continues(parts: list[tuple[str, str]], position: int, strict: str | None) -> bool:
    if position == 0 or (strict == "IOB1" and _is_stray(parts, position - 1)):
        return False
    (previous, previous_kind), (prefix, kind) = parts[position - 1], parts[position]
    return prefix in ("I", "E") and previous in ("B", "I") and kind == previous_kind


def _is_stray(parts: list[tuple[str, str]], position: int) -> bool:
    """Whether a `B` of IOB1 follows no entity of its type."""
    prefix, kind = parts[position]
    return prefix == "B" and (position == 0 or parts[position - 1][1] != kind)


def _follows_scheme(parts: list[tuple[str, str]], span: tuple[str, int, int], scheme: str) -> bool:
    _, start, end = span
    first, last = parts[start][0], parts[end - 1][0]
    if scheme == "IOB2":
        return first == "B"
    if scheme == "BIOES":
        return first in ("B", "S") and last in ("E", "S")
    # A `B` whose successor is a `B` of another type is no entity to seqeval either.
    before_stray = last == "B" and end < len(parts) and _is_stray(parts, end)
    return not (_is_stray(parts, start) or before_stray)
