"""Greedy choices by a score on dev: weights of an ensemble, members of a soup."""

from collections.abc import Callable, Sequence

# Steps of the selection; weights are multiples of 1/n with n up to this.
MOST_STEPS = 20


def greedy_weights(
    score: Callable[[tuple[float, ...]], float], count: int, steps: int = MOST_STEPS
) -> tuple[float, ...]:
    """Weights by forward selection with replacement: each step adds the member that makes the
    score of the mean highest; a member's weight is its share of the additions.

    All steps are made, and the weights of the best one are returned (the first of equals), so that
    they are never below the best single member. Of equally good members the first is added.

    Args:
        score: of weights that sum to 1, higher is better.
        count: number of members.

    Raises:
        ValueError: there are no members or no steps.

    Source: Caruana et al. 2004, "Ensemble selection from libraries of models", section 2
    (selection with replacement).
    """
    if count < 1 or steps < 1:
        raise ValueError(f"expected at least one member and one step, got {count} and {steps}")
    known: dict[tuple[float, ...], float] = {}

    def known_score(weights: tuple[float, ...]) -> float:
        if weights not in known:
            known[weights] = score(weights)
        return known[weights]

    counts, visited = [0] * count, []
    for total in range(1, steps + 1):
        candidates = [
            tuple((times + (added == member)) / total for member, times in enumerate(counts))
            for added in range(count)
        ]
        added = max(range(count), key=lambda number: known_score(candidates[number]))
        counts[added] += 1
        visited.append(candidates[added])
    return max(visited, key=known_score)


def greedy_members(score: Callable[[list[int]], float], alone: Sequence[float]) -> list[int]:
    """The members of a greedy soup: by falling score alone, each is kept if the score of the mean
    of the kept members and it is not below the highest so far.

    Args:
        score: of the mean of several members, higher is better.
        alone: the score of each member.

    Returns:
        The kept members, the best one first.

    Raises:
        ValueError: there are no members.

    Source: Wortsman et al. 2022, "Model soups", recipe 1.
    """
    if not alone:
        raise ValueError("expected the score of at least one member, got none")
    first, *others = sorted(range(len(alone)), key=lambda member: -alone[member])
    kept, highest = [first], alone[first]
    for member in others:
        reached = score([*kept, member])
        if reached >= highest:
            kept, highest = [*kept, member], reached
    return kept
