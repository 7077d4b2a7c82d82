"""Tokens of texts → rows that fit a model, as `hub_modules.preprocess.segments`. No TensorFlow."""

from collections.abc import Iterator, Sequence

from tf_adapt.errors import DataError

Tokens = Sequence  # ids of pieces, or words in bytes
Words = Sequence[Tokens]  # of a sentence

# Of one call of a graph, padding included: MiniLM holds 17 kB for a token.
MOST_ROWS, MOST_TOKENS = 32, 2048
# What a call of a graph costs beside its tokens, in tokens: measured with MiniLM, where 10 to 80
# are alike.
CALL = 30


def check_length(
    lengths: Sequence[int], limit: int, what: str, unit: str = "tokens", may_be_cut: bool = True
) -> None:
    """Refuses what is longer than a model takes, in the words of a SavedModel.

    Raises:
        DataError: a length is above the limit.
    """
    if max(lengths, default=0) > limit:
        remedy = ", or export with truncation" if may_be_cut else ""
        raise DataError(
            f"{what} is longer than the {limit} {unit} that the model takes; shorten it{remedy}"
        )


def fitted(segments: list[Tokens], limit: int, may_cut: bool) -> list[Tokens]:
    """The segments of one row, with at most `limit` tokens together; of two, the longer is cut.

    Raises:
        DataError: they have more, and must not be cut.
    """
    if not may_cut:
        check_length([sum(map(len, segments))], limit, "an input")
        return segments
    if len(segments) == 1:
        return [segments[0][:limit]]
    first, second = map(len, segments)
    kept = min(first, max((limit + 1) // 2, limit - second))
    return [segments[0][:kept], segments[1][: min(second, limit - kept)]]


def fitted_words(words: Words, limit: int, may_cut: bool) -> Words:
    """Words of at most `limit` tokens each.

    Raises:
        DataError: one has more, and must not be cut.
    """
    if may_cut:
        return [word[:limit] for word in words]
    check_length(list(map(len, words)), limit, "a single word")
    return words


def parts_of(words: Words, limit: int) -> Iterator[slice]:
    """The parts of a sentence, of at most `limit` tokens each: see `split_words`."""
    lengths = list(map(len, words))
    if sum(lengths) <= limit:
        yield slice(0, len(words))
        return
    width = max(limit - max(lengths) + 1, 1)
    first = before = current = 0
    for place, length in enumerate(lengths):
        part = before // width
        if part != current and place:
            yield slice(first, place)
            first = place
        current = part
        before += length
    yield slice(first, len(words))


def window_around(words: Words, part: slice, limit: int) -> tuple[Tokens, int]:
    """The tokens of a part of a sentence with those around it, and how many come before it: see
    `tf_adapt.data.packing.context.context_windows`."""
    tokens = [token for word in words for token in word]
    start = sum(map(len, words[: part.start]))
    end = start + sum(map(len, words[part]))
    after = len(tokens) - end
    extra = limit - (end - start)
    left = min(start, max(extra // 2, extra - after))
    right = min(after, extra - left)
    return tokens[start - left : end + right], left


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """The numbers of rows of such lengths, in the batches that cost least: of each a call, and its
    rows, all padded to the longest.

    `cost(batch) = CALL + rows · longest`; the minimum over all ways to cut the rows, sorted by
    length, by dynamic programming.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    least, starts = [0.0], [0]
    for end in range(1, len(order) + 1):
        longest = lengths[order[end - 1]]
        most = max(1, min(MOST_ROWS, end, MOST_TOKENS // max(longest, 1)))
        costs = {end - rows: least[end - rows] + rows * longest for rows in range(1, most + 1)}
        start = min(costs, key=costs.__getitem__)
        least.append(costs[start] + CALL)
        starts.append(start)
    cut, end = [], len(order)
    while end:
        cut.append(order[starts[end] : end])
        end = starts[end]
    return cut[::-1]
