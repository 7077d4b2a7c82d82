"""A text on the seeds or examples needed to decide the undecided pairs."""

from collections.abc import Sequence

from tf_adapt.statistics.relation import FEWEST_SEEDS, PairTest

MANY = 100


def what_is_needed(pairs: Sequence[PairTest], seeds: int) -> str:
    """The text, from the reasons (`why`) of `tf_adapt.statistics.pairs.compare_pairs`.

    Args:
        pairs: the undecided ones.
        seeds: the number of seeds of every cell.
    """
    reasons = {pair.why for pair in pairs}
    clauses = []
    if "few_seeds" in reasons:
        clauses.append(f"each cell needs at least {FEWEST_SEEDS} seeds that train")
    ranges = [pair.seeds_needed for pair in pairs if pair.why == "more_seeds"]
    if ranges:
        clauses.append(_seeds(ranges, seeds))
    if "more_test_examples" in reasons:
        clauses.append("more seeds would hardly do, more test examples are needed")
    if "no_analysis_left" in reasons:
        clauses.append("no interim analysis is left, only a new comparison can decide")
    if len(clauses) == 1:
        return clauses[0]
    return f"by the pair, {', or '.join(clauses)}"


def _seeds(ranges: Sequence[Sequence[int | None]], seeds: int) -> str:
    """The clause on seeds: the maximum over the pairs."""
    fewest = max((low or MANY + 1 for low, _ in ranges), default=0)
    most = max((high or MANY + 1 for _, high in ranges), default=0)
    fewest, most = max(fewest, seeds + 1), max(most, seeds + 1)
    if fewest > MANY:
        return f"many more seeds would be needed, over {MANY} in all"
    if most > MANY:
        return f"{fewest} seeds in all or many more would be needed"
    if fewest == most:
        return f"about {fewest} seeds in all would probably decide"
    return f"between {fewest} and {most} seeds in all would probably decide"
