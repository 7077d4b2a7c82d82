"""Entities in tag sequences, strictly as the declared scheme defines them; plain Python."""

from tf_adapt.data.labels import SCHEMES, split_tag


def is_tag(tag: str, scheme: str) -> bool:
    """Whether a tag can occur in a scheme: "O", or a prefix of the scheme, "-" and a type."""
    prefix, kind = split_tag(tag)
    return tag == "O" or (len(prefix) == 1 and prefix in SCHEMES[scheme] and bool(kind))


def spans(tags: list[str], scheme: str) -> list[tuple[str, int, int]]:
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
