"""How varied replies are. Plain Python."""

from collections.abc import Sequence


def distinct(replies: Sequence[str], n: int) -> float:
    """distinct-n: the number of distinct n-grams of words, divided by the number of all; 0 without.

    Source: Li et al. 2016, "A Diversity-Promoting Objective Function for Neural Conversation
    Models".
    """
    grams = [
        tuple(words[start : start + n])
        for words in map(str.split, replies)
        for start in range(len(words) - n + 1)
    ]
    return len(set(grams)) / len(grams) if grams else 0.0
